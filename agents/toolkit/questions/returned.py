"""What a page that the user opened hands back: the values in its return address, or the text of a web app.

A tool declares the return address with the parameters that it wants: `https://shop.example/end?state=7&code=`. One
with a value has to come back with the same value; one without is handed to the tool.
"""

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from agents.events.views import is_web
from agents.state.talk import Pending
from agents.toolkit.questions.form import LONGEST_FORM

PAGE = "page"
"""The source of a message that a page sent in the user's name: it can answer only the question that opened a page."""


def returned(pending: Pending, text: str, source: str) -> str | None:
    """Return what the page of a question hands back by a message, as an answer to that question.

    Returns:
        None: the message is not from a page. Empty: it is, and it is not what the tool declared.
    """
    back = pending.get("back", "")
    if back and is_web(text):
        values = values_in(text, back) if len(text) <= LONGEST_FORM else {}
        is_named = bool(values.keys() & {*pending["fields"], *pending["aliases"]})
        return json.dumps(values) if is_named or len(values) > 1 else "".join(values.values())
    if source == PAGE and pending["url"]:
        return text if pending.get("web_app") and len(text) <= LONGEST_FORM else ""
    return None


def wanted(back: str) -> list[str]:
    """Return the names of the parameters whose values a declared return address asks for.

    Raises:
        ValueError: it is no address.
    """
    return [name for name, value in _parameters(back) if not value]


def leads_to(address: str, back: str) -> bool:
    """Tell whether an address is the declared one, apart from its parameters."""
    return is_web(address) and is_web(back) and _page(address) == _page(back)


def values_in(address: str, back: str) -> Mapping[str, str]:
    """Return the values that an address carries for a declared return address; empty if it does not fit."""
    if not leads_to(address, back):
        return {}
    try:
        sent = _parameters(address)
    except ValueError:
        return {}
    values: dict[str, str] = {}
    for name, fixed in _parameters(back):
        ones = [value for sent_name, value in sent if sent_name == name]
        if len(ones) != 1 or not ones[0].isprintable() or not ones[0] or ones[0] != (fixed or ones[0]):
            return {}
        if not fixed:
            values[name] = ones[0]
    return values


def _parameters(address: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(address).query, keep_blank_values=True, max_num_fields=100)


def _page(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}".casefold()
