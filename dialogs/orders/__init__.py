"""The user's orders in the shop. The schema of the shop's records is that of tau2-bench's retail environment."""

from dialogs import Dialog
from dialogs.orders.changes import (
    cancel_pending_order,
    exchange_delivered_order_items,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
    return_delivered_order_items,
)
from dialogs.orders.choices import (
    ask_address,
    ask_product,
    choose_item,
    choose_new_item,
    choose_order,
    choose_payment_method,
    choose_product,
)
from dialogs.orders.command_line import application
from dialogs.orders.lookups import (
    calculate,
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_item_details,
    get_order_details,
    get_product_details,
    get_user_details,
    list_all_product_types,
    list_orders,
    transfer_to_human_agents,
)
from dialogs.orders.price_watches import list_price_watches, stop_price_watch, watch_price
from dialogs.orders.shop import open_shop
from dialogs.orders.store import TABLES

dialog = Dialog(
    tool="handle_orders",
    description="Used for the shop: the user's orders, returning, exchanging, cancelling and changing them, products, "
    "and telling when a price drops.",
    tools=[
        list_orders,
        get_order_details,
        get_user_details,
        get_product_details,
        choose_order,
        choose_item,
        choose_new_item,
        choose_payment_method,
        choose_product,
        ask_address,
        ask_product,
        list_all_product_types,
        get_item_details,
        find_user_id_by_email,
        find_user_id_by_name_zip,
        cancel_pending_order,
        return_delivered_order_items,
        exchange_delivered_order_items,
        modify_pending_order_items,
        modify_pending_order_payment,
        modify_pending_order_address,
        modify_user_address,
        watch_price,
        list_price_watches,
        stop_price_watch,
        calculate,
        transfer_to_human_agents,
    ],
    tables=TABLES,
    services=open_shop,
    command_line=application,
)
