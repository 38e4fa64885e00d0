"""Chat completions: any client of this form talks to the assistant as to a model; this module reads its requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, HTTPException, Response
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from pydantic import Field

from agents.errors import ModelUnavailable
from agents.events import Event, Message, ModelEnd
from agents.models.reply import Listener, reply
from agents.state import SUPERVISOR
from agents.state.person import FORWARDED, RESULT
from agents.toolkit.client_tools import written_results
from agents.toolkit.services import Takeover
from app.assistant import Turn
from app.assistant.pictures import MOST_PICTURES
from app.assistant.turn import Exchange
from app.doors.http import exchange
from app.doors.http.answers import Answer
from app.doors.http.client_tools import bounded_results, described_tools
from app.doors.http.delivery import streamed, whole
from app.doors.http.exchange import BETWEEN
from app.doors.http.histories import Histories
from app.doors.http.uploads import Upload, decoded, with_uploads
from app.plugins.openai_api.form import Bounds, CallId, OrOne, Sent, SentCall, refuse_undone, said_and_called
from app.plugins.openai_api.front_ends import ForWhom, FrontEndUser, unwrapped
from app.plugins.openai_api.reply import MODEL, Reply
from app.plugins.openai_api.structured import FIELD, TEXTS, answer_form
from app.security.api_keys import Key
from prompts import FALLBACK, sentence

HELPER = "dialog-supervisor-helper"
"""The name of the supervisor's bare model: for the titles, tags and queries of a front end itself."""
PARTS = ("text", "image_url")
"""The readable kinds of a message's parts."""


class PictureAddress(Sent):
    """The address of a picture."""

    main = "url"
    url: str = ""


class Part(Sent):
    """A part of a message: text, or a picture as a `data:` address."""

    main = "text"
    type: str = "text"
    text: str = ""
    image_url: PictureAddress | None = None


Content = str | list[Part]


class ChatMessage(Sent):
    """A message in the client's history."""

    role: Annotated[str, Field(max_length=40)]
    content: Content = ""
    tool_calls: list[SentCall] | None = None
    tool_call_id: CallId = ""

    @property
    def answer(self) -> str:
        """The text and the calls of an assistant's message."""
        return said_and_called(self.text, self.tool_calls or [])

    @property
    def parts(self) -> list[Part]:
        """The parts of the message."""
        return [Part(text=self.content)] if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """The text of the message."""
        return "".join(part.text for part in self.parts)

    @property
    def pictures(self) -> list[Upload]:
        """The pictures beside the text; a picture at an address outside the message has no content."""
        shown = [part.image_url for part in self.parts if part.image_url or part.type == "image_url"]
        addresses = [(picture.url if picture else "").partition(";base64,") for picture in shown]
        contents = [decoded(data) if head.startswith("data:image/") else b"" for head, _, data in addresses]
        return [Upload(content, kind="photo") for content in contents]


Stops = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=4), OrOne]
Limit = Annotated[int, Field(ge=1)]


class Completion(Sent):
    """A request; `form.py` refuses or ignores the client's other fields."""

    model: Annotated[str, Field(max_length=exchange.LONGEST_NAME)]
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    tools: list[dict[str, Any]] | None = None
    parallel_tool_calls: bool | None = None
    stream: bool = False
    stream_options: Mapping[str, bool] | None = None
    stop: Stops = Field(default_factory=list)
    max_tokens: Limit | None = None
    max_completion_tokens: Limit | None = None
    user: Annotated[exchange.Name | None, exchange.SentName] = None

    @property
    def bounds(self) -> Bounds:
        """The bounds of its answer: stop sequences, and the most tokens."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit]
        return Bounds([*filter(None, self.stop)], min(limits, default=None))


ThreadId = Annotated[
    str | None,
    Header(alias="X-Thread-Id", max_length=exchange.LONGEST_NAME, pattern=exchange.PRINTABLE),
    exchange.SentName,
]
router = APIRouter(
    prefix="/v1",
    responses=exchange.FAULTS,
    dependencies=[exchange.allowed("talk")],
    route_class=exchange.HistoryRoute,
)


@router.get("/models")
async def models() -> dict[str, Any]:
    """List the assistant, and the supervisor's bare model."""
    return {"object": "list", "data": [await model(MODEL), await model(HELPER)]}


@router.get("/models/{id}")
async def model(id: exchange.PathName) -> dict[str, Any]:
    """Return one of the two models."""
    _require(id)
    return {"id": id, "object": "model", "created": 0, "owned_by": MODEL}


def _require(model: str) -> None:
    if model not in (MODEL, HELPER):
        there_are = f"there are {MODEL} and {HELPER}"
        raise exchange.HttpRefusal(404, f"There is no model {model!r}; {there_are}.", "model_not_found", "model")


