"""What the gate and the observers are shown of the moment a user message arrives."""

from langchain_core.messages import AIMessage

from agents.scene import Scene
from agents.speaker import Speaker, Speakers
from agents.state import State
from agents.toolkit.card_texts import texts_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.shelf import at_hand
from prompts import card


def scene(speakers: Speakers, dialog: Speaker, state: State) -> Scene:
    """Show the present moment of `dialog`."""
    talk = state.get("talks", {}).get(dialog.name, {})
    form = talk.get("form") or {}
    replies = (m.text for m in reversed(talk.get("messages", [])) if isinstance(m, AIMessage) and m.text)
    return Scene(
        lang=state["lang"],
        dialog=dialog.name,
        description=described(dialog, state["lang"]),
        text=state["heard"]["text"] or "",
        reply=next(replies, None),
        helpers={n: described(other, state["lang"]) for n, other in speakers.dialogs.items() if n != dialog.name},
        tools={tool.name: texts_of(tool, state["lang"])[0] for tool in at_hand(speakers.supervisor)},
        form=form,
        missing=missing(dialog.form, form) if dialog.form else [],
    )


def described(dialog: Speaker, lang: str) -> str:
    """Return what a dialog is used for, in words of `lang` if its tool's card has them."""
    return card(dialog.tool, lang)[0] or dialog.description
