"""The prompt of a speaker's model: its role and its history.

The role and the tools are constant and the history only grows, so each prompt begins like the one before it and a
provider's prefix cache serves most of it. Changes from turn to turn go with the user's message.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from agents.conversation.persons import name_of
from agents.conversation.scene import Scene, described
from agents.language.identifiers import masked
from agents.language.text.vocabulary import mentions
from agents.memory.inbox import now_ms
from agents.models import ToolSchema
from agents.sources.attachments import SHOWN, Contents, told, words_of
from agents.state import SUPERVISOR, State, form_of, messages_of, talk_of
from agents.state.history import last_reply
from agents.state.message_notes import Facts, Helper, notes, notes_of, with_notes
from agents.state.person import LastDone, UserMessage, is_own
from agents.state.speaker_state import SpeakerState
from agents.toolkit.context import Context
from agents.toolkit.descriptions import Schemas, examples_of, texts_of
from agents.toolkit.handover_tools import HAND_BACK, entry_of
from agents.toolkit.questions.form import missing
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import CALL, ToolSearch, at_hand, bound_tools, shown_in
from agents.toolkit.traits import traits_of
from prompts import FALLBACK, edition, phrase, prompt, prompts_of_all, table, title_of


class Prompting:
    """The prompts, their facts and the bound tools of every speaker; constant parts are made once per language."""

    def __init__(self, speakers: Speakers, tool_searches: Mapping[str, ToolSearch] | None = None) -> None:
        self.speakers, self.tool_searches = speakers, tool_searches or {}
        self._schemas = Schemas([HAND_BACK, CALL, *(dialog.tool for dialog in speakers.dialogs.values())])
        self._facts: dict[tuple[object, str], Facts] = {}
        self._tools: dict[tuple[object, str, str], list[ToolSchema]] = {}
        """Both by the edition of the texts."""

    def observer_facts(self, observer: str, scene: Scene) -> Facts:
        """Return the facts of an observer's prompt."""
        return {
            **self._facts_of_all(scene.lang),
            "role": "observer",
            "observer": observer,
            "text": scene.text,
            "reply": scene.reply,
            "dialog": scene.dialog,
            "form": dict(scene.form),
            "missing": list(scene.missing),
            "active": self._active(scene.paused),
        }

    def _speaker_facts(self, speaker: Speaker, state: State, name: str, history: Sequence[AnyMessage]) -> Facts:
        form, values, tool_search = speaker.form, form_of(state, speaker.name), self.tool_searches.get(speaker.name)
        offered = sorted(shown_in(history) & tool_search.tools.keys()) if tool_search else []
        return {
            **self._facts_of_all(state["lang"]),
            "role": speaker.name,
            "history": history,
            "name": name,
            "form": values if form else None,
            "fields": list(form.model_fields) if form else [],
            "missing": missing(form, values) if form else [],
            "opening": state["heard"]["text"] is None,
            "undone": bool(state.get("undone")),
            "active": self._active(state.get("paused", [])),
            "wishes": bool(state.get("wishes")),
            "served": _served(state),
            "tool_search": [self._schemas.of(tool_search.tools[name], state["lang"]) for name in offered]
            if tool_search
            else [],
        }

    def _active(self, paused: Sequence[str]) -> Sequence[str]:
        return [it.tool for name in paused if (it := self.speakers.dialogs.get(name)) and it.halts]

    def _facts_of_all(self, lang: str) -> Facts:
        key = (edition(), lang)
        if key not in self._facts:
            helpers: dict[str, Helper] = {
                dialog.tool: {
                    "dialog": dialog.name,
                    "title": title_of(dialog.name, lang),
                    "description": described(dialog, lang),
                    "tools": [tool.name for tool in dialog.tools],
                    "form": dialog.name if dialog.form else None,
                }
                for dialog in self.speakers.dialogs.values()
            }
            tools = [tool for speaker in self.speakers for tool in speaker.tools]
            tools += map(entry_of, self.speakers.dialogs.values())
            examples = {tool.name: examples_of(tool, lang) for tool in tools}
            self._facts[key] = {
                "lang": lang,
                "helpers": helpers,
                "tools": [tool.name for tool in self.speakers.supervisor.tools],
                "examples": {name: texts for name, texts in examples.items() if texts},
                "writes": [tool.name for it in self.speakers for tool in it.tools if traits_of(tool).effect == "write"],
            }
        return self._facts[key]

    def messages(
        self, speaker: Speaker, state: State, context: Context, history: Sequence[AnyMessage]
    ) -> list[AnyMessage]:
        """Return the prompt for the next model call of a speaker: its role, and its history with its news.

        System messages behind the role are notes; `agents.models.message_order` makes data of them.
        """
        lang = state["lang"]
        turn = [_of_the_turn(speaker, state, context)] if speaker.is_custom else []
        history = with_contents(history, state["heard"], context.contents, lang, turn)
        noted = notes(lang=lang, facts=self._speaker_facts(speaker, state, context.called, history))
        if speaker.is_custom:
            noted |= notes(forwarding="custom")
        # The messages for this thread alone come last, so that the prompts of all threads begin alike.
        role = "\n\n".join([self.role(speaker, lang), *context.system_messages])
        messages: list[AnyMessage] = [SystemMessage(role, additional_kwargs=noted), *_earlier(speaker, state), *history]
        if context.spent.leaves(context.limits) <= 1:
            messages.append(SystemMessage(phrase("last_reply", lang)))
        return messages

    async def question(
        self, dialog: Speaker, state: State, context: Context, text: str
    ) -> tuple[list[AnyMessage], list[ToolSchema]]:
        """Return a dialog's own prompt and tools with a question about the user's message behind it.

        A server that keeps one prompt answers the question without losing the dialog's.
        """
        context = await with_dialog_lines(dialog, context, state["lang"])
        history = [*messages_of(state, dialog.name), *self.news(dialog, state, context)]
        question = SystemMessage(f"{phrase('judge_first', state['lang'])}\n{text}")
        return [*self.messages(dialog, state, context, history), question], self.tools(
            dialog, state["lang"], context.client_tools
        )

    def news(self, speaker: Speaker, state: State, context: Context) -> list[AnyMessage]:
        """Return the messages that a speaker has not heard: the user's, with its lasting context, and cards of tools.

        Without a message of the user the context is a note.
        """
        history = messages_of(state, speaker.name)
        heard = state["heard"]
        if any(message.id == heard["id"] for message in reversed(history)):
            return []
        # An agent graph has a prompt of its own: it hears the user, the quotations, and the operator.
        parts = _quoted(state) if speaker.agent else self._of_the_message(speaker, state, context)
        lasting = context.system_messages if speaker.agent else self._lasting(speaker, state, context)
        mask = partial(masked, numbered=state.get("aliases"))
        parts, lasting = [*map(mask, parts)], [*map(mask, lasting)]
        if heard["text"] is None:
            return [SystemMessage("\n".join([*parts, *lasting]), id=heard["id"])]
        noted = notes(lasting=lasting)
        if parts:
            noted |= notes(context=parts)
        # Only the supervisor gets the words of others: a dialog acts on the user's own data, at the user's word.
        if speaker.is_supervisor and (beside := state.get("beside")):
            noted |= notes(beside=[mask(phrase("others_said", state["lang"], lines="\n".join(beside)))])
        message = human(heard, state["lang"])
        message.additional_kwargs |= noted
        tool_search = self.tool_searches.get(speaker.name)
        cards = tool_search.offer(state, [*history, message]) if tool_search else None
        return [message, cards] if cards else [message]

    def role(self, speaker: Speaker, lang: str) -> str:
        """Return a speaker's system prompt: its role, and the dialogs and tools that it can call.

        The common part of all speakers comes first, so that a cache of one serves the others.
        """
        common = prompt("common", lang)
        if not speaker.is_supervisor:
            own = speaker.roles.get(lang) or speaker.roles.get(FALLBACK) or prompt(f"{speaker.name}/prompt", lang)
            return f"{common}\n\n{prompt('dialog', lang)}\n\n{own}"
        helpers = {dialog.tool: described(dialog, lang) for dialog in self.speakers.dialogs.values()}
        helpers |= {title_of(name, lang): phrase("dialog_absent", lang) for name in self.speakers.absent}
        tools = {tool.name: texts_of(tool, lang)[0] for tool in at_hand(speaker)}
        return f"{common}\n\n{prompt('supervisor', lang, helpers=_listed(helpers), tools=_listed(tools))}"

    def tools(
        self, speaker: Speaker, lang: str, of_client: Mapping[str, BaseTool] = MappingProxyType({})
    ) -> list[ToolSchema]:
        """Return the tools bound to a speaker's model, described in `lang`: always the same list, then the client's."""
        key = (edition(), speaker.name, lang)
        if key not in self._tools:
            tools = bound_tools(speaker, self.speakers, self.tool_searches.get(speaker.name))
            self._tools[key] = [self._schemas.of(tool, lang) for tool in tools]
        further, schemas = of_client.values() if not speaker.agent else (), Schemas()
        return [*self._tools[key], *(schemas.of(tool, lang) for tool in further)] if further else self._tools[key]

    def _lasting(self, speaker: Speaker, state: State, context: Context) -> list[str]:
        """Return the lasting context, which holds until the next message, part by part: time and door, form, screen."""
        lang = state["lang"]
        parts = [_time_and_door(context, lang)]
        parts += context.lines
        if speaker.form:
            values = form_of(state, speaker.name)
            gaps = ", ".join(missing(speaker.form, values)) or "-"
            filled = json.dumps(values, ensure_ascii=False, sort_keys=True)
            parts.append(phrase("form_so_far", lang, known=filled, missing=gaps))
        if screen := state.get("screen"):
            lines = [line for shown in screen for line in (shown["title"] and f"{shown['title']}:", *shown["lines"])]
            parts.append(phrase("on_screen", lang, screen="\n".join(filter(None, lines))))
        if any(notes_of(message).get("marked") for message in messages_of(state, speaker.name)):
            parts.append(phrase("attached_before", lang))
        return parts

    def _of_the_message(self, speaker: Speaker, state: State, context: Context) -> list[str]:
        """Return the context of the user's message alone: its writer, the message that it answers, instructions."""
        lang, heard_text = state["lang"], state["heard"]["text"] or ""
        parts = [phrase("who_writes", lang, name=name_of(state, context.user))] if context.is_shared else []
        parts += _quoted(state)
        if speaker.is_supervisor and state["heard"]["text"] is None and not messages_of(state, speaker.name):
            parts.append(" ".join(prompts_of_all("opening", lang)))
        if state.get("undone"):
            parts.append(phrase("undone", lang))
        last, is_fresh = state.get("last_done"), state.get("wrote") == state.get("turn", 0) - 1
        is_elsewhere = last and last["speaker"] not in (speaker.name, SUPERVISOR)
        if last and is_elsewhere and (is_fresh or mentions("pointing", heard_text, lang)):
            parts.append(_done_elsewhere(last, self.speakers, lang))
        waiting = [wish for wish in state.get("wishes", []) if not wish.get("left")]
        if waiting and not speaker.is_supervisor:
            tools = {name: dialog.tool for name, dialog in self.speakers.dialogs.items()}
            names = ", ".join(dict.fromkeys(tools.get(wish["dialog"]) or wish["brief"] for wish in waiting))
            parts.append(phrase("another_wish", lang, tools=names))
        return parts


