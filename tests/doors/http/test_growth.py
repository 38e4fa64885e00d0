"""The steps of reading a request grow with its text: twice the text, at most three times the steps."""

import importlib
import pkgutil
import re

import app.doors.http
from app.doors.http import exchange, service
from tests.support.matching_steps import deep as deep
from tests.support.matching_steps import grows, hold_against_seeds


def patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns of the door's modules, and that by which names are checked."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(app.doors.http.__path__, "app.doors.http.")
        if ".page.markup" not in found.name
    ]
    named = {
        f"{it.__name__}.{name}": own for it in modules for name, own in vars(it).items() if isinstance(own, re.Pattern)
    }
    return {**named, "names": re.compile(exchange.PRINTABLE)}


def test_what_grows_is_found() -> None:
    """The count tells patterns apart that are known to go back over and over, and those that do not."""
    quadratic = re.compile(r"^\s*(?:user|human)[ \t]*:", re.MULTILINE)
    assert "\n" in grows(quadratic)
    assert "x" in grows(re.compile(r"x*y"))
    assert grows(re.compile(r"x+y?")) == []


def test_no_pattern_grows_faster_than_the_text() -> None:
    """Whatever text comes in, each pattern of the door reads it in steps that grow with it."""
    assert service._HOST in patterns().values()
    hold_against_seeds(patterns())
