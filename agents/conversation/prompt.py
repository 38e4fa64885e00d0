"""Compose what a speaker's model reads: its role, its history, the closing instruction.

The role and the tools are constant and the history only grows, so each prompt begins like the one
before it and a provider's prefix cache serves most of it. All that changes stands at the end.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.context import Context
from agents.conversation.handover import title
from agents.conversation.heard import heard_so_far
from agents.conversation.scene import described, scene
from agents.conversation.screen import worded
from agents.identifiers import shown
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, State, Talk
from agents.toolkit.bound_tools import bound_tools
from agents.toolkit.card_texts import examples_of, texts_of
from agents.toolkit.handover_tools import missing
from agents.toolkit.result import schema_of
from agents.toolkit.shelf import Shelf, at_hand, shown_in
from agents.toolkit.signature import notation
from agents.toolkit.traits import traits_of
from prompts import phrase, prompt

ENOUGH = 6
"""Supersteps for another round of tools and the answer to it, with observers behind it."""


class Prompting:
    """The prompts and bound tools of every speaker, worked out once per language."""

    def __init__(self, speakers: Speakers, shelves: Mapping[str, Shelf] | None = None) -> None:
        self.speakers, self.shelves = speakers, shelves or {}
        self._roles: dict[tuple[str, str], str] = {}
        self._tools: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def messages(self, speaker: Speaker, state: State, context: Context) -> list[AnyMessage]:
        """Return the prompt for the next model call of a speaker."""
        talk = state.get("talks", {}).get(speaker.name, {})
        summary = phrase("summed_up", state["lang"], summary=talk["summary"]) if talk.get("summary") else ""
        role = SystemMessage(f"{self.role(speaker, state['lang'])}\n\n{summary}".strip())
        return [role, *heard_so_far(speaker, state), self.closing(speaker, state, context)]

    def role(self, speaker: Speaker, lang: str) -> str:
        """Return a speaker's system prompt: who it is, and whom and what it can turn to."""
        key = (speaker.name, lang)
        if key not in self._roles:
            self._roles[key] = self._role(speaker, lang)
        return self._roles[key]

    def tools(self, speaker: Speaker, lang: str) -> list[dict[str, Any]]:
        """Return the tools bound to a speaker's model, described in `lang`; always the same list."""
        key = (speaker.name, lang)
        if key not in self._tools:
            tools = bound_tools(speaker, self.speakers, self.shelves.get(speaker.name))
            self._tools[key] = [_described(tool, lang) for tool in tools]
        return self._tools[key]

    def picked(self, speaker: Speaker, state: State) -> list[dict[str, Any]]:
        """Return the tools bound for this message alone: those that fit, where a shelf's tools are bound."""
        shelf = self.shelves.get(speaker.name)
        if shelf is None or shelf.mode != "bind":
            return []
        return [_described(tool, state["lang"]) for tool in shelf.fitting(state, heard_so_far(speaker, state))]

    def closing(self, speaker: Speaker, state: State, context: Context) -> SystemMessage:
        """Return the last message: what to do now, and all that changes from turn to turn."""
        talk = state.get("talks", {}).get(speaker.name, {})
        opening = state["heard"]["text"] is None and not talk.get("messages")
        now = datetime.now(context.zone).strftime("%A %Y-%m-%d %H:%M %Z")
        now = f"{now}, {context.device}" if context.device else now
        parts = []
        if speaker.form:
            values = talk.get("form") or {}
            gaps = missing(speaker.form, values)
            known = json.dumps(values, ensure_ascii=False, sort_keys=True)
            parts.append(prompt("form", state["lang"], known=known, missing=", ".join(gaps) or "-"))
        if speaker.is_supervisor and opening:
            parts.append(prompt("opening", state["lang"]))
        if state.get("undone"):
            parts.append(phrase("undone", state["lang"]))
        if state.get("wishes") and not speaker.is_supervisor:
            parts.append(phrase("another_wish", state["lang"]))
        if state.get("remaining_steps", ENOUGH) < ENOUGH:
            parts.append(phrase("last_reply", state["lang"]))
        if screen := state.get("screen"):
            parts.append(phrase("on_screen", state["lang"], screen=worded(screen)))
        parts.append(prompt("closing" if speaker.is_supervisor else "dialog_closing", state["lang"], now=now))
        return SystemMessage("\n".join(parts), additional_kwargs={"scene": self._scene(speaker, state, talk)})

    def _role(self, speaker: Speaker, lang: str) -> str:
        if not speaker.is_supervisor:
            return f"{prompt(f'dialogs/{speaker.name}', lang)}\n\n{prompt('dialog', lang)}"
        helpers = {dialog.tool: described(dialog, lang) for dialog in self.speakers.dialogs.values()}
        tools = {tool.name: texts_of(tool, lang)[0] for tool in at_hand(speaker)}
        return prompt("supervisor", lang, helpers=_listed(helpers), tools=_listed(tools))

    def sight(self, observer: str, state: State) -> dict[str, Any]:
        """Say what an observer's prompt says, as data, for a model that does not read prose (`local:rules`)."""
        moment = scene(self.speakers, self.speakers[state["dialog"] or SUPERVISOR], state)
        seen = {"observer": observer, "text": moment.text, "reply": moment.reply, "dialog": moment.dialog}
        form = {"form": dict(moment.form), "missing": list(moment.missing)}
        return {**self._surroundings(state["lang"]), "role": "observer", **seen, **form}

    def _scene(self, speaker: Speaker, state: State, talk: Talk) -> dict[str, Any]:
        """Say what the closing instruction says, as data, likewise."""
        values = talk.get("form") or {}
        return {
            **self._surroundings(state["lang"]),
            "role": speaker.name,
            "form": values if speaker.form else None,
            "fields": list(speaker.form.model_fields) if speaker.form else [],
            "missing": missing(speaker.form, values) if speaker.form else [],
            "opening": state["heard"]["text"] is None,
            "undone": bool(state.get("undone")),
            "wishes": bool(state.get("wishes")),
            "shelf": self._offered(speaker, state, talk),
            "screen": [list(shown["lines"]) for shown in state.get("screen", [])],
        }

    def _offered(self, speaker: Speaker, state: State, talk: Talk) -> list[dict[str, Any]]:
        shelf = self.shelves.get(speaker.name)
        shown = sorted(shown_in(talk.get("messages", []))) if shelf else []
        return [_described(shelf.tools[name], state["lang"]) for name in shown if shelf and name in shelf.tools]

    def _surroundings(self, lang: str) -> dict[str, Any]:
        helpers = {
            dialog.tool: {
                "dialog": dialog.name,
                "title": title(dialog, lang),
                "tools": [tool.name for tool in dialog.tools],
                "form": dialog.name if dialog.form else None,
            }
            for dialog in self.speakers.dialogs.values()
        }
        everyone = [self.speakers.supervisor, *self.speakers.dialogs.values()]
        own = {tool.name: examples_of(tool, lang) for one in everyone for tool in one.tools}
        return {
            "lang": lang,
            "helpers": helpers,
            "tools": [tool.name for tool in self.speakers.supervisor.tools],
            "examples": {name: examples for name, examples in own.items() if examples},
        }


def _described(tool: BaseTool, lang: str) -> dict[str, Any]:
    schema = convert_to_openai_tool(tool)
    function = schema["function"]
    function["parameters"] = shown(function.get("parameters", {}), given=True)
    function["description"] = texts_of(tool, lang)[0]
    if back := schema_of(traits_of(tool).result):
        function["description"] += f"\n{phrase('tool_returns', lang, result=notation(back))}"
    return schema


def _listed(descriptions: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text.splitlines()[0]}" for name, text in descriptions.items())
