"""Views and questions drawn for a terminal."""

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.text import Text

from agents.asking import worded
from agents.events import Interrupt
from agents.views import Document, View
from app.terminal import clean


def drawn(view: View) -> list[RenderableType]:
    """Return a view as a terminal shows it; what cannot be drawn is its plain text."""
    match view:
        case Document(title=title, content=content) if title.endswith(".md"):
            return [Text(clean(title), "bold"), markdown(content)]
        case Document(title=title, content=content):
            return [Text(clean(title), "bold"), Text(clean(content))]
    return [Text(clean(view.text()))]


def asked(question: Interrupt, lang: str) -> list[RenderableType]:
    """Return a question of a tool with its numbered options."""
    return [Text(clean(worded(question, lang)))]


def markdown(text: str) -> Markdown:
    """Return a text drawn as Markdown."""
    # In a talk a new line is a new line; two spaces make it one in Markdown, too.
    # A link shows its address: one that hides behind other words could lead anywhere.
    return Markdown(clean(text).replace("\n", "  \n"), hyperlinks=False)