@dataclass
class Talking:
    """A request in OpenAI's form, with its caller and the parts for its answer."""

    key: exchange.Caller
    assistant: exchange.Served
    answers: exchange.Running
    reader: exchange.Reader
    for_whom: ForWhom
    thread: ThreadId = None
    idempotency_key: exchange.IdempotencyKey = None

    async def reply(self, body: Completion, behind: str | None = None) -> tuple[Reply, dict[str, str]]:
        """Return the answer to the last message of a user, with its headers.

        The message follows the response `behind`, else the client's messages before it.

        Raises:
            HTTPException: the request has an unsupported field, or there is no such model or response.
            Busy: the process takes no further turn now.
        """
        _require(body.model)
        others = body.model_extra or {}
        refuse_undone(others)
        choice, alone = others.get("tool_choice"), body.parallel_tool_calls is False
        tools = described_tools(body.tools or [], choice, alone=alone)
        spoken = [message for message in body.messages if message.role in ("user", "assistant", "tool")]
        if not spoken or spoken[-1].role == "assistant":
            raise exchange.unsupported(exchange.LAST_IS_USERS, "messages")
        last = spoken[-1]
        if unread := {part.type for part in last.parts} - {*PARTS}:
            message = f"Parts of these kinds are not read: {', '.join(sorted(unread))}; these are: {', '.join(PARTS)}."
            raise exchange.unsupported(message, "messages")
        if last.role == "user" and not last.text.strip() and not last.pictures:
            raise exchange.HttpRefusal(422, exchange.EMPTY, "invalid", "messages")
        user = self.key.user(self.for_whom.user or body.user)
        if body.model == HELPER:
            return await self._helped(body, user or f"http:{self.key.name}"), {}
        form = await answer_form(others.get(FIELD), self.assistant)
        *history, heard = exchanges(spoken)
        words, foreign = (heard.text or "", "") if heard.source == RESULT else unwrapped(last.text)
        is_typed = bool(words.strip()) or not foreign
        # A message that nobody typed begins no chat: it is a front end's own call, about a chat.
        named = _chat(self.for_whom, self.key) if is_typed or history else None
        chat = self.key.inside(self.thread) if self.thread else named
        histories = Histories(self.assistant, self.key, user, chat, resends=not self.thread)
        place = await histories.place(history, heard, self.idempotency_key, behind)
        beside = [Upload(foreign.encode("utf-8", "replace"), "context.txt", "file")] if is_typed and foreign else []
        text, source = (words, heard.source) if is_typed else (foreign, FORWARDED)
        turn = place.turn(text, source=source, user=user, device=exchange.DEVICE, rings=False, tools=tools)
        reading = await with_uploads(self.reader, turn, [*last.pictures[:MOST_PICTURES], *beside], FALLBACK)
        answer = await self.answers.to(reading.turn, self.key.holder) if reading.turn else Answer.over(turn)
        # A person's new messages reach such a client only here; they count as shown.
        takeover = self.assistant.services.find(Takeover)
        unshown = await takeover.unshown(turn.thread) if takeover else []
        remarks = BETWEEN.join([*unshown, *reading.remarks])
        lang = (await self.assistant.state(turn.thread) or {}).get("lang") or FALLBACK
        keep = partial(histories.keep, place, history, heard)
        write = partial(form.written, self.assistant, turn.owner, text, lang) if form else None
        reply = Reply(answer, remarks, lang, keep, body.bounds, id=place.id, write=write)
        return reply, {"X-Thread-Id": self.key.outside(turn.thread) or ""}

    async def _helped(self, body: Completion, user: str) -> Reply:
        """Return an answer by the supervisor's bare model, outside all threads; it counts as a message of a user.

        Raises:
            HTTPException: the text is too long, or the model reads no prompts (422), too much was sent (429), or the
                model does not answer (503).
        """
        turn = Turn(thread="", text=BETWEEN.join(each.text for each in body.messages), user=user)
        self.answers.admit(turn, self.key.holder)
        if not self.assistant.reads:
            raise exchange.unsupported("The model that is set reads no prompts.", "model")
        if self.assistant.is_too_long(turn):
            raise HTTPException(422, "The text is too long.")
        if self.assistant.refuses(turn):
            raise HTTPException(429, "Too many messages were sent; come again later.")
        events, messages = list[Event](), list[AnyMessage]([SystemMessage(sentence(TEXTS, "chore", FALLBACK))])
        for is_own, group in groupby(body.messages, lambda message: message.role == "assistant"):
            # A client's system message is foreign text like any other.
            text = BETWEEN.join(message.text for message in group)
            messages.append(AIMessage(text) if is_own else HumanMessage(text))
        try:
            async with self.assistant.counted(user) as note:

                def take(event: Event) -> None:
                    note(event)
                    events.append(event)

                answer = await reply(self.assistant.leading, messages, [], Listener(SUPERVISOR, take))
        except ModelUnavailable:
            raise HTTPException(503, "The model does not answer.") from None
        model_ends = [event for event in events if isinstance(event, ModelEnd)]
        message = Message(speaker=SUPERVISOR, text=str(answer.text))
        return Reply(Answer.over(turn, [*model_ends, message]), bounds=body.bounds, model=HELPER)


@router.post("/chat/completions", responses=exchange.STREAMED)
async def complete(body: Completion, talking: Annotated[Talking, Depends()]) -> Response:
    """Answer the last message of a user, behind the client's messages before it."""
    reply, headers = await talking.reply(body)
    if body.stream:
        with_usage = (body.stream_options or {}).get("include_usage", False)
        return streamed(reply.stream(with_usage=with_usage), headers)
    return whole(reply.total(), headers)


def _chat(for_whom: FrontEndUser, key: Key) -> str | None:
    """Return the thread of a front end's chat; each user has threads of their own."""
    owner = f"{quote(for_whom.user, safe='')}/" if for_whom.user else ""
    return key.inside(owner + for_whom.chat) if for_whom.chat else None


def exchanges(messages: Sequence[ChatMessage]) -> list[Exchange]:
    """Return messages as exchanges: a user's text, and the answer to it."""
    history, calls = list[Exchange](), list[str]()
    for role, group in groupby(messages, lambda message: message.role):
        together = [*group]
        if role == "tool":
            results = bounded_results([(message.tool_call_id, message.text) for message in together], calls)
            history.append(Exchange(written_results(results), "", RESULT))
        elif role == "user":
            history += [Exchange(unwrapped(message.text)[0] or message.text, "") for message in together]
        else:
            history = history or [Exchange(None, "")]
            answer = BETWEEN.join(filter(None, (message.answer for message in together)))
            history[-1] = replace(history[-1], answer=answer)
        calls = [call.id for message in together for call in message.tool_calls or ()]
    return history
