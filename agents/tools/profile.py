"""The user's profile: shown and exported from the form of the dialog that fills it."""

import json
from collections.abc import Mapping
from typing import Literal

from langchain_core.tools import tool

from agents.toolkit import Answer, Document, Runtime, result, traits
from prompts import phrase, table


@traits(shortcut=True)
@tool
async def show_profile(runtime: Runtime) -> str:
    """Show what is known of the user so far."""
    return _markdown(runtime.state["form"], runtime.state["lang"]) or phrase("profile_empty", runtime.state["lang"])


@tool(response_format="content_and_artifact")
async def export_profile(format: Literal["markdown", "json"], runtime: Runtime) -> Answer:
    """Give the user their profile as a document. The document is shown to them; do not repeat it."""
    form, lang = runtime.state["form"], runtime.state["lang"]
    if not form:
        return result(message=phrase("profile_empty", lang))
    text = json.dumps(form, ensure_ascii=False, indent=2) if format == "json" else _markdown(form, lang)
    name = "profile.json" if format == "json" else "profile.md"
    return result(message=phrase("profile_exported", lang, name=name), view=Document(title=name, content=text))


def _markdown(form: Mapping[str, object], lang: str) -> str:
    labels = table("forms/profile", lang)
    titles = {name: labels.get(name, {}).get("label", name) for name in form}
    return "\n".join(f"- **{titles[name]}**: {_worded(value)}" for name, value in form.items() if value)


def _worded(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
