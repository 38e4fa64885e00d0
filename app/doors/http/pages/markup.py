"""HTML of pages: templates that escape everything, and Markdown of answers without any HTML of its own."""

import re
from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from agents.events.views import is_web
from agents.language.text.clean import clean
from agents.state.citations import Citation
from app.presentation.links import in_full, is_told_by
from app.presentation.texts import addresses, marked, numbers, numbers_kept, unmarked
from prompts import FALLBACK, sentence, table

OUTSIDE = 'target="_blank" rel="noopener noreferrer nofollow"'
"""The attributes of every link that leaves the page."""
Env = MutableMapping[str, Any]
STARS = re.compile(r"\*+(?=\d)")
BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
BEHIND = ".,;:!?'*_]}»”"
"""Characters that end a sentence rather than an address."""
ADDRESS = re.compile(r"https?://[^\s<>\"`|]{1,2000}")


Draw = Callable[..., Markup]


def draw(name: str, lang: str, /, **values: object) -> Markup:
    """Return a template as HTML; all values in it are cleaned and escaped."""
    return drawn(_TEMPLATES, name, lang, lambda key, **facts: sentence("page", key, lang, **facts), **values)


def make_draw(folder: Path, file: str) -> Draw:
    """Return a function that renders a folder's templates, with a file's sentences and else those of all pages."""
    templates = make_templates(folder)

    def draw_own(name: str, lang: str, /, **values: object) -> Markup:
        own = table(file, FALLBACK)

        def text(key: str, **facts: object) -> str:
            return sentence(file if key in own else "page", key, lang, **facts)

        return drawn(templates, name, lang, text, **values)

    return draw_own


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


def _fence(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: Env) -> str:
    """Draw a block of code with the name of its language; a long line is scrolled, by keyboard too."""
    lang, code = tokens[place].info.strip().partition(" ")[0][:30], escapeHtml(tokens[place].content)
    named = f' data-lang="{escapeHtml(lang)}"' if lang else ""
    return f'<pre tabindex="0"{named}><code>{code}</code></pre>\n'


def _times(state: StateInline, silent: bool) -> bool:
    """Leave stars between digits as they are: `2*3*4` has nothing to stress."""
    run = STARS.match(state.src, state.pos)
    if run is None or not state.src[max(0, state.pos - 1) : state.pos].isdigit():
        return False
    if not silent:
        state.pending += run[0]
    state.pos = run.end()
    return True


def _tasks(state: StateCore) -> None:
    """Draw the box of a task at the beginning of a list's entry."""
    for item, _, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        first = inline.children[0] if item.type == "list_item_open" and inline.children else None
        if first and first.type == "text" and (box := BOXES.get(first.content[:4])):
            first.content = box + first.content[4:]


def _levels(state: StateCore) -> None:
    """Let headings begin below the page's own and leave no level out, for people who hear them."""
    level = 1
    for token in (token for token in state.tokens if token.type == "heading_open"):
        level = min(int(token.tag.removeprefix("h")) + 1, level + 1)
        token.attrSet("aria-level", str(level))


def _bare_links(state: StateCore) -> None:
    """Make links of bare addresses of the web, outside other links and code."""
    for inline in state.tokens:
        depth, children = 0, list[Token]()
        for token in inline.children or ():
            depth += token.nesting if token.type.startswith("link_") else 0
            children += [token] if depth or token.type != "text" else _linked(token)
        inline.children = children if inline.children else inline.children


def _linked(text: Token) -> list[Token]:
    tokens, done = list[Token](), 0
    for place in ADDRESS.finditer(text.content):
        url = place[0].rstrip(BEHIND if "(" in place[0] else f"{BEHIND})")
        if is_web(url):
            tokens += [_piece(text.content[done : place.start()]), Token("link_open", "a", 1, attrs={"href": url})]
            tokens += [_piece(url), Token("link_close", "a", -1)]
            done = place.start() + len(url)
    return [*tokens, _piece(text.content[done:])]


def _piece(content: str) -> Token:
    return Token("text", "", 0, content=content)


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
    rules["fence"] = _fence
    # A wide table is scrolled by itself.
    table = '<div class="wide" tabindex="0"><table>'
    rules |= {"table_open": lambda *_: table, "table_close": lambda *_: "</table></div>"}
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    parser.inline.ruler.before("emphasis", "times", _times)
    for name, change in {"classes": _classed, "tasks": _tasks, "levels": _levels, "bare_links": _bare_links}.items():
        parser.core.ruler.push(name, change)
    return parser


def _classed(state: StateCore) -> None:
    """Give cells a class for a style: a browser applies no style that stands in the page."""
    for token in state.tokens:
        if style := token.attrs.pop("style", None):
            token.attrs["class"] = str(style).replace(":", "-")


def make_templates(*folders: Path) -> Environment:
    """Return the templates of these folders, and behind them those of all pages."""
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
