"""Build what the gate and the observers see of a dialog."""

import re
from dataclasses import replace

from agents.conversation.scene import Scene
from agents.state import State, form_of, messages_of
from agents.state.citations import uncited
from agents.state.message_notes import notes_of
from agents.toolkit.card_texts import texts_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.shelf import at_hand
from agents.toolkit.speaker import Speaker, Speakers
from prompts import card

BEFORE = 3
"""Messages before the last reply that are shown."""
_SLOT = re.compile(r"\{\w+\}")


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
        # What was told in between is no reply: the user still answers what was asked before.
        spoken = [m for m in messages_of(state, dialog.name) if m.type in ("human", "ai") and m.text]
        spoken = [message for message in spoken if "told" not in notes_of(message)]
        last = next((place for place in range(len(spoken) - 1, -1, -1) if spoken[place].type == "ai"), None)
        return replace(
            self._settings[key],
            text=state["heard"]["text"] or "",
            reply=None if last is None else uncited(spoken[last].text),
            before=[uncited(m.text) for m in spoken[:last][-BEFORE:]],
            paused=[name for name in state.get("paused", []) if name != dialog.name],
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
            examples={speaker.name: _examples(speaker, lang) for speaker in self.speakers.dialogs.values()}
            | {tool.name: texts_of(tool, lang)[1] for tool in at_hand(self.speakers.supervisor)},
        )


def uses(speakers: Speakers, lang: str) -> dict[str, str]:
    """Return what every dialog is used for, by its name."""
    return {name: described(dialog, lang) for name, dialog in speakers.dialogs.items()}


def _examples(dialog: Speaker, lang: str) -> tuple[str, ...]:
    """Return how people ask for a dialog, and for what its tools do."""
    phrases = (*card(dialog.tool, lang)[1], *(phrase for tool in dialog.tools for phrase in texts_of(tool, lang)[1]))
    return tuple(_SLOT.sub(" ", phrase) for phrase in phrases)


def described(dialog: Speaker, lang: str) -> str:
    """Return what a dialog is used for, in `lang` if the card of its tool is translated."""
    return card(dialog.tool, lang)[0] or dialog.description
