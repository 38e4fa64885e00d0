"""Which reads of a shop show an identifier: what a model has to look up before it can name a thing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

from dialogs.orders.records import Kind
from tests.dialogs.orders.files import Record

Named = tuple[str, str]
"""An identifier behind its kind."""


@dataclass(frozen=True)
class Read:
    """A call, with what it shows but for what is changed since."""

    tool: str
    args: Mapping[str, Any]
    output: Any


class Reads:
    """Know what stands where, from the records of a shop before anybody was served."""

    def __init__(self, records: Mapping[Kind, Mapping[str, Record]]) -> None:
        self.records = records

    def showing(self, named: Named) -> Read | None:
        """Return the read that shows an identifier; None if there is no such thing."""
        kind, id = named
        if kind == "product":
            listed = [{"name": it["name"], "product_id": it["product_id"]} for it in self.records["products"].values()]
            shown = sorted(listed, key=itemgetter("name"))
            return Read("list_all_product_types", {}, shown) if id in self.records["products"] else None
        if kind == "user":
            user = self.records["users"].get(id)
            return Read("find_user_id_by_email", {"email": user["email"]}, id) if user else None
        if kind == "item":
            return self._whole("products", self._products.get(id))
        return self._whole("users", self._owners.get(id))

    def _whole(self, kind: Kind, id: str | None) -> Read | None:
        if id is None:
            return None
        noun = kind.removesuffix("s")
        return Read(f"get_{noun}_details", {f"{noun}_id": id}, self.records[kind][id])

    @cached_property
    def _products(self) -> dict[str, str]:
        return {item: id for id, product in self.records["products"].items() for item in product["variants"]}

    @cached_property
    def _owners(self) -> dict[str, str]:
        users = self.records["users"].items()
        return {owned: id for id, user in users for owned in [*user["orders"], *user["payment_methods"]]}