def _done_elsewhere(last: LastDone, speakers: Speakers, lang: str) -> str:
    dialog = speakers.successor(last["speaker"])
    about = {"title": title_of(last["speaker"], lang), "tool": dialog.tool if dialog else "-"}
    return phrase("last_done", lang, text=last["text"] or "-", **about)


def _served(state: State) -> str:
    answer = last_reply(messages_of(state, SUPERVISOR), in_words=True)
    return notes_of(answer).get("served", "") if answer else ""


def _time_and_door(context: Context, lang: str) -> str:
    """Return the time, to ten minutes, and the door: a time to the minute would be told with each message."""
    now = datetime.fromtimestamp(context.now(), context.zone)
    day = {"weekday": table("texts", lang)["weekdays"][now.weekday()], "date": f"{now:%Y-%m-%d}", "zone": f"{now:%Z}"}
    time_line = phrase("now_about", lang, time=f"{now:%H}:{now.minute // 10}0", **day)
    files = (context.device, f"{context.device}/phrases") if context.device.isidentifier() else ()
    door = next((words for file in files if (words := table(file, lang).get("door"))), None)
    return f"{time_line}\n{phrase('written_at', lang, door=door)}" if door else time_line


def _earlier(speaker: Speaker, state: State) -> list[AnyMessage]:
    """Return the note on the messages that were cut from the beginning of a history."""
    summary = talk_of(state, speaker.name).get("summary")
    if summary is None:
        return []
    note = phrase("earlier", state["lang"], summary=summary or "-")
    return [SystemMessage(masked(note, state.get("aliases")))]


