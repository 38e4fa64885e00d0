"""The values of a dialog's form as they are taken back."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.memory.undo_log import Changes
from agents.toolkit.runtime import Runtime
from prompts import form_texts, phrase


class FormValues:
    """The fields of the form in the tool's state, by name; whoever runs the undo keeps what is changed there."""

    name = "form"

    async def read(self, runtime: Runtime, keys: Sequence[str]) -> Mapping[str, Any]:
        """Return those that have a value."""
        form, speaker = runtime.state["form"], runtime.state.get("speaker", "")
        return {key: field_value(speaker, key, form[key]) for key in keys if form.get(key)}

    async def write(self, runtime: Runtime, key: str, value: Any) -> None:
        """Put a value back; a field without one is empty."""
        form = runtime.state["form"]
        empty: object = [] if isinstance(form.get(key), list) else None
        form[key] = value["value"] if value else empty

    def same(self, one: Any, other: Any) -> bool:
        """Compare two values."""
        return bool(one == other)

    def worded(self, value: Any, lang: str) -> str:
        """Return a field with its value."""
        label = form_texts(value["speaker"], lang).get(value["field"], {}).get("label", value["field"])
        content = value["value"]
        text = ", ".join(map(str, content)) if isinstance(content, list) else str(content)
        return phrase("undo_field", lang, label=label, value=text)


FORM = FormValues()


def field_value(speaker: str, field: str, value: object) -> dict[str, object] | None:
    """Return a value of a form as it is entered in the undo log; None if the field is empty."""
    return {"speaker": speaker, "field": field, "value": value} if value not in (None, "", [], {}) else None


def form_changes(runtime: Runtime, filled: Mapping[str, object]) -> Changes:
    """Return what these values change in the form of the speaker whose tool runs."""
    form, speaker = runtime.state["form"], runtime.state.get("speaker", "")
    pairs = {
        name: (field_value(speaker, name, form.get(name)), field_value(speaker, name, value))
        for name, value in filled.items()
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
