"""HTML of one's own documents as sections: Markdown by the library markdownify, without menus."""

import re

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from agents.sources.documents.markdown import DocumentSection, markdown_sections

LEFT_OUT = "script, style, nav, footer, noscript, template, svg, select, button, head"
AROUND = ", ".join(f"[role={role}]" for role in ("navigation", "search", "banner", "contentinfo"))
SIGNS = ".headerlink, .heading-anchor, .anchor-link, a.anchor:empty"  # Signs that only lead to their own heading.
LISTS = ("ul", "ol", "dl", "table")
INLINE = ["b", "strong", "i", "em", "code", "img"]
"""Tags without Markdown marks in the text: a mark would stand between the words of a query."""
MOST_LINKS = 0.5  # The greatest share of a list's letters in links; a menu or a list of contents has more.
_XML = re.compile(r"^\s*<\?xml[^>]*>")  # With this mark the parser warns that XHTML is not HTML.


class _Converter(MarkdownConverter):
    """Writes the address of a heading behind it, as `{#address}`, and keeps only the words of a link."""

    def convert_hN(self, n: int, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: N802  # the library's name
        title, address = " ".join(text.split()), _address(el)
        return f"\n\n{'#' * n} {title}{f' {{#{address}}}' if address else ''}\n\n" if title else ""

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text


def html_sections(markup: str) -> list[DocumentSection]:
    """Return the sections of a page; a section below no heading has the title from the page's head."""
    page = BeautifulSoup(_XML.sub("", markup), "lxml")
    title = " ".join(page.title.get_text().split()) if page.title else ""
    for part in page.select(f"{LEFT_OUT}, {AROUND}, {SIGNS}"):
        part.decompose()
    for part in page.find_all(LISTS):
        if not part.decomposed and _is_menu(part):
            part.decompose()
    converter = _Converter(strip=INLINE, escape_misc=False, escape_asterisks=False, escape_underscores=False)
    sections = markdown_sections(converter.convert_soup(page).replace("\xa0", " "))
    return [section if section.title else DocumentSection(title, section.text, section.anchor) for section in sections]


def _is_menu(part: Tag) -> bool:
    linked = sum(len(link.get_text(strip=True)) for link in part.find_all("a", href=True))
    return linked > len(part.get_text(strip=True)) * MOST_LINKS


def _address(heading: Tag) -> str:
    inside = heading if heading.get("id") else heading.find(id=True) or heading.find("a", attrs={"name": True})
    place = inside or heading.find_previous(_is_place)
    return str((place.get("id") or place.get("name")) if isinstance(place, Tag) else "")


def _is_place(tag: Tag) -> bool:
    return bool(tag.get("id") or (tag.name == "a" and tag.get("name")))
