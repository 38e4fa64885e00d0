"""The result of a tool: an object for the model, a view for the screen, or a question to the user.

A tool that returns more than a sentence has `response_format="content_and_artifact"` and returns the value of `result`,
`choice` or `request`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from langchain_core.messages.tool import ToolCall
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from agents.events.views import MOST_ENTRIES, CardList, Entry, View, is_web
from agents.language.identifiers import Schema
from agents.language.text.clean import whole
from agents.toolkit.questions import wanted
from prompts import phrase

LONGEST_OBJECT = 8_000
"""Characters of an object for the model."""
Page = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Option:
    """One candidate of a choice: the model gets `value` when the user takes it.

    The user may name it by its `facts` ("the cheap one"): price, rating, date and the like.
    """

    label: str
    value: object = None
    detail: str = ""
    id: str = ""
    facts: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("label", "detail", "id"):
            object.__setattr__(self, name, whole(getattr(self, name)))


@dataclass(frozen=True)
class Question:
    """A question to the user, who has to choose, open a page or fill in a form before the tool has its result.

    Raises ValueError if there are more options than a user can look through, or if one of them cannot be kept.
    """

    prompt: str
    options: Sequence[Option] = ()
    url: str = ""
    back: str = ""
    """The return address of that page: `https://shop.example/end?code=` wants the value of `code`."""
    web_app: bool = False
    """Whether that page is a Telegram web app, which sends its value itself; it gets the user's name."""
    kind: str = ""
    """The kind of question; empty: the kind of the asking tool."""
    client: ToolCall | None = None
    """The call that the client is to run; None where the user is asked."""
    alone: bool = False
    """Whether the client runs it before it is given another call."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prompt", whole(self.prompt))
        if len(self.options) > MOST_ENTRIES:
            raise ValueError(f"a choice has {MOST_ENTRIES} options at most")
        if any(not isinstance(text, str) for option in self.options for text in (option.label, option.id)):
            raise ValueError("label and id of an option are texts")
        if self.url and not is_web(self.url):
            raise ValueError("a question may only link to http and https addresses")
        if self.back and not (self.url and is_web(self.back) and wanted(self.back)):
            raise ValueError("a return address belongs to a page, is http or https, and names a parameter: …?code=")
        if self.web_app and not self.url.startswith("https://"):
            raise ValueError("a web app has an https address")
        # The answer may come in another process: a value without a JSON form would be lost there.
        jsonable([[option.value, option.facts] for option in self.options])

    def text(self) -> str:
        """Return the question and its options, each with its id or number, which answers it where others read along."""
        options = enumerate(self.options, 1)
        return "\n".join([self.prompt, *(f"{each.id or number}. {each.label}" for number, each in options)])


@dataclass(frozen=True)
class ToolResult:
    """The parts of a result."""

    object: object = None
    view: View | None = None
    question: Question | None = None
    goto: str = ""
    """The next speaker: the node that a LangGraph `Command` of the tool names."""
    taken: str = ""
    """The only option of a choice, in words for the user."""


class Refused(Exception):
    """Tells the model why a call was refused, and the remedy; `view` is a notice for the user."""

    def __init__(self, message: str, view: View | None = None) -> None:
        super().__init__(message)
        self.view = view


class Misused(Refused):
    """The arguments are wrong: a name or a number that does not exist."""


class Failed(Exception):
    """The tool does not work now, whatever the arguments; a write may have taken effect. `view` is a notice."""

    def __init__(self, view: View | None = None) -> None:
        super().__init__()
        self.view = view


class TooMany(Exception):
    """There are more options than a user can look through; `count` is their number."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} options, {MOST_ENTRIES} is the most")
        self.count = count


Answer = tuple[str, ToolResult]


def result(object: object = None, *, message: str | None = None, view: View | None = None) -> Answer:
    """Return a result: the model reads the object, else the message, else the text of the view.

    An empty list is a result and is read as `[]`.
    """
    data = jsonable(object)
    text = written(data) if data is not None else message or (view.text() if view else "")
    return text, ToolResult(data, view)


def choice(prompt: str, options: Sequence[Option]) -> Answer:
    """Let the user choose; one candidate is the result, and so is an empty list.

    Raises TooMany if there are too many options: the model is told to narrow it down.
    """
    if len(options) > MOST_ENTRIES:
        raise TooMany(len(options))
    if len(options) > 1:
        return "", ToolResult(question=Question(prompt, options))
    text, outcome = result(taken(options[0]) if options else [])
    return text, replace(outcome, taken=Question(prompt, options).text())


def request(prompt: str, *, url: str = "", back: str = "", web_app: bool = False) -> Answer:
    """Send the user to a page, or have them fill in the form of the tool's traits.

    The page hands a value back by its return address (`back`) or as a Telegram web app; see `Question`.
    """
    return "", ToolResult(question=Question(prompt, url=url, back=back, web_app=web_app))


def taken(option: Option) -> object:
    """Return the value of an option for the model."""
    return option.value if option.value is not None else {"id": option.id or option.label, "label": option.label}


def written(plain: object, longest: int = LONGEST_OBJECT) -> str:
    """Write an object for the model: compact JSON, the same for the same object; a long one is cut and says so."""
    text: str = whole(plain if isinstance(plain, str) else in_json(plain))
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more characters were left out)"


def in_json(plain: object) -> str:
    """Write plain data as compact JSON, whole."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def jsonable(object: object) -> object:
    """Return an object as JSON has it: a date as text, a model as an object, "NaN" for a float that is not a number.

    Raises ValueError if it has no JSON form.
    """
    # Half a character in a key has no JSON form; one in a text of a model is seen only then.
    return whole(to_jsonable_python(whole(object), inf_nan_mode="strings"))


def schema_of(stated: type[BaseModel] | Schema | None) -> Schema:
    """Return the JSON schema of a result; empty for a sentence."""
    if stated is None:
        return {}
    return stated if isinstance(stated, Mapping) else stated.model_json_schema()


def page_of(entries: Sequence[Entry], page: int, lang: str) -> CardList | None:
    """Return a page of a list, with its number if there are several; None for an empty list.

    Raises Refused if there is no such page.
    """
    if not entries:
        return None
    pages = -(-len(entries) // MOST_ENTRIES)
    if page > pages:
        raise Refused(phrase("page_none", lang, page=page, pages=pages))
    shown = entries[(page - 1) * MOST_ENTRIES : page * MOST_ENTRIES]
    title = phrase("page_of", lang, page=page, pages=pages, count=len(entries)) if pages > 1 else ""
    return CardList(title=title, entries=shown)
