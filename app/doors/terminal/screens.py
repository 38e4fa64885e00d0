"""Screens for events: JSON lines for a script, plain text for a pipe."""

from typing import TextIO

from agents import events
from agents.events.views import Notice
from agents.language.text.clean import clean, safe_json
from app.doors.visit import Screen
from app.presentation.texts import gallery, say, with_list


class JsonLines(Screen):
    """Shows every event as one JSON object a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: events.Event) -> None:
        """Write the event."""
        self._stream.write(safe_json(event.plain()) + "\n")
        self._stream.flush()


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
