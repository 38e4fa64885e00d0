"""The shop's records in the user's language: labels of what can be chosen, and views."""

from collections.abc import Iterable, Mapping, Sequence

from agents.events.views import CardList, Entry
from agents.language.text.vocabulary import listening, vocabulary
from agents.shop.records import Address, Item, Order, PaymentMethod, Product, User, Variant
from prompts import phrase, table


def money(amount: float, lang: str) -> str:
    """Return an amount as the shop writes it."""
    return phrase("shop_money", lang, amount=f"{amount:.2f}")


def translated(text: str, lang: str) -> str:
    """Return a name, an option or a status of the catalogue in a language; as it is if it has no translation."""
    return str(table("shop", lang).get("words", {}).get(text, text))


def item_label(item: Item, lang: str) -> str:
    """Return an item of an order: its name and options."""
    return _with_options(item["name"], item["options"], lang)


def variant_label(name: str, variant: Variant, lang: str) -> str:
    """Return what a product is sold as."""
    return _with_options(name, variant["options"], lang)


def method_label(method: PaymentMethod, lang: str) -> str:
    """Return a payment method: what it is, and what tells it from others."""
    parts = [translated(method["source"], lang), method.get("brand", ""), method.get("last_four", "")]
    balance = [f"({money(method['balance'], lang)})"] if "balance" in method else []
    return " ".join(filter(None, [*parts, *balance]))


def address_line(address: Address) -> str:
    """Return an address in one line."""
    names = ("address1", "address2", "zip", "city", "state", "country")
    return ", ".join(filter(None, (str(address[name]) for name in names)))  # type: ignore[literal-required]


def order_title(order: Order, lang: str) -> str:
    """Return an order's number, its status and what its items cost."""
    total = money(sum(item["price"] for item in order["items"]), lang)
    status = translated(order["status"], lang)
    return phrase("shop_order", lang, order=order["order_id"], status=status, total=total)


def order_view(order: Order, lang: str) -> CardList:
    """Return an order with its items."""
    entries = [Entry(item_label(item, lang), money(item["price"], lang)) for item in order["items"]]
    return CardList(title=order_title(order, lang), entries=entries)


def orders_view(orders: Iterable[Order], lang: str) -> list[Entry]:
    """Return orders as entries of a list."""
    return [Entry(order_title(order, lang), items_line(order["items"], lang), id=order["order_id"]) for order in orders]


def items_line(items: Sequence[Item], lang: str) -> str:
    """Return items in one line."""
    return "; ".join(item_label(item, lang) for item in items)


def user_view(user: User, lang: str) -> CardList:
    """Return a customer: email, address and payment methods."""
    lines = [user["email"], address_line(user["address"])]
    lines += [method_label(method, lang) for method in user["payment_methods"].values()]
    return CardList(title=" ".join(user["name"].values()), entries=[Entry(line) for line in lines])  # type: ignore[arg-type]


def product_view(product: Product, lang: str) -> CardList:
    """Return a product with all it is sold as."""
    entries = [
        Entry(
            variant_label(product["name"], variant, lang),
            money(variant["price"], lang) if variant["available"] else phrase("shop_gone", lang),
        )
        for variant in product["variants"].values()
    ]
    return CardList(title=translated(product["name"], lang), entries=entries)


def is_called(words: str, labels: Iterable[str], lang: str) -> bool:
    """Tell whether one of the labels has all of the user's words that matter."""
    lexicon = vocabulary(listening(words, lang))
    stems = set(lexicon.stems(words)) - lexicon.stop
    return any(stems <= set(vocabulary(listening(label, lang)).stems(label)) for label in labels)


def _with_options(name: str, options: Mapping[str, str], lang: str) -> str:
    return ", ".join([translated(name, lang), *(translated(option, lang) for option in options.values())])
