"""The English reasons of traces and files, in the reader's language."""

import re
from pathlib import Path
from string import Template

import pytest

from agents.conversation.gate import weights
from agents.state.verdict import because
from app.assistant.records import Decided, read_record
from app.plugins.lab.reasons import worded
from app.prices import Tokens
from prompts import languages, retold, sentence, table

REASON = "score -4.86: foreign less own, question --, wQ=milk, b=^ add, p=milk|list, r=bread, b=^ $, sentence ."


def made(reason: str) -> Decided:
    """Return a decision of the gate."""
    return Decided("gate", "stay", None, reason, "gate")


def test_the_gate_says_why_no_observer_was_asked() -> None:
    """Its features stand in words, each once; a rule of it is a sentence, and what no sentence says stays as it is."""
    text = worded(made(REASON), "en")
    assert text.startswith("No observer was asked, because the message looks as if it stayed in the dialog.")
    for piece in ("“milk”", "“add”", "“milk – list”", "“bread” in the answer", "there are no words", "score -4.86"):
        assert piece in text
    assert "=" not in text
    assert "«milk»" in worded(made(REASON), "ru")
    assert "“milk”" in worded(made(REASON), "zh")
    assert worded(made("a plain answer to what was asked"), "ru").endswith("простой ответ на то, что спросили")
    assert worded(made("a plain answer"), "en") == "No observer was asked, because: a plain answer"
    assert worded(Decided("undo", "stay", None, "score 1: own", "free"), "en") == "score 1: own"


@pytest.mark.parametrize("lang", languages())
def test_every_feature_has_words(lang: str) -> None:
    """Every feature of the gate's weights has words."""
    phrases = table("lab/phrases", lang)["gate"]
    named = {name.partition(" ")[0] for name in weights().weights if "=" not in name}
    assert named - {*phrases} == set()


@pytest.mark.parametrize("lang", languages())
@pytest.mark.parametrize("file", ["reasons", "lab/problems", "lab/mocks"])
def test_what_is_kept_in_english_is_told_in_each_language(file: str, lang: str) -> None:
    """A sentence of a trace or a file is found again with its values, also where another one stands within it."""
    for key, text in table(file, "en").items():
        values = {name: f"<{name}>" for name in Template(text).get_identifiers()}
        assert retold(file, sentence(file, key, "en", **values), lang) == sentence(file, key, lang, **values)
    within = because("names_none", why=because("asks_for", name="planner"))
    assert retold("reasons", within, "ru") == "просит planner (диалог не назван)"
    assert retold(file, "somebody's own words", lang) == "somebody's own words"


def test_no_rule_decides_in_words_of_its_own() -> None:
    """The reason of each decision is one of the sentences, so the lab can tell it in every language."""
    code = "".join(path.read_text("utf-8") for folder in ("agents", "observers") for path in Path(folder).rglob("*.py"))
    assert len(re.findall(r"because\(", code)) > 30
    assert re.findall(r'(?:\.decide\(\s*"\w+", "\w+", |Verdict\(.*reason=)f?"[^"].*', code) == []


def test_a_turn_that_was_taken_up_again_took_what_both_tries_did() -> None:
    """The tokens of a failed try count as well; an older record has none."""
    tries = (
        '{"status": "failed", "used": {"a": {"calls": 1, "input": 5}, "b": {"calls": 1}}}\n'
        '{"status": "done", "is_resumed": true, "used": {"a": {"calls": 2, "input": 1, "output": 3}}}'
    )
    assert read_record("hi", tries).took == Tokens(calls=4, input=6, output=3)
    assert read_record("hi", '{"status": "done"}').took == Tokens()
