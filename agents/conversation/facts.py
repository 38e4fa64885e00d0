"""What a prompt says in prose, as data, for a model that reads no prose (`local:rules`)."""

from collections.abc import Mapping

from agents.conversation.handover import title
from agents.conversation.scene import Scene
from agents.conversation.scenes import described
from agents.state import State, form_of, messages_of
from agents.state.message_notes import Facts, Helper
from agents.toolkit.card_texts import examples_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.schemas import Schemas
from agents.toolkit.shelf import Shelf, shown_in
from agents.toolkit.speaker import Speaker, Speakers


class FactSource:
    """The facts of every prompt; what stays the same from turn to turn is put together once per language."""

    def __init__(self, speakers: Speakers, shelves: Mapping[str, Shelf], schemas: Schemas) -> None:
        self.speakers, self.shelves, self.schemas = speakers, shelves, schemas
        self._common: dict[str, Facts] = {}

    def for_observer(self, observer: str, scene: Scene) -> Facts:
        """Return the facts of an observer's prompt."""
        return {
            **self._of_everyone(scene.lang),
            "role": "observer",
            "observer": observer,
            "text": scene.text,
            "reply": scene.reply,
            "dialog": scene.dialog,
            "form": dict(scene.form),
            "missing": list(scene.missing),
        }

    def for_speaker(self, speaker: Speaker, state: State, name: str) -> Facts:
        """Return the facts of a speaker's prompt; `name` is what to call the user, empty if it is not known."""
        values = form_of(state, speaker.name)
        shelf = self.shelves.get(speaker.name)
        offered = sorted(shown_in(messages_of(state, speaker.name)) & shelf.tools.keys()) if shelf else []
        return {
            **self._of_everyone(state["lang"]),
            "role": speaker.name,
            "name": name,
            "form": values if speaker.form else None,
            "fields": list(speaker.form.model_fields) if speaker.form else [],
            "missing": missing(speaker.form, values) if speaker.form else [],
            "opening": state["heard"]["text"] is None,
            "undone": bool(state.get("undone")),
            "wishes": bool(state.get("wishes")),
            "shelf": [self.schemas.of(shelf.tools[name], state["lang"]) for name in offered] if shelf else [],
        }

    def _of_everyone(self, lang: str) -> Facts:
        """Return the facts that are the same in every prompt of a language."""
        if lang not in self._common:
            examples = {tool.name: examples_of(tool, lang) for speaker in self.speakers for tool in speaker.tools}
            self._common[lang] = {
                "lang": lang,
                "helpers": {dialog.tool: _helper(dialog, lang) for dialog in self.speakers.dialogs.values()},
                "tools": [tool.name for tool in self.speakers.supervisor.tools],
                "examples": {name: texts for name, texts in examples.items() if texts},
            }
        return self._common[lang]


def _helper(dialog: Speaker, lang: str) -> Helper:
    return {
        "dialog": dialog.name,
        "title": title(dialog, lang),
        "description": described(dialog, lang),
        "tools": [tool.name for tool in dialog.tools],
        "form": dialog.name if dialog.form else None,
    }
