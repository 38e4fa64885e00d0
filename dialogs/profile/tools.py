"""The user's profile: shown and exported from the form of the dialog that fills it."""

import json
from collections.abc import Mapping
from typing import Literal

from langchain_core.tools import tool

from agents.memory.preferences import Preferences
from agents.toolkit import Answer, Document, Runtime, result, traits
from agents.toolkit.questions.form import value_in_words
from dialogs.profile.store import INTENT, form_of_user, intent_of_user
from prompts import form_texts, language, phrase, sentence


@traits(shortcut=True, private=True)
@tool
async def show_profile(runtime: Runtime) -> str:
    """Look up what is known of the user."""
    lang, user, form = runtime.state["lang"], runtime.context.user, await _form(runtime)
    settings = await Preferences.of(runtime.store, user)
    shown = [_markdown(form, await intent_of_user(runtime.store, user), lang), _settings(settings, lang)]
    if not any(shown):
        return sentence("profile/phrases", "empty", lang)
    labels = form_texts("profile", lang)
    unknown = [str(entry["label"]) for name, entry in labels.items() if not form.get(name)]
    rest = sentence("profile/phrases", "unknown", lang, fields=", ".join(unknown)) if unknown else ""
    return "\n\n".join(filter(None, ("\n".join(filter(None, shown)), rest)))


@traits(private=True, view="document", answers=True)
@tool(response_format="content_and_artifact")
async def export_profile(format: Literal["markdown", "json"], runtime: Runtime) -> Answer:
    """Give the user their profile as a document.

    format: markdown or json.
    """
    form, intent, lang = (
        await _form(runtime),
        await intent_of_user(runtime.store, runtime.context.user),
        runtime.state["lang"],
    )
    if not (form or intent):
        return result(message=sentence("profile/phrases", "empty", lang))
    if format == "json":
        values = {**form, INTENT: intent} if intent else form
        text = json.dumps(values, ensure_ascii=False, indent=2)
    else:
        text = _markdown(form, intent, lang)
    name = "profile.json" if format == "json" else "profile.md"
    return result(
        message=sentence("profile/phrases", "exported", lang, name=name), view=Document(title=name, content=text)
    )


async def _form(runtime: Runtime) -> Mapping[str, object]:
    """Return the user's profile.

    Before the dialog begins in a thread, its state has none; where others read along, it has only that thread's values.
    """
    form = runtime.state["form"]
    if (form and not runtime.context.is_shared) or runtime.store is None:
        return form
    return {**await form_of_user(runtime.store, runtime.context.user), **form}


def _markdown(form: Mapping[str, object], intent: str, lang: str) -> str:
    labels = form_texts("profile", lang)
    titles = {name: labels.get(name, {}).get("label", name) for name in (*labels, *form)}
    lines = [f"- **{title}**: {value_in_words(form[name])}" for name, title in titles.items() if form.get(name)]
    if intent:
        lines.append(f"- **{sentence('profile/phrases', f'facts.{INTENT}', lang)}**: {intent}")
    return "\n".join(lines)


def _settings(settings: Preferences, lang: str) -> str:
    spoken = settings.lang and (language(settings.lang).names or (settings.lang,))[0]
    values = {"zone": settings.zone and settings.zone.key, "language": spoken}
    return "\n".join(f"- **{phrase(f'setting_{name}', lang)}**: {value}" for name, value in values.items() if value)
