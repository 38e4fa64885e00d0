"""How far an answer has come: the tools at work and the text so far, as one page that is shown before the message."""

import asyncio

from telegram import MessageEntity

from agents.events import REBUILT, RETRY, Error, Event, Message, PrivateMessage, Token, ToolEnd, ToolStart
from agents.events.models import ModelStart
from agents.events.views import View
from agents.language.text.clean import clean
from app.doors.telegram.delivery.pages import LIMIT, Page, pages, utf16_length
from prompts import sentence, table

MOST_STEPS = 3
"""Calls of tools that are shown, the latest."""
AT_WORK, DONE, FAILED = "⏳", "✓", "✗"
SLOW_AFTER = 20.0
"""Seconds without anything new after which the user is told that it takes longer."""


class Progress:
    """Collect what can be shown of an answer from the events of its turn."""

    def __init__(self) -> None:
        self.text = ""
        self._steps: dict[str, tuple[str, str, str]] = {}
        """By call, its sign, its tool and who called it."""
        self._is_answered = False
        self._news_at = _now()

    def note(self, event: Event) -> None:
        """Take the next event. What was said in full is no longer in progress."""
        if isinstance(event, Token | ToolStart | ToolEnd | Message):
            self._news_at = _now()
        match event:
            case Token(text=text):
                self.text += text
            case ToolStart(id=id, tool=tool, speaker=speaker):
                self._steps[id or tool] = (AT_WORK, tool, speaker)
            case ToolEnd(id=id, tool=tool, speaker=speaker, ok=ok):
                self._steps[id or tool] = (DONE if ok else FAILED, tool, speaker)
            case ModelStart():
                self.text = ""
            case Error(code=code) if code == RETRY:
                self.text = ""
            case Error(code=code) if code == REBUILT:
                pass
            case Message() | PrivateMessage() | View() | Error():
                self.text, self._is_answered = "", True
                self._steps.clear()

    @property
    def is_shown(self) -> bool:
        """Whether there is something to show. After an answer nobody is told that one is being thought of."""
        return bool(self.text.strip() or self._steps or not self._is_answered)

    @property
    def is_slow(self) -> bool:
        """Whether there was nothing new for so long that the user is told."""
        return _now() - self._news_at >= SLOW_AFTER

    def page(self, lang: str) -> Page:
        """Return the page: steps, then the text so far; without any, an empty one. Of a long text it has the end."""
        steps = self._lines(lang)
        text = pages(self.text)
        shown = text[-1] if text else Page("")
        if not steps:
            return shown
        if not shown.text:
            return Page(steps)
        both, entities = MessageEntity.concatenate((f"{steps}\n\n", ()), (shown.text, shown.entities))
        return Page(both, tuple(entities)) if utf16_length(both) <= LIMIT else shown

    def _lines(self, lang: str) -> str:
        lines = [
            f"{sign} {_title(tool, speaker, lang)}" for sign, tool, speaker in [*self._steps.values()][-MOST_STEPS:]
        ]
        if lang and self.is_slow:
            lines.append(sentence("telegram", "slow", lang))
        return "\n".join(lines)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _title(tool: str, speaker: str, lang: str) -> str:
    """Return what a tool does, for people; a tool without such words has its name."""
    titles = (table(file, lang).get("titles", {}).get(tool) for file in (f"{speaker}/confirm", "confirm"))
    title = next(filter(None, titles), None)
    return clean(str(title or tool.replace("_", " ").capitalize()))
