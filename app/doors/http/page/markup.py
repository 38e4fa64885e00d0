"""HTML of the page: templates that escape everything, and Markdown of answers without any HTML of its own."""

from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from agents.events.views import is_web
from agents.language.text.clean import clean
from agents.state.citations import Citation
from app.presentation.links import in_full, is_told_by
from app.presentation.texts import addresses, marked, numbers, numbers_kept, unmarked
from prompts import sentence

OUTSIDE = 'target="_blank" rel="noopener noreferrer nofollow"'
"""The attributes of every link that leaves the page."""
Env = MutableMapping[str, Any]


def draw(name: str, lang: str, /, **values: object) -> Markup:
    """Return a template as HTML; whatever is put into it is cleaned and escaped."""
    return drawn(_TEMPLATES, name, lang, lambda key, **facts: sentence("page", key, lang, **facts), **values)


def drawn(templates: Environment, name: str, lang: str, text: Callable[..., str], /, **values: object) -> Markup:
    """Return a template of these as HTML, else `other` of its folder; `text` gives it the sentences."""
    files = [f"{name}.html", f"{Path(name).parent}/other.html"]
    return Markup(templates.select_template(files).render(lang=lang, t=text, **values))


def markdown(text: str, citations: Sequence[Citation] = ()) -> Markup:
    """Return Markdown as HTML, the numbers of its citations as links. HTML in it is shown as text."""
    source = numbers_kept(clean(marked(text, citations)))
    return Markup(unmarked(_MARKDOWN.render(source, {"addresses": addresses(citations)})))


def site(url: str) -> str:
    """Return the host of an address; one whose letters may only look like others also as it is asked for."""
    return urlsplit(url).netloc + in_full(url).removeprefix(url)


def _finished(value: object) -> object:
    return clean(value) if type(value) is str else value


def _text(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """Draw a piece of text; within a link no other link can stand."""
    text, urls = tokens[place].content, env["addresses"]
    parts, done = [], 0
    for number, begin, end in numbers(text):
        parts.append(escapeHtml(text[done:begin]))
        label, url = escapeHtml(unmarked(text[begin + 1 : end - 1])), urls.get(number)
        is_linked = url is not None and not env.get("link")
        link = f'<a class="cite" href="{escapeHtml(url or "")}" {OUTSIDE}>{label}</a>'
        parts.append(link if is_linked else f'<span class="cite">{label}</span>')
        done = end
    return "".join([*parts, escapeHtml(text[done:])])


def _link_open(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    env["link"] = str(tokens[place].attrs["href"])
    env["link_at"] = place
    return f'<a href="{escapeHtml(env["link"])}" {OUTSIDE}>'


def _link_close(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """End a link; where its words hide its address, the host stands behind it."""
    url, words = env.pop("link"), "".join(token.content for token in tokens[env["link_at"] : place])
    return "</a>" if is_told_by(url, words) else f'</a> <span class="site">({escapeHtml(site(url))})</span>'


def _image(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """Draw a picture as a link: loading it would tell its address, which a model has written, to its server."""
    url = str(tokens[place].attrs["src"])
    label = escapeHtml(tokens[place].content or site(url))
    return label if env.get("link") else f'<a href="{escapeHtml(url)}" {OUTSIDE}>{label}</a>'


def _make_markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"])
    # Only what leads to the web becomes a link; the parser encodes letters that an address may not have.
    parser.validateLink = is_web  # type: ignore[method-assign]
    rules: dict[str, Any] = {"text": _text, "link_open": _link_open, "link_close": _link_close, "image": _image}
    # A wide table is scrolled by itself.
    table = '<div class="wide" tabindex="0"><table>'
    rules |= {"table_open": lambda *_: table, "table_close": lambda *_: "</table></div>"}
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    parser.core.ruler.push("classes", _classed)
    return parser


def _classed(state: StateCore) -> None:
    """Give cells a class for a style: a browser applies no style that stands in the page."""
    for token in state.tokens:
        if style := token.attrs.pop("style", None):
            token.attrs["class"] = str(style).replace(":", "-")


def make_templates(*folders: Path) -> Environment:
    """Return the templates of these folders, and behind them those of the page."""
    loader = FileSystemLoader([*folders, Path(__file__).parent / "templates"])
    templates = Environment(
        loader=loader,
        autoescape=True,
        finalize=_finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters |= {"markdown": markdown, "site": site}
    templates.tests["web"] = is_web
    return templates


_MARKDOWN, _TEMPLATES = _make_markdown(), make_templates()
