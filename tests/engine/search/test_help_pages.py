"""On a fresh machine, without a key or a network, a search answers from our help pages, with their numbers."""

from pathlib import Path

import pytest

from agents.events import Message, ModelStart, SearchStep, Sources
from app.assistant import Turn
from app.composition import open_assistant
from app.settings import Settings

ASKED = {
    "en": ("what do the help pages say about connecting a model?", "OPENAI_API_KEY", "help/en#connecting-a-model"),
    "ru": ("что написано о подключении модели?", "OPENAI_API_KEY", "help/ru#подключение-модели"),
}


@pytest.mark.parametrize("lang", ASKED)
@pytest.mark.needs("research", "standin")
async def test_the_stand_in_quotes_the_help_pages(lang: str, tmp_path: Path) -> None:
    """It quotes the pages with their places; beyond the pages it knows nothing."""
    question, quoted, place = ASKED[lang]
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'fresh.db'}", app_lang=lang)
    async with open_assistant(settings) as assistant:
        events = [event async for event in assistant.play(Turn(thread="ann", text=question))]
        unknown = [event async for event in assistant.play(Turn(thread="ann", text="look up unicorns"))]
    [message] = [event for event in events if isinstance(event, Message)]
    kinds = [type(event) for event in events]
    assert quoted in message.text
    assert message.text.endswith("[1]")
    assert [(each["number"], each["url"]) for each in message.citations] == [(0, place)]
    assert kinds.index(Sources) < kinds.index(Message)
    assert [event.step for event in events if isinstance(event, SearchStep)][-1] == "answer"
    assert kinds.count(ModelStart) == 3
    [answer] = [event for event in unknown if isinstance(event, Message)]
    assert answer.citations == []
