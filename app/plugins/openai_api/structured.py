"""Answers in a client's requested form (`response_format`): the turn itself gives a plain text.

In a last step the supervisor's model writes the text as JSON, which is checked against the client's schema.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agents.errors import ModelUnavailable
from agents.events import Event, ModelEnd
from agents.models.reply import Listener, reply
from agents.sources.child_process import output_of
from agents.state import SUPERVISOR
from agents.state.speaker_state import Json
from agents.toolkit.schema import Translation
from app.assistant import Assistant
from app.doors.http.exchange import HttpRefusal, unsupported
from app.plugins.openai_api import schema_check
from prompts import sentence

FIELD = "response_format"
TEXTS = "openai_api/phrases"
TRIES = 3
LONGEST_SCHEMA = 100_000
WRITE = "write_answer"
"""The tool with which a model writes the JSON."""
ANYTHING: Json = {"type": "object", "additionalProperties": {}}
Written = tuple[str, Sequence[ModelEnd]]
"""An answer as JSON, with the end events of its model calls."""


class BadSchema(Exception):
    """The schema is not valid, refers to another place, or takes too long."""


@dataclass(frozen=True)
class AnswerForm:
    """The form of an answer: a JSON schema of an object."""

    schema: Json
    translation: Translation

    async def written(self, assistant: Assistant, user: str, asked: str, lang: str, answer: str) -> Written:
        """Return the answer to a user's message `asked` as JSON.

        Raises:
            HttpRefusal: the model does not answer, or not in this form (503).
        """
        instruction = sentence(TEXTS, "answer_as_json", lang, tool=WRITE)
        in_words = sentence(TEXTS, "answer_in_words", lang, asked=asked, answer=answer)
        messages: list[AnyMessage] = [SystemMessage(instruction), HumanMessage(in_words)]
        about = {"name": WRITE, "description": "", "parameters": self.translation.schema}
        tools = [{"type": "function", "function": about}]
        events = list[Event]()
        try:
            async with assistant.counted(user) as note:

                def take(event: Event) -> None:
                    note(event)
                    events.append(event)

                for _ in range(TRIES):
                    message = await reply(assistant.leading, messages, tools, Listener(SUPERVISOR, take))
                    values = [self.translation.restored(call["args"]) for call in message.tool_calls[:1]]
                    faults = await faults_of(self.schema, *values) if values else [f"{WRITE} was not called"]
                    if not faults:
                        ends = [event for event in events if isinstance(event, ModelEnd)]
                        return json.dumps(values[0], ensure_ascii=False), ends
                    wrong = sentence(TEXTS, "answer_not_in_form", lang, faults="\n".join(faults), tool=WRITE)
                    messages = [*messages[:2], HumanMessage(wrong)]
        except ModelUnavailable:
            raise HttpRefusal(503, "The model does not answer.", "unavailable") from None
        except BadSchema as fault:
            raise unsupported(f"The schema cannot be checked: {fault}.", FIELD) from None
        raise HttpRefusal(503, "The model has not written its answer in this form.", "invalid_output", FIELD)


async def answer_form(field: object, assistant: Assistant) -> AnswerForm | None:
    """Return the requested form of an answer; None for plain text.

    Raises:
        HttpRefusal: there is no such form, its schema is not valid, or the supervisor's model reads no prompts (422).
    """
    form = field if isinstance(field, Mapping) else {}
    kind = form.get("type")
    if field is None or kind == "text":
        return None
    within = form.get("json_schema", form)
    schema = within.get("schema") if isinstance(within, Mapping) else None
    if kind not in ("json_object", "json_schema") or (kind == "json_schema" and not isinstance(schema, dict)):
        raise unsupported("An answer's form is text, json_object, or json_schema with a schema.", FIELD)
    if not assistant.reads:
        raise unsupported("The model that is set reads no prompts.", FIELD)
    wanted = schema if kind == "json_schema" and isinstance(schema, dict) else ANYTHING
    if len(json.dumps(wanted)) > LONGEST_SCHEMA:
        raise unsupported(f"A schema has up to {LONGEST_SCHEMA} characters.", FIELD)
    try:
        await faults_of(wanted)
    except BadSchema as fault:
        raise unsupported(f"The schema is not valid: {fault}.", FIELD) from None
    translation = Translation(wanted)
    if translation.fault:
        raise unsupported("The schema is not that of an object.", FIELD)
    return AnswerForm(wanted, translation)


async def faults_of(schema: object, *values: object) -> list[str]:
    """Return the faults of a value, each with its place; without a value, only the schema is checked.

    Raises:
        BadSchema: the schema cannot check anything.
    """
    command, body = (sys.executable, "-P", schema_check.__file__), json.dumps([schema, *values]).encode()
    try:
        status, answer = await output_of(*command, body=body, seconds=schema_check.SECONDS)
    except TimeoutError:
        raise BadSchema("it takes too long") from None
    if status:
        raise BadSchema(answer.decode() or "it cannot be read")
    return list(json.loads(answer))
