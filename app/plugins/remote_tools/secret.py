"""Secrets of services and servers: read from the environment, and hidden in answers that repeat the request."""

import base64
import binascii
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote, quote_plus

from pydantic import Field

from app.plugins.remote_tools.tool_spec import ToolSpec
from app.yaml_file import FilePart, fault

HIDDEN = "<secret>"
SHORTEST = 6  # The shortest secret that is hidden; a shorter one may be any word or number.


class Env(FilePart):
    """A secret, by the name of its environment variable; `format` puts the value in place of `{}`."""

    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    format: Annotated[str, Field(pattern=r"^[^{}]*\{\}[^{}]*$")] = "{}"

    def bare(self, formatted: str) -> str:
        """Return the bare secret of a formatted value."""
        before, _, behind = self.format.partition("{}")
        return formatted.removeprefix(before).removesuffix(behind)


def secrets_of(
    file: str, section: str, stated: Mapping[str, Mapping[str, object]], environment: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return the headers or variables of each service or server, by its name: texts, and secrets of the environment.

    Raises:
        ConfigError: a secret is not in the environment, or holds characters that no header may have.
    """
    values_of: dict[str, dict[str, str]] = {}
    for name, values in stated.items():
        values_of[name] = {key: value for key, value in values.items() if isinstance(value, str)}
        for key, value in values.items():
            if not isinstance(value, Env):
                continue
            secret, place = environment.get(value.env, ""), f"{section}.{name}.{key}"
            if not secret:
                raise fault(file, place, f"the environment variable {value.env} is not set")
            if not secret.isascii() or not secret.isprintable():
                raise fault(file, place, f"the environment variable {value.env} holds characters that cannot be sent")
            values_of[name][key] = value.format.replace("{}", secret)
    return values_of


class Mask:
    """Hides secrets everywhere in data, also in the spelling of an address, a page, JSON or base64."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spelled = {form for secret in secrets for form in _spelled(secret) if len(form) >= SHORTEST}
        longest_first = sorted(spelled, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if spelled else None

    def __call__(self, data: object) -> Any:
        """Return plain data without the secrets: texts, names of members, and numbers, which become texts then."""
        if self._pattern is None or data is None or isinstance(data, bool):
            return data
        if isinstance(data, Mapping):
            return {self(name): self(value) for name, value in data.items()}
        if isinstance(data, list):
            return [self(part) for part in data]
        text = self._pattern.sub(HIDDEN, str(data))
        return text if isinstance(data, str) or HIDDEN in text else data


def masks(spec: ToolSpec, values: Mapping[str, object], sent: Mapping[str, str]) -> tuple[Mask, Mask]:
    """Return a mask for the secrets in an answer, and one for all hidden values in a refusal.

    `sent` are the sent headers or variables, `values` their form in the file. A text in the file itself may be a secret
    as well as the name of a category, which an answer may well have.
    """
    secrets = {sent[name]: value.bare(sent[name]) for name, value in values.items() if isinstance(value, Env)}
    hidden = [*secrets, *secrets.values()]
    fixed = [value.fixed for value in spec.parameters.values() if isinstance(value.fixed, str)]
    return Mask(hidden), Mask([*hidden, *sent.values(), *fixed])


def _spelled(secret: str) -> Iterator[str]:
    # "Bearer abc" is also hidden as "abc".
    for plain in {secret, secret.rpartition(" ")[2], *_decoded(secret)}:
        yield from (plain, quote(plain, safe=""), quote(plain), quote_plus(plain), html.escape(plain))
        yield json.dumps(plain)[1:-1]
        for packed in (base64.b64encode(plain.encode()), base64.urlsafe_b64encode(plain.encode())):
            yield packed.decode().rstrip("=")


def _decoded(secret: str) -> list[str]:
    scheme, _, packed = secret.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(packed, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]]
