"""Questions as buttons: one for each option or link, and the answer of a tap on it."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, KeyboardButton, ReplyKeyboardMarkup, WebAppInfo

from agents.events import Interrupt
from agents.events.views import is_web
from agents.toolkit.questions.options import CONFIRM, naming
from app.plugins.telegram.phrases import say
from app.presentation.texts import one_line

SIGN = "="
OF = " @"
"""The text between a command and its owner in the data of a button."""
RETRY_COMMAND = "/retry"
LONGEST_LABEL = 40
"""The most characters of a label on a button; a longer one is cut, the message has all of it."""
MOST_LABELS = 10
"""The most options without pages."""
IN_A_PAGE = 8
CANCEL, OTHER, PAGE = "x", "o", "p"
"""A button's data in place of an option's place: leave the question, answer in words, show a page (with number)."""
DATA = re.compile(rf"{SIGN}([^:]*):(\d{{1,3}}|{PAGE}\d{{1,3}}|{OTHER}|{CANCEL}):([^:]*)")
COMMANDS = {"continue": "/go", "retry": RETRY_COMMAND, "stop": "/stop"}
"""The commands of the buttons below an answer, by the names of their labels."""


@dataclass(frozen=True)
class Tap:
    """The data of a tapped button: the mark of its question, the choice, and the asked user."""

    mark: str
    choice: str
    """The place of an option, or `CANCEL`, `OTHER`, `PAGE` with a number."""
    asked: str

    def __str__(self) -> str:
        return f"{SIGN}{self.mark}:{self.choice}:{self.asked}"

    @classmethod
    def read(cls, data: str) -> Self | None:
        """Return the tap for the data of a button; None if the button belongs to no question."""
        parts = DATA.fullmatch(data)
        return cls(*parts.groups()) if parts else None

    @property
    def page(self) -> int | None:
        """The chosen page of options, from 0; None if the tap is an answer."""
        return int(self.choice.removeprefix(PAGE)) if self.choice.startswith(PAGE) else None

    def says(self, question: Interrupt, lang: str) -> str | None:
        """Return the user's words for the tap; None if the question has no such button."""
        if self.choice == CANCEL:
            return say("never_mind", lang)
        if not self.choice.isdecimal():
            return None
        if question.options:
            place = int(self.choice)
            return naming(place, question.options, lang) if place < len(question.options) else None
        return say("done", lang) if _is_done_said(question) else None


def keyboard(question: Interrupt, user: str, lang: str, page: int = 0) -> InlineKeyboardMarkup | None:
    """Return the buttons of a question to a user. A long list of options comes in pages; a form has no buttons."""

    def button(label: str, choice: object) -> InlineKeyboardButton:
        return InlineKeyboardButton(label, callback_data=str(Tap(question.id, str(choice), user)))

    other = button(say("other", lang), OTHER)
    cancel = button(say("leave", lang), CANCEL)
    if question.options and question.kind == CONFIRM:
        # Yes and no fit side by side, and need no numbers.
        labels = [option["label"].capitalize() for option in question.options]
        return InlineKeyboardMarkup.from_row([button(label, place) for place, label in enumerate(labels)])
    if question.options:
        shown, turns = _shown(len(question.options), page)
        numbered = {place: f"{place + 1}. {question.options[place]['label']}" for place in shown}
        rows = [[button(one_line(label, LONGEST_LABEL), place)] for place, label in numbered.items()]
        turning = [button(label, f"{PAGE}{number}") for label, number in turns]
        return InlineKeyboardMarkup([*rows, *([turning] if turning else []), [other, cancel]])
    if question.url:
        done = [button(say("done", lang), 0)] if _is_done_said(question) else []
        return InlineKeyboardMarkup([*link_buttons(question.url, lang), [*done, cancel]])
    return None


def web_app_keyboard(question: Interrupt, lang: str) -> ReplyKeyboardMarkup:
    """Return the button that opens a web app; only one below a private chat lets a web app send its value."""
    button = KeyboardButton(_open_label(question.url, lang), web_app=WebAppInfo(question.url))
    return ReplyKeyboardMarkup.from_button(button, resize_keyboard=True, one_time_keyboard=True)


def command_buttons(owner: str, lang: str, *names: str) -> InlineKeyboardMarkup:
    """Return buttons that send commands of their owner, for a running, cut or failed answer."""
    row = [InlineKeyboardButton(say(name, lang), callback_data=f"{COMMANDS[name]}{OF}{owner}") for name in names]
    return InlineKeyboardMarkup([row])


def link_buttons(url: str, lang: str) -> list[list[InlineKeyboardButton]]:
    """Return a row with a button that opens a page and names its site; no rows for another address."""
    return [[InlineKeyboardButton(_open_label(url, lang), url=url)]] if is_web(url) else []


def without_links(markup: InlineKeyboardMarkup | ReplyKeyboardMarkup) -> InlineKeyboardMarkup | None:
    """Return the buttons without those that only open a page."""
    if isinstance(markup, ReplyKeyboardMarkup):
        return None
    rows = [[button for button in row if button.callback_data] for row in markup.inline_keyboard]
    return InlineKeyboardMarkup([row for row in rows if row]) if any(rows) else None


def _is_done_said(question: Interrupt) -> bool:
    # The page hands back no value, and there is nothing to fill in.
    return not question.back and not question.fields


def _open_label(url: str, lang: str) -> str:
    return f"{say('open', lang)}: {urlsplit(url).netloc}"[: 2 * LONGEST_LABEL]


def _shown(count: int, page: int) -> tuple[range, list[tuple[str, int]]]:
    """Return the places of a page's options, and the labels and numbers of the pages beside it."""
    if count <= MOST_LABELS:
        return range(count), []
    pages = [range(begin, min(count, begin + IN_A_PAGE)) for begin in range(0, count, IN_A_PAGE)]
    page = min(page, len(pages) - 1)
    spans = [f"{places.start + 1}–{places.stop}" for places in pages]
    before = [(f"‹ {spans[page - 1]}", page - 1)] if page else []
    after = [(f"{spans[page + 1]} ›", page + 1)] if page + 1 < len(pages) else []
    return pages[page], [*before, *after]
