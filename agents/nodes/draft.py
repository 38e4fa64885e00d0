"""The text of a reply while it is made: held back while observers vote, its citations read as it streams."""

from collections.abc import Callable, Sequence

from agents.events import RETRY, Error, Event, Token
from agents.events.models import ModelStart
from agents.state.citations import CitationReader, CitedText, Source
from agents.toolkit.context import HeldText


class Draft:
    """The text of a reply on its way to the screen; with `held` it is held back there until it is released.

    Citations are read as it streams.
    """

    def __init__(
        self,
        speaker: str,
        emit: Callable[[Event], None],
        *,
        held: HeldText | None,
        sources: Sequence[Source] = (),
    ) -> None:
        self.speaker, self._held = speaker, held
        self._emit, self._sources = emit, sources
        self._waiting: list[CitedText] = []
        self._reader = CitationReader(sources)

    def emit(self, event: Event) -> None:
        """Send an event of the model's call; a call that begins has said nothing yet."""
        if isinstance(event, ModelStart):
            self._begin()
        self._emit(event)

    def hear(self, text: str) -> None:
        """Take the next piece from the model."""
        self._show(self._reader.feed(text))

    def take_back(self) -> None:
        """Drop what came so far: it was the model's thinking."""
        self._begin()
        if self._held is None:
            self._emit(Error(code=RETRY, text=""))

    def release(self) -> None:
        """Show what was held back, and from now on everything at once."""
        self.drop()
        self._held = None
        waiting, self._waiting = self._waiting, []
        for piece in waiting:
            self._show(piece)

    def end(self) -> None:
        """Show what the end of the text leaves: what might have become a citation."""
        self._show(self._reader.rest())

    def drop(self) -> None:
        """Note that nothing is held back any more."""
        if self._held is not None:
            self._held.text = ""

    def _begin(self) -> None:
        self.drop()
        self._waiting.clear()
        self._reader = CitationReader(self._sources)

    def _show(self, piece: CitedText) -> None:
        if self._held is not None:
            self._held.text += piece.text
            self._waiting.append(piece)
        elif piece.text:
            self._emit(Token(speaker=self.speaker, text=piece.text, citations=piece.citations))
