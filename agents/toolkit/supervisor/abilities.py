"""What this assistant can do, for whoever asks."""

from langchain_core.tools import tool

from agents.toolkit import Runtime, traits
from prompts import prompt, table


@traits(shortcut=True, always=True)
@tool
async def abilities(runtime: Runtime) -> str:
    """Tell what you can do for the user."""
    lang: str = runtime.state["lang"]
    lines = [f"- {ability(name, use, lang)}" for name, use in runtime.state.get("dialogs", {}).items()]
    return prompt("abilities", lang, dialogs="\n".join(lines))


def ability(name: str, use: str, lang: str) -> str:
    """Return what can be done in a dialog: in words for the user if `texts.toml` has some, else as it is described."""
    texts = table("texts", lang)
    title = texts.get(f"title_{name}", name.replace("_", " "))
    return str(texts.get(f"able_{name}") or f"{title}: {use.removeprefix('Used for ').rstrip('.')};")
