"""What this assistant can do, for whoever asks."""

from langchain_core.tools import tool

from agents.toolkit import Runtime, traits
from prompts import prompt, table, title_of


@traits(shortcut=True, always=True)
@tool
async def abilities(runtime: Runtime) -> str:
    """Tell what you can do for the user."""
    lang: str = runtime.state["lang"]
    lines = [f"- {ability(name, use, lang)}" for name, use in runtime.state.get("dialogs", {}).items()]
    return prompt("abilities", lang, dialogs="\n".join(lines))


def ability(name: str, use: str, lang: str) -> str:
    """Return what can be done in a dialog: in its own words for the user if it has some, else as it is described."""
    able = table(f"{name}/phrases", lang).get("able")
    return str(able or f"{title_of(name, lang).replace('_', ' ')}: {use.removeprefix('Used for ').rstrip('.')};")
