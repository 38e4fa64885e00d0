"""The shop's records in the user's language: labels of options, and views."""

from collections.abc import Iterable, Sequence
from functools import partial

from agents.events.views import CardList, Entry
from agents.language.text.vocabulary import listening, vocabulary
from dialogs.orders.records import Address, Item, Order, PaymentMethod, Product, User, Variant
from prompts import sentence, table

PHRASES = "orders/phrases"


said = partial(sentence, PHRASES)
"""Return the sentence `key` in a language, its `$variables` filled in."""


def money(amount: float, lang: str) -> str:
    """Return an amount in the shop's form."""
    return said("money", lang, amount=f"{amount:.2f}")


def translated(text: str, lang: str) -> str:
    """Return a name, an option or a status of the records in a language; without a translation, as it is."""
    return str(table(PHRASES, lang).get("words", {}).get(text, text))


def item_label(item: Item, lang: str) -> str:
    """Return an item of an order: its name and options."""
    return variant_label(item["name"], item, lang)


def variant_label(name: str, item: Variant | Item, lang: str) -> str:
    """Return an item of a product: the product's name and the item's options."""
    return ", ".join([translated(name, lang), *(translated(option, lang) for option in item["options"].values())])


def method_label(method: PaymentMethod, lang: str) -> str:
    """Return a payment method with its brand, its last digits or its balance."""
    parts = [translated(method["source"], lang), method.get("brand", ""), method.get("last_four", "")]
    balance = [f"({money(method['balance'], lang)})"] if "balance" in method else []
    return " ".join(filter(None, [*parts, *balance]))


def address_line(address: Address) -> str:
    """Return an address in one line."""
    street = (address["address1"], address["address2"])
    place = (address["zip"], address["city"], address["state"], address["country"])
    return ", ".join(filter(None, (*street, *place)))


def order_title(order: Order, lang: str) -> str:
    """Return an order's number, its status and the price of its items."""
    total = money(sum(item["price"] for item in order["items"]), lang)
    status = translated(order["status"], lang)
    return said("order", lang, order=order["order_id"], status=status, total=total)


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
    return CardList(title=full_name(user), entries=[Entry(line) for line in lines])


def full_name(user: User) -> str:
    """Return a customer's first and last name."""
    return f"{user['name']['first_name']} {user['name']['last_name']}"


def product_view(product: Product, lang: str) -> CardList:
    """Return a product with all its items."""
    entries = [
        Entry(
            variant_label(product["name"], variant, lang),
            money(variant["price"], lang) if variant["available"] else said("gone", lang),
        )
        for variant in product["variants"].values()
    ]
    return CardList(title=translated(product["name"], lang), entries=entries)


def begins(words: str, labels: Iterable[str], lang: str) -> bool:
    """Tell whether one of the labels begins with the user's significant words."""
    lexicon = vocabulary(listening(words, lang))
    stems = [stem for stem in lexicon.stems(words) if stem not in lexicon.stop]
    return any(vocabulary(listening(label, lang)).stems(label)[: len(stems)] == stems for label in labels)


def is_called(words: str, labels: Iterable[str], lang: str) -> bool:
    """Tell whether one of the labels has all of the user's significant words; "an order" fits each."""
    lexicon = vocabulary(listening(words, lang))
    things = lexicon.stems(" ".join(table(PHRASES, lexicon.lang)["things"]))
    stems = set(lexicon.stems(words)) - lexicon.stop - {*things}
    return any(stems <= set(vocabulary(listening(label, lang)).stems(label)) for label in labels)
