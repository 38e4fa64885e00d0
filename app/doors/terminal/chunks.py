"""Show a turn as chunks of a chat completion, for clients that read that form."""

from typing import Any, TextIO

from agents.events import RETRY, Error, Event, Images, Message, PrivateMessage, Sources
from agents.language.text.clean import safe_json
from app.doors.visit import Screen


class Chunks(Screen):
    """Write a chunk a line: `{"choices": [{"message": {…}}]}`; the turn's last one has `finish_reason`.

    A message holds `content`, with `citations` where it has some, or `inline_data` with `sources` or `images`.
    Messages are whole, since a chunk cannot take back what was sent.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event) -> None:
        """Write the chunk of an event, if it has one."""
        match event:
            case Message(text=text) | PrivateMessage(text=text):
                plain = event.plain()
                cited = {"citations": plain["citations"]} if plain.get("citations") else {}
                self._write({"message": {"content": text, **cited}})
            case Sources():
                self._write({"message": {"inline_data": {"sources": event.plain()["sources"]}}})
            case Images():
                self._write({"message": {"inline_data": {"images": event.plain()["images"]}}})
            case Error(code=code, text=text) if code != RETRY:
                self._write({"message": {"content": text}})

    def close(self) -> None:
        """Write the last chunk of the turn."""
        self._write({"message": {}, "finish_reason": "stop"})

    def _write(self, choice: dict[str, Any]) -> None:
        self._stream.write(safe_json({"choices": [choice]}) + "\n")
        self._stream.flush()
