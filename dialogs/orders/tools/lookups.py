"""Tools that read from the shop."""

import ast
import operator
from collections.abc import Callable

from langchain_core.tools import tool

from agents.toolkit import Answer, CardList, Entry, Refused, Runtime, result, traits
from agents.toolkit.result import Page, page_of
from dialogs.orders import records, wording
from dialogs.orders.records import ItemId, Order, OrderId, Product, ProductId, User, UserId, Variant
from dialogs.orders.store import SERVE, ShopError, ShopRecords, read
from dialogs.orders.wording import items_line, money, said
from prompts import phrase

LONGEST_SUM = 200
"""The most characters of a sum."""
OPERATIONS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


@traits(result=records.USER_ID, permission=SERVE)
@tool(response_format="content_and_artifact")
async def find_user_id_by_email(email: str, runtime: Runtime) -> Answer:
    """Find out which customer has an email address.

    email: in full.
    """
    return result(await _customer(runtime, lambda user: user["email"].lower() == email.lower()))


@traits(result=records.USER_ID, permission=SERVE)
@tool(response_format="content_and_artifact")
async def find_user_id_by_name_zip(first_name: str, last_name: str, zip: str, runtime: Runtime) -> Answer:
    """Find out which customer has a name and a zip code, if their email is not known.

    first_name: first name.
    last_name: last name.
    zip: zip code.
    """
    asked_for = (first_name.lower(), last_name.lower(), zip)

    def is_meant(user: User) -> bool:
        name = user["name"]
        return (name["first_name"].lower(), name["last_name"].lower(), user["address"]["zip"]) == asked_for

    return result(await _customer(runtime, is_meant))


@traits(result=records.USER, view="cards", private=True)
@tool(response_format="content_and_artifact")
async def get_user_details(runtime: Runtime, user_id: UserId | None = None) -> Answer:
    """Look up a customer: address, payment methods, orders.

    user_id: left out, the user's own.
    """
    user = await read(runtime, lambda shop: shop.user(user_id or shop.own_customer()))
    return result(user, view=wording.user_view(user, runtime.state["lang"]))


@traits(result=records.ORDER, view="cards", private=True, always=True)
@tool(response_format="content_and_artifact")
async def get_order_details(order_id: OrderId, runtime: Runtime) -> Answer:
    """Look up an order: items, status, payments.

    order_id: as listed.
    """
    order = await read(runtime, lambda shop: shop.order(order_id))
    return result(order, view=wording.order_view(order, runtime.state["lang"]))


@traits(result=records.PRODUCT, view="cards", always=True)
@tool(response_format="content_and_artifact")
async def get_product_details(product_id: ProductId, runtime: Runtime) -> Answer:
    """Look up a product with all the items it is sold as.

    product_id: as listed.
    """
    product = await read(runtime, lambda shop: shop.product(product_id))
    return result(product, view=wording.product_view(product, runtime.state["lang"]))


@traits(result=records.VARIANT)
@tool(response_format="content_and_artifact")
async def get_item_details(item_id: ItemId, runtime: Runtime) -> Answer:
    """Look up one item of a product: options, price, whether it is in stock.

    item_id: as listed.
    """

    def variant(shop: ShopRecords) -> Variant:
        return shop.product_of(item_id)["variants"][item_id]

    return result(await read(runtime, variant))


@traits(result=records.PRODUCTS, view="cards")
@tool(response_format="content_and_artifact")
async def list_all_product_types(runtime: Runtime) -> Answer:
    """List the products of the shop."""
    lang, products = runtime.state["lang"], await read(runtime, ShopRecords.products)
    listed = [{"name": product["name"], "product_id": product["product_id"]} for product in products]
    view = CardList(title=said("products", lang), entries=[_entry(product, lang) for product in products][:50])
    return result(listed, view=view)


@traits(result=records.ORDERS, view="cards", private=True, always=True, shortcut=True)
@tool(response_format="content_and_artifact")
async def list_orders(runtime: Runtime, page: Page = 1) -> Answer:
    """List the user's own orders, 50 a page.

    page: from 1.
    """
    lang = runtime.state["lang"]
    orders = await read(runtime, ShopRecords.own_orders)
    return result(
        [_brief(order, lang) for order in orders], view=page_of(wording.orders_view(orders, lang), page, lang)
    )


@tool
async def calculate(expression: str) -> str:
    """Work out a sum of numbers with + - * / and parentheses, to the cent.

    expression: such as (20 - 5) * 3.
    """
    try:
        return str(round(float(_worked_out(ast.parse(expression[:LONGEST_SUM], mode="eval").body)), 2))
    except (SyntaxError, KeyError, ZeroDivisionError, OverflowError):
        raise Refused("This cannot be worked out: write numbers with + - * / and parentheses only.") from None


@traits(effect="write", repeatable=True, irreversible=True, confirm="foreign")
@tool
async def transfer_to_human_agents(summary: str, runtime: Runtime) -> str:
    """Pass the user on to a person, if they ask for one or nothing else here can help.

    summary: what it is about.
    """
    context = runtime.context
    call, most = runtime.tool_call_id or "", context.limits.notes_per_day
    if context.notes is None or not await context.notes.add(context.thread, summary, call, context.user, most):
        raise Refused(phrase("help_exhausted", runtime.state["lang"]))
    return "Transfer successful"


async def _customer(runtime: Runtime, is_meant: Callable[[User], bool]) -> str:
    """Return the identifier of the first customer that `is_meant` accepts. Raises Refused if there is none."""

    def first(shop: ShopRecords) -> str:
        user = next(filter(is_meant, shop.users()), None)
        if user is None:
            raise ShopError("no_user")
        return user["user_id"]

    return await read(runtime, first)


def _brief(order: Order, lang: str) -> dict[str, object]:
    items, total = items_line(order["items"], lang).split("; "), sum(item["price"] for item in order["items"])
    return {"order_id": order["order_id"], "status": order["status"], "items": items, "total": round(total, 2)}


def _entry(product: Product, lang: str) -> Entry:
    least = min((variant["price"] for variant in product["variants"].values()), default=0)
    return Entry(wording.translated(product["name"], lang), said("from", lang, price=money(least, lang)))


def _worked_out(node: ast.AST) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]  # a number, as was just seen
    if isinstance(node, ast.UnaryOp):
        return OPERATIONS[type(node.op)](_worked_out(node.operand))
    if isinstance(node, ast.BinOp):
        return OPERATIONS[type(node.op)](_worked_out(node.left), _worked_out(node.right))
    raise KeyError(type(node))
