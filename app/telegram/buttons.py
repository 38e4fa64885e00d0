"""Questions as buttons: one for each option or link, and the answer that a tap on it stands for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import urlsplit

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, KeyboardButton, ReplyKeyboardMarkup, WebAppInfo

from agents.events import Interrupt
from agents.events.links import is_web
from agents.questions import mark
from agents.questions.agreement import CONFIRM
from agents.questions.options import naming
from agents.text.clean import clean
from prompts import sentence

SIGN = "="
OF = " @"
"""What stands in a button's data between a command and the user whose it is."""
RETRY_COMMAND = "/retry"
LONGEST_LABEL = 40
"""Characters of a label that has a button of its own; longer ones have their number on it."""
MOST_LABELS = 10
MOST_BUTTONS = 96
"""Further options have a number only, to be typed: Telegram takes 100 buttons."""
IN_A_ROW = 8
GoesOn = Literal["continue", "retry"]


@dataclass(frozen=True)
class Tap:
    """What a button sends back: the mark of its question, which of its buttons it is, and whose it is."""

    mark: str
    place: int
    asked: str

    def __str__(self) -> str:
        return f"{SIGN}{self.mark}:{self.place}:{self.asked}"

    @classmethod
    def read(cls, data: str) -> Self | None:
        """Return the tap that a button's data stands for; None if it is no button of a question."""
        parts = data.removeprefix(SIGN).split(":")
        if not data.startswith(SIGN) or len(parts) != 3 or not parts[1].isdecimal():
            return None
        return cls(parts[0], int(parts[1][:3]), parts[2])

    def says(self, question: Interrupt, lang: str) -> str | None:
        """Return what the user says by it; None if the question has no such button."""
        if question.options:
            return naming(self.place, question.options, lang) if self.place < len(question.options) else None
        return sentence("telegram", "done", lang) if _is_done_said(question) else None


def keyboard(question: Interrupt, asked: str, lang: str) -> InlineKeyboardMarkup | None:
    """Return the buttons of a question to a user; a form has none."""

    def button(label: str, place: int) -> InlineKeyboardButton:
        return InlineKeyboardButton(label, callback_data=str(Tap(mark(question.id), place, asked)))

    if question.options:
        if question.kind == CONFIRM:
            # Yes and no stand side by side, and need no numbers.
            row = [button(option["label"].capitalize(), place) for place, option in enumerate(question.options)]
            return InlineKeyboardMarkup([row])
        labels = [_label(option, number) for number, option in enumerate(question.options, 1)]
        if len(labels) <= MOST_LABELS and all(len(label) <= LONGEST_LABEL for label in labels):
            return InlineKeyboardMarkup([[button(label, place)] for place, label in enumerate(labels)])
        return InlineKeyboardMarkup(_rows([button(str(n + 1), n) for n in range(min(len(labels), MOST_BUTTONS))]))
    if question.url:
        done = [[button(sentence("telegram", "done", lang), 0)]] if _is_done_said(question) else []
        return InlineKeyboardMarkup([*link_buttons(question.url, lang), *done])
    return None


def web_app_keyboard(question: Interrupt, lang: str) -> ReplyKeyboardMarkup:
    """Return the button that opens a web app; only one below a private chat lets a web app send its value."""
    button = KeyboardButton(_open_label(question.url, lang), web_app=WebAppInfo(question.url))
    return ReplyKeyboardMarkup([[button]], resize_keyboard=True, one_time_keyboard=True)


def go_on_buttons(owner: str, lang: str, *names: GoesOn) -> InlineKeyboardMarkup:
    """Return buttons below what came to no good end: to continue it, to try again."""
    commands = {"continue": "/go", "retry": RETRY_COMMAND}
    row = [
        InlineKeyboardButton(sentence("telegram", name, lang), callback_data=f"{commands[name]}{OF}{owner}")
        for name in names
    ]
    return InlineKeyboardMarkup([row])


def link_buttons(url: str, lang: str) -> list[list[InlineKeyboardButton]]:
    """Return a row with a button that opens a page and says whose it is; none for what is no page."""
    if not is_web(url):
        return []
    return [[InlineKeyboardButton(_open_label(url, lang), url=url)]]


def without_links(markup: InlineKeyboardMarkup | ReplyKeyboardMarkup) -> InlineKeyboardMarkup | None:
    """Return the buttons that send something back."""
    if isinstance(markup, ReplyKeyboardMarkup):
        return None
    rows = [[button for button in row if button.callback_data] for row in markup.inline_keyboard]
    return InlineKeyboardMarkup([row for row in rows if row]) if any(rows) else None


def _is_done_said(question: Interrupt) -> bool:
    """Tell whether "done" answers the question of a page: it hands back no value, and there is nothing to fill in."""
    return not question.back and not question.fields


def _open_label(url: str, lang: str) -> str:
    return f"{sentence('telegram', 'open', lang)}: {urlsplit(url).netloc}"[: 2 * LONGEST_LABEL]


def _label(option: Mapping[str, str], number: int) -> str:
    return f"{number}. {' '.join(clean(option['label']).split())}"


def _rows(buttons: Sequence[InlineKeyboardButton]) -> list[Sequence[InlineKeyboardButton]]:
    return [buttons[begin : begin + IN_A_ROW] for begin in range(0, len(buttons), IN_A_ROW)]
