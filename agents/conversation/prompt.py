"""Compose what a speaker's model reads: its role and its history.

The role and the tools are constant and the history only grows, so each prompt begins like the one before it and a
provider's prefix cache serves most of it. What changes from turn to turn goes with the user's message.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from langchain_core.messages import AnyMessage, SystemMessage

from agents.conversation.changes import screen_in_words
from agents.conversation.heard import heard_so_far, human, with_contents
from agents.conversation.persons import name_of
from agents.conversation.scene import Scene, described
from agents.memory.inbox import now_ms
from agents.sources.attachments import SHOWN
from agents.state import State, form_of, messages_of, talk_of
from agents.state.message_notes import Facts, Helper, notes
from agents.toolkit.bound_tools import bound_tools
from agents.toolkit.context import Context
from agents.toolkit.descriptions import Schemas, ToolSchema, examples_of, texts_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.shelf import Shelf, at_hand, shown_in
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase, prompt, prompts_of_all, title_of

LEAST_STEPS = 6
"""Supersteps for another round of tools and the answer to it, with observers behind it."""


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

    def for_speaker(self, speaker: Speaker, state: State, name: str, history: Sequence[AnyMessage]) -> Facts:
        """Return the facts of a speaker's prompt; `name` is what to call the user, empty if it is not known."""
        values = form_of(state, speaker.name)
        shelf = self.shelves.get(speaker.name)
        offered = sorted(shown_in(messages_of(state, speaker.name)) & shelf.tools.keys()) if shelf else []
        return {
            **self._of_everyone(state["lang"]),
            "role": speaker.name,
            "history": history,
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
        "title": title_of(dialog.name, lang),
        "description": described(dialog, lang),
        "tools": [tool.name for tool in dialog.tools],
        "form": dialog.name if dialog.form else None,
    }


