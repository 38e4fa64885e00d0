"""The events of a search: its steps, and what it found, told before the answer is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from typing_extensions import TypedDict

from agents.events import Event
from agents.state.citations import Source

Step = Literal["choose", "collect", "check", "rank", "cut", "answer"]


class ShownImage(TypedDict):
    """A picture, as doors and scripts are told of it."""

    url: str
    """The address of the picture in its original size."""
    title: str
    thumbnail: str
    """The address of a small copy; empty if there is none."""
    width: int | None
    height: int | None
    """The original size in pixels; None where it is not known."""
    mime_type: str
    page: str
    """The address of the page that shows it."""


@dataclass(frozen=True, kw_only=True)
class SearchStep(Event):
    """A step of a search is over; `id` is that of the tool call, `detail` says what came of the step."""

    type: ClassVar[str] = "search.step"
    speaker: str
    id: str = ""
    step: Step
    detail: str = ""
    ms: int = 0

    def __str__(self) -> str:
        return f"search {self.step}: {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Sources(Event):
    """The documents that a call has given to the model, by their numbers from 0; they are told before the answer."""

    type: ClassVar[str] = "sources"
    id: str = ""
    sources: Mapping[str, Source]

    def __str__(self) -> str:
        listed = "; ".join(f"{number} {source['title'] or source['url']}" for number, source in self.sources.items())
        return f"sources: {listed}"


@dataclass(frozen=True, kw_only=True)
class Images(Event):
    """The pictures that a call has found; they have no numbers."""

    type: ClassVar[str] = "images"
    id: str = ""
    images: Sequence[ShownImage]

    def __str__(self) -> str:
        return f"images: {'; '.join(image['title'] or image['url'] for image in self.images)}"
