"""The user's orders in the shop. The schema of the shop's records is that of tau2-bench's retail environment."""

from dialogs import Dialog
from dialogs.orders.command_line import command_line
from dialogs.orders.store import TABLES, open_services
from dialogs.orders.tools import changes, choices, lookups, price_watches

dialog = Dialog(
    tool="handle_orders",
    description="Used for the shop: the user's orders, returning, exchanging, cancelling and changing them, products, "
    "and telling when a price drops.",
    tools=[
        lookups.list_orders,
        lookups.get_order_details,
        lookups.get_user_details,
        lookups.get_product_details,
        choices.choose_order,
        choices.choose_item,
        choices.choose_new_item,
        choices.choose_payment_method,
        choices.choose_product,
        choices.ask_address,
        choices.ask_product,
        lookups.list_all_product_types,
        lookups.get_item_details,
        lookups.find_user_id_by_email,
        lookups.find_user_id_by_name_zip,
        changes.cancel_pending_order,
        changes.return_delivered_order_items,
        changes.exchange_delivered_order_items,
        changes.modify_pending_order_items,
        changes.modify_pending_order_payment,
        changes.modify_pending_order_address,
        changes.modify_user_address,
        price_watches.watch_price,
        price_watches.list_price_watches,
        price_watches.stop_price_watch,
        lookups.calculate,
        lookups.transfer_to_human_agents,
    ],
    tables=TABLES,
    services=open_services,
    command_line=command_line,
)
