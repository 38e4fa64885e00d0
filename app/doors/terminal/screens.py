"""Screens for events: JSON lines or chunks for a script, plain text for a pipe."""

from typing import TextIO

from agents import events
from agents.events.views import Notice
from agents.language.text.clean import clean, safe_json
from app.doors.visit import Screen
from app.presentation.inline_data import inline_data
from app.presentation.texts import gallery, say, with_list


class JsonLines(Screen):
    """Shows every event as one JSON object a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: events.Event) -> None:
        """Write the event."""
        self._write(event.plain())

    def _write(self, value: object) -> None:
        self._stream.write(safe_json(value) + "\n")
        self._stream.flush()


class Chunks(JsonLines):
    """Shows a turn as chunks of a chat completion: `{"choices": [{"message": {…}}]}`, the last with `finish_reason`.

    A message holds `content`, with `citations` where it has some, or `inline_data` with `sources` or `images`.
    Messages are whole, since a chunk cannot take a sent piece back.
    """

    def show(self, event: events.Event) -> None:
        """Write the chunk of an event, if it has one."""
        match event:
            case events.Message(text=text) | events.PrivateMessage(text=text):
                plain = event.plain()
                cited = {"citations": plain["citations"]} if plain.get("citations") else {}
                self._write({"choices": [{"message": {"content": text, **cited}}]})
            case events.Sources() | events.Images():
                self._write({"choices": [{"message": {"inline_data": inline_data(event)}}]})
            case events.Error(code=code, text=text) if code != events.RETRY:
                self._write({"choices": [{"message": {"content": text}}]})

    def close(self) -> None:
        """Write the last chunk of the turn."""
        self._write({"choices": [{"message": {}, "finish_reason": "stop"}]})


class PlainText(Screen):
    """Shows the assistant's messages on one stream, and remarks about them on another."""

    def __init__(self, answers: TextIO, remarks: TextIO, lang: str) -> None:
        self._answers, self._remarks, self._lang, self._question = answers, remarks, lang, ""

    def show(self, event: events.Event) -> None:
        """Write a message, a view, or a remark on an error."""
        match event:
            case events.Message(text=text, interrupted=interrupted):
                self._write(self._answers, with_list(text, event.citations))
                if interrupted:
                    self._write(self._remarks, f"⏹ {say('stopped', self._lang)}")
            case events.PrivateMessage(text=text):
                self._write(self._answers, text)
            case events.Images(images=images):
                self._write(self._answers, gallery(images, say("images", self._lang)).text())
            case Notice(message=text):
                self._write(self._remarks, text)
            case events.Interrupt(id=id):
                self._question = f"(--question {id})"
            case events.TurnEnd(held_by=person) if person:
                self._write(self._remarks, say("held", self._lang, name=person))
            case events.TurnEnd(waiting=True):
                self._write(self._remarks, self._question)
            case events.Error(code=code, text=text) if code != events.RETRY:
                self._write(self._remarks, text)

    def _write(self, stream: TextIO, text: str) -> None:
        if text:
            stream.write(clean(text).rstrip("\n") + "\n")
            stream.flush()
