"""The user's profile: shown and exported from the form of the dialog that fills it."""

import json
from collections.abc import Mapping
from typing import Literal

from langchain_core.tools import tool

from agents.memory.preferences import intent_of_user
from agents.memory.store import namespace_of
from agents.toolkit import Answer, Document, Runtime, result, traits
from prompts import phrase, table


@traits(shortcut=True, private=True)
@tool
async def show_profile(runtime: Runtime) -> str:
    """Show what is known of the user so far."""
    lang = runtime.state["lang"]
    return _markdown(await _form(runtime), await intent_of_user(runtime.store, runtime.context.user), lang) or phrase(
        "profile_empty", lang
    )


@traits(private=True)
@tool(response_format="content_and_artifact")
async def export_profile(format: Literal["markdown", "json"], runtime: Runtime) -> Answer:
    """Give the user their profile as a document. The document is shown to them; do not repeat it."""
    form, intent, lang = (
        await _form(runtime),
        await intent_of_user(runtime.store, runtime.context.user),
        runtime.state["lang"],
    )
    if not (form or intent):
        return result(message=phrase("profile_empty", lang))
    if format == "json":
        values = {**form, "professional_intent": intent} if intent else form
        text = json.dumps(values, ensure_ascii=False, indent=2)
    else:
        text = _markdown(form, intent, lang)
    name = "profile.json" if format == "json" else "profile.md"
    return result(message=phrase("profile_exported", lang, name=name), view=Document(title=name, content=text))


async def _form(runtime: Runtime) -> Mapping[str, object]:
    """Return the user's profile; where others read along the dialog has only what was said there."""
    form = runtime.state["form"]
    if not runtime.context.is_shared or runtime.store is None:
        return form
    item = await runtime.store.aget(namespace_of(runtime.context.user, "forms"), "profile")
    return {**(item.value if item else {}), **form}


def _markdown(form: Mapping[str, object], intent: str, lang: str) -> str:
    labels = table("forms/profile", lang)
    titles = {name: labels.get(name, {}).get("label", name) for name in form}
    lines = [f"- **{titles[name]}**: {_worded(value)}" for name, value in form.items() if value]
    if intent:
        lines.append(f"- **{phrase('professional_intent', lang)}**: {intent}")
    return "\n".join(lines)


def _worded(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
