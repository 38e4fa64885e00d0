"""Build what the gate and the observers see of a dialog."""

from dataclasses import replace

from langchain_core.messages import AIMessage

from agents.scene import Scene
from agents.speaker import Speaker, Speakers
from agents.state import State, form_of, messages_of
from agents.toolkit.card_texts import texts_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.shelf import at_hand
from prompts import card


class Scenes:
    """The scenes of all dialogs; what stays the same from turn to turn is built once per dialog and language."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers
        self._settings: dict[tuple[str, str], Scene] = {}

    def of(self, dialog: Speaker, state: State) -> Scene:
        """Show the present moment of a dialog."""
        key = (dialog.name, state["lang"])
        if key not in self._settings:
            self._settings[key] = self._setting(dialog, state["lang"])
        form = form_of(state, dialog.name)
        replies = (m.text for m in reversed(messages_of(state, dialog.name)) if isinstance(m, AIMessage) and m.text)
        return replace(
            self._settings[key],
            text=state["heard"]["text"] or "",
            reply=next(replies, None),
            form=form,
            missing=missing(dialog.form, form) if dialog.form else [],
        )

    def _setting(self, dialog: Speaker, lang: str) -> Scene:
        """Return a scene in which nothing was said yet."""
        others = {name: other for name, other in self.speakers.dialogs.items() if name != dialog.name}
        return Scene(
            lang=lang,
            dialog=dialog.name,
            description=described(dialog, lang),
            text="",
            reply=None,
            helpers={name: described(other, lang) for name, other in others.items()},
            tools={tool.name: texts_of(tool, lang)[0] for tool in at_hand(self.speakers.supervisor)},
            form={},
            missing=[],
        )


def uses(speakers: Speakers, lang: str) -> dict[str, str]:
    """Return what every dialog is used for, by its name."""
    return {name: described(dialog, lang) for name, dialog in speakers.dialogs.items()}


def described(dialog: Speaker, lang: str) -> str:
    """Return what a dialog is used for, in `lang` if the card of its tool is translated."""
    return card(dialog.tool, lang)[0] or dialog.description
