"""The tools of a shop that only read."""

import ast
import operator
from collections.abc import Callable

from langchain_core.tools import tool

from agents.toolkit.result import Answer, Refused, result
from agents.toolkit.traits import traits
from tests.support.shop.store import Record, reading
from tests.support.shop.types import (
    ORDER,
    PRODUCT_RECORD,
    PRODUCTS,
    USER_ID,
    USER_RECORD,
    VARIANT,
    ItemId,
    OrderId,
    ProductId,
    UserId,
)

LONGEST = 200
"""Characters of a sum to be worked out."""
OPERATIONS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


@traits(result=USER_ID)
@tool(response_format="content_and_artifact")
async def find_user_id_by_email(email: str) -> Answer:
    """Find out which user has an email address."""
    async with reading() as shop:
        return _only(await shop.select("users", "lower(json_extract(body, '$.email')) = lower(?)", email))


@traits(result=USER_ID)
@tool(response_format="content_and_artifact")
async def find_user_id_by_name_zip(first_name: str, last_name: str, zip: str) -> Answer:
    """Find out which user has a name and a zip code, if their email is not known."""
    named = [f"lower(json_extract(body, '$.name.{part}')) = lower(?)" for part in ("first_name", "last_name")]
    condition = " AND ".join([*named, "json_extract(body, '$.address.zip') = ?"])
    async with reading() as shop:
        return _only(await shop.select("users", condition, first_name, last_name, zip))


@traits(result=USER_RECORD)
@tool(response_format="content_and_artifact")
async def get_user_details(user_id: UserId) -> Answer:
    """Look up a user: address, ways to pay, orders."""
    async with reading() as shop:
        return result(await shop.get("users", user_id))


@traits(result=ORDER)
@tool(response_format="content_and_artifact")
async def get_order_details(order_id: OrderId) -> Answer:
    """Look up an order: its items, status and payments."""
    async with reading() as shop:
        return result(await shop.get("orders", order_id))


@traits(result=PRODUCT_RECORD)
@tool(response_format="content_and_artifact")
async def get_product_details(product_id: ProductId) -> Answer:
    """Look up a product with all the items it is sold as."""
    async with reading() as shop:
        return result(await shop.get("products", product_id))


@traits(result=VARIANT)
@tool(response_format="content_and_artifact")
async def get_item_details(item_id: ItemId) -> Answer:
    """Look up one item of a product: its options, price, and whether it is in stock."""
    async with reading() as shop:
        has_item = "EXISTS (SELECT 1 FROM json_each(body, '$.variants') WHERE key = ?)"
        products = await shop.select("products", has_item, item_id)
    if not products:
        raise Refused("There is no such item. The items of a product stand in the product's details.")
    return result(products[0]["variants"][item_id])


@traits(result=PRODUCTS)
@tool(response_format="content_and_artifact")
async def list_all_product_types() -> Answer:
    """List the products of the shop."""
    async with reading() as shop:
        return result(catalogue(await shop.select("products")))


@tool
async def calculate(expression: str) -> str:
    """Work out a sum of numbers with + - * / and parentheses, to the cent."""
    try:
        return str(round(float(_worked_out(ast.parse(expression[:LONGEST], mode="eval").body)), 2))
    except (SyntaxError, KeyError, ZeroDivisionError, OverflowError):
        raise Refused("This cannot be worked out: write numbers with + - * / and parentheses only.") from None


@tool
async def transfer_to_human_agents(summary: str) -> str:
    """Pass the user on to a person, with what it is about, if nothing else here can help."""
    return "Transfer successful"


def catalogue(products: list[Record]) -> list[Record]:
    """Return what the list of products says of each."""
    listed = [{"name": product["name"], "product_id": product["product_id"]} for product in products]
    return sorted(listed, key=operator.itemgetter("name"))


def _only(users: list[Record]) -> Answer:
    if not users:
        raise Refused("There is no such user. Ask for what you have not tried yet: email, or name and zip code.")
    return result(users[0]["user_id"])


def _worked_out(node: ast.AST) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]  # a number, as was just seen
    if isinstance(node, ast.UnaryOp):
        return OPERATIONS[type(node.op)](_worked_out(node.operand))
    if isinstance(node, ast.BinOp):
        return OPERATIONS[type(node.op)](_worked_out(node.left), _worked_out(node.right))
    raise KeyError(type(node))


READS = [
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_user_details,
    get_order_details,
    get_product_details,
    get_item_details,
    list_all_product_types,
    calculate,
    transfer_to_human_agents,
]