def _quoted(state: State) -> list[str]:
    """Return sentences for a model on the quotations beside a message; its files are told elsewhere."""
    return [
        phrase(f"quoted_{quoted['kind']}", state["lang"], by=quoted["by"] or "?", text=quoted["text"])
        for quoted in state["heard"].get("quoted", [])
        if quoted["kind"] not in SHOWN
    ]


async def with_dialog_lines(dialog: Speaker, context: Context, lang: str) -> Context:
    """Return the context of the turn, with the dialog's own lines for its model."""
    tell = dialog.context_lines
    return replace(context, lines=await tell(context, lang)) if tell else context


def heard_message(heard: UserMessage, talk: SpeakerState, lang: str) -> HumanMessage | None:
    """Return the user's message for a speaker's history; None if the user said nothing or the history has it."""
    has_heard = any(message.id == heard["id"] for message in reversed(talk.get("messages", [])))
    return None if has_heard or heard["text"] is None else human(heard, lang)


def human(heard: UserMessage, lang: str) -> HumanMessage:
    """Return the user's message as a history keeps it; `lang` is the language of the marks of files."""
    noted = notes(metadata=heard["metadata"]) if "metadata" in heard else {}
    if not is_own(heard):
        noted |= notes(passed_on=True)
    if any(part["kind"] in SHOWN for part in heard.get("quoted", [])):
        noted |= notes(marked=True)
    return HumanMessage(words_of(heard, lang), id=heard["id"], additional_kwargs=noted)


def with_contents(
    history: Sequence[AnyMessage], heard: UserMessage, contents: Contents, lang: str, turn: Sequence[str] = ()
) -> list[AnyMessage]:
    """Return a history in which the message of this turn has its files and the data of the turn.

    Histories keep only the marks of files.
    """
    parts = told(heard.get("quoted", []), contents, lang)
    if not parts and not contents.pictures and not turn:
        return [*history]
    shown = [*history]
    for place, message in enumerate(history):
        if message.id == heard["id"] and isinstance(message, HumanMessage):
            context = [*turn, *notes_of(message).get("context", []), *parts]
            shown[place] = with_notes(message, context=context, pictures=contents.pictures)
    return shown


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
