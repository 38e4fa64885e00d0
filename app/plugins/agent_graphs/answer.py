"""The answer of a run of an agent graph, as the text that the user reads.

A foreign answer is checked like our own: marks of a chat template, thinking and calls in text are removed. Values that
a graph returns in place of text are written as lines.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages

from agents.errors import GarbledReply
from agents.models.answer import answer_in
from agents.models.text_calls import Offer
from agents.toolkit.questions.options import yes_or_no
from agents.toolkit.result import jsonable

STRUCTURED = "structured_response"
"""The key of the structured output that LangChain's agents write for `response_format`."""
HEARD = "heard-"
"""The beginning of the id of a message from the conversation; the other messages are the graph's own."""


class RunAnswer:
    """The answer in the values with which a run has ended.

    `values` is the state, or the value from a function (`entrypoint`). `outputs` are the graph's own keys of its
    output. `inner` is the structured output of a graph within it. `ran` are the ids of the calls that tools have run.
    """

    def __init__(
        self, values: object, offer: Offer, lang: str, *, outputs: Sequence[str], inner: object, ran: Sequence[str]
    ) -> None:
        self._state: Mapping[str, object] = values if isinstance(values, Mapping) else {}
        self._values, self._offer, self._lang = values, offer, lang
        self._outputs, self._inner, self._ran = outputs, inner, ran
        self.said = [message for message in self._messages() if not (message.id or "").startswith(HEARD)]
        """The messages of this run."""

    def text(self) -> str:
        """Return the last text of the run; empty if there is none.

        Raises:
            GarbledReply: the run's messages hold no readable text.
        """
        texts = filter(str.strip, self._texts())
        if text := next(texts, ""):
            return text
        if any(isinstance(message, AIMessage | ToolMessage) for message in self.said):
            raise GarbledReply("it says nothing")
        return ""

    def _messages(self) -> list[BaseMessage]:
        """Return the messages of the state, or a function's value if it is a message, or a list of them."""
        values = self._state.get("messages", []) if self._state else self._values
        values = values if isinstance(values, list) else [values] if isinstance(values, BaseMessage | tuple) else []
        try:
            return convert_to_messages(values)
        except (ValueError, NotImplementedError):
            return []

    def _texts(self) -> Iterator[str]:
        """Yield the candidates for the answer, the likeliest first."""
        if (structured := self._state.get(STRUCTURED)) is not None:
            beside = next((message for message in reversed(self.said) if isinstance(message, AIMessage)), None)
            words = "" if beside is None or _json(beside.text) is not None else self._words(beside.text)
            yield "\n\n".join(filter(None, (words.strip(), self._lines(structured))))
        is_last = True
        for message in reversed(self.said):
            if isinstance(message, AIMessage):
                values = _json(message.text) if self._inner is not None else None
                yield self._words(message.text) if values is None else self._lines(values)
                is_last = False
            elif isinstance(message, ToolMessage) and is_last and message.status == "success":
                yield self._result(message)
        outputs = {key: self._state[key] for key in self._outputs if self._state.get(key) is not None}
        yield self._lines(next(iter(outputs.values())) if len(outputs) == 1 else outputs)
        if "messages" not in self._state and not self.said:
            yield self._lines(self._values)

    def _result(self, message: ToolMessage) -> str:
        """Return the result of the tool that ended the graph; where structured output exists, only its values."""
        if self._inner is not None and message.tool_call_id not in self._ran:
            return self._lines(self._inner)
        values = _json(message.text)
        return self._words(message.text) if values is None else self._lines(values)

    def _words(self, text: str) -> str:
        """Return the answer in a text; empty if it holds none."""
        try:
            return answer_in(text, self._offer)
        except GarbledReply:
            return ""

    def _lines(self, values: object) -> str:
        """Return values as lines of names and values; empty if they hold nothing readable."""
        try:
            lines = [*self._listed(jsonable(values))]
        except ValueError:
            return ""
        return self._words("\n".join(lines if len(lines) > 1 else [line.removeprefix("- ") for line in lines]))

    def _listed(self, value: object) -> Iterator[str]:
        pairs: list[tuple[str, object]] = []
        if isinstance(value, dict):
            pairs = [(f"{str(name).replace('_', ' ').strip()}:", it) for name, it in value.items()]
        elif isinstance(value, list):
            pairs = [("", it) for it in value]
        elif value not in (None, ""):
            yield self._scalar(value)
        for name, it in pairs:
            inner = [*self._listed(it)]
            if inner and not isinstance(it, dict | list):
                first, *more = inner[0].splitlines() or [""]
                yield f"- {name} {first}".replace("-  ", "- ")
                yield from (f"  {line}" for line in more)
            elif inner:
                yield f"- {name}".rstrip() if name else f"- {inner.pop(0).removeprefix('- ')}"
                yield from (f"  {line}" for line in inner)

    def _scalar(self, value: object) -> str:
        if isinstance(value, bool):
            yes, no = (str(answer["label"]) for answer in yes_or_no(self._lang))
            return yes if value else no
        return str(value)


def _json(text: str) -> Any:
    """Read a text as a JSON object or list; return None for any other text."""
    if not text.strip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None