class Prompting:
    """The prompts and bound tools of every speaker, worked out once per language."""

    def __init__(self, speakers: Speakers, shelves: Mapping[str, Shelf] | None = None) -> None:
        self.speakers, self.shelves = speakers, shelves or {}
        self._schemas = Schemas()
        self.facts = FactSource(speakers, self.shelves, self._schemas)
        self._tools: dict[tuple[str, str], list[ToolSchema]] = {}

    def messages(self, speaker: Speaker, state: State, context: Context) -> list[AnyMessage]:
        """Return the prompt for the next model call of a speaker: its role, and its history.

        System messages behind the role are notes; `agents.models.message_order` makes data of them.
        """
        lang = state["lang"]
        history = with_contents(heard_so_far(speaker, state), state["heard"], context.contents, lang)
        facts = self.facts.for_speaker(speaker, state, context.called, history)
        noted = notes(lang=lang, facts=facts)
        if speaker.is_custom:
            noted |= notes(forwarding="custom")
        messages: list[AnyMessage] = [SystemMessage(self.role(speaker, lang), additional_kwargs=noted), *history]
        if state.get("remaining_steps", LEAST_STEPS) < LEAST_STEPS:
            messages.append(SystemMessage(phrase("last_reply", lang)))
        return messages

    def news(self, speaker: Speaker, state: State, context: Context) -> list[AnyMessage]:
        """Return what a speaker has not heard yet: the user's message with what holds now, and cards of tools.

        Without a message of the user what holds now is a note.
        """
        history = messages_of(state, speaker.name)
        heard = state["heard"]
        if any(message.id == heard["id"] for message in reversed(history)):
            return []
        # An agent graph has a prompt of its own, and hears the user as they are.
        parts = [] if speaker.agent else self.context(speaker, state, context)
        if speaker.is_custom:
            parts = [_of_the_turn(speaker, state, context), *parts]
        if heard["text"] is None:
            return [SystemMessage("\n".join(parts), id=heard["id"])]
        noted = notes(context=parts)
        # Only the supervisor is told: a dialog acts on the user's own data, at the user's word.
        if speaker.is_supervisor and (beside := state.get("beside")):
            noted |= notes(beside=[phrase("others_said", state["lang"], lines="\n".join(beside))])
        message = human(heard, state["lang"])
        message.additional_kwargs |= noted
        shelf = self.shelves.get(speaker.name)
        cards = shelf.offer(state, [*history, message]) if shelf else None
        return [message, cards] if cards else [message]

    def role(self, speaker: Speaker, lang: str) -> str:
        """Return a speaker's system prompt: what it does, and the dialogs and tools that it can call."""
        if not speaker.is_supervisor:
            return f"{prompt(f'{speaker.name}/prompt', lang)}\n\n{prompt('dialog', lang)}"
        helpers = {dialog.tool: described(dialog, lang) for dialog in self.speakers.dialogs.values()}
        tools = {tool.name: texts_of(tool, lang)[0] for tool in at_hand(speaker)}
        return prompt("supervisor", lang, helpers=_listed(helpers), tools=_listed(tools))

    def tools(self, speaker: Speaker, lang: str) -> list[ToolSchema]:
        """Return the tools bound to a speaker's model, described in `lang`; always the same list."""
        key = (speaker.name, lang)
        if key not in self._tools:
            tools = bound_tools(speaker, self.speakers, self.shelves.get(speaker.name))
            self._tools[key] = [self._schemas.of(tool, lang) for tool in tools]
        return self._tools[key]

    def picked(self, speaker: Speaker, state: State) -> list[ToolSchema]:
        """Return the tools bound for this message alone: those that fit, where a shelf's tools are bound."""
        shelf = self.shelves.get(speaker.name)
        if shelf is None or shelf.mode != "bind":
            return []
        return [self._schemas.of(tool, state["lang"]) for tool in shelf.fitting(state, heard_so_far(speaker, state))]

    def context(self, speaker: Speaker, state: State, context: Context) -> list[str]:
        """Return what holds as the user's message comes, part by part: time, device, form, screen, instructions."""
        lang = state["lang"]
        now = datetime.now(context.zone).strftime("%A %Y-%m-%d %H:%M %Z")
        parts = [phrase("clock", lang, now=f"{now}, {context.device}" if context.device else now)]
        if context.is_shared:
            parts.append(phrase("who_writes", lang, name=name_of(state, context.user)))
        parts += [
            phrase(f"quoted_{quoted['kind']}", lang, by=quoted["by"] or "?", text=quoted["text"])
            for quoted in state["heard"].get("quoted", [])
            if quoted["kind"] not in SHOWN
        ]
        if summary := talk_of(state, speaker.name).get("summary"):
            parts.append(phrase("summed_up", lang, summary=summary))
        parts += context.lines
        if speaker.form:
            values = form_of(state, speaker.name)
            gaps = ", ".join(missing(speaker.form, values)) or "-"
            filled = json.dumps(values, ensure_ascii=False, sort_keys=True)
            parts.append(phrase("form_so_far", lang, known=filled, missing=gaps))
        if screen := state.get("screen"):
            parts.append(phrase("on_screen", lang, screen=screen_in_words(screen)))
        if speaker.is_supervisor and state["heard"]["text"] is None and not messages_of(state, speaker.name):
            parts.append(" ".join(prompts_of_all("opening", lang)))
        if state.get("undone"):
            parts.append(phrase("undone", lang))
        waiting = [wish for wish in state.get("wishes", []) if not wish.get("left")]
        if waiting and not speaker.is_supervisor:
            parts.append(phrase("another_wish", lang))
        return parts


def _of_the_turn(speaker: Speaker, state: State, context: Context) -> str:
    fields = {
        "turn_id": state["turn"] - 1,
        "timestamp": now_ms(),
        "interruptable": json.dumps(context.is_interruptable),
        "model": context.models.chain(speaker.name)[0].name,
    }
    return "; ".join(f"{name}: {value}" for name, value in fields.items())


def _listed(descriptions: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text.splitlines()[0]}" for name, text in descriptions.items())
