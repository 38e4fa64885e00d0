"""Name, home, time zone and language are fields, too: told, shown, corrected, deleted by word; they shape answers."""

from pathlib import Path

import pytest

from agents.memory.store import namespace_of
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.settings import Settings
from app.testing.script import Script
from tests.support.scripted_assistant import ROLES, stage

pytestmark = pytest.mark.needs("planner", "standin")

TALKS = {
    "en": [
        ("my name is Ann", "“Ann”"),
        ("yes", "Noted: name – Ann."),
        ("I live in Hamburg", "“Hamburg”"),
        ("yes", "Noted: home – Hamburg."),
        ("no, my name is Anna", "“Anna”"),
        ("yes", "Noted: name – Anna."),
        ("what's my name?", "**name**: Anna"),
        ("where do I live?", "**home**: Hamburg"),
        ("that's all", "Good"),
        ("hello", "Hello, Anna!"),
        ("my time zone is Hamburg", "The time zone is Europe/Berlin now"),
        ("forget my name", "name. This cannot be taken back."),
        ("no", "Nothing is deleted."),
        ("forget my name", "name. This cannot be taken back."),
        ("yes", "Deleted: name."),
        ("show my profile", "Not known yet: name, experience"),
        ("please delete my time zone", "time zone. This cannot"),
        ("yes", "Deleted: time zone."),
        ("remove my home from my profile", "where you live. This cannot"),
        ("yes", "Deleted: where you live."),
        ("show my profile", "The profile is still empty."),
    ],
    "ru": [
        ("меня зовут Оля", "“Оля”"),
        ("да", "Записано: имя — Оля."),
        ("я живу в Москве", "“Москве”"),
        ("да", "живёте в — Москве"),
        ("как меня зовут?", "**имя**: Оля"),
        ("всё, спасибо", "Хорошо"),
        ("привет", "Здравствуйте, Оля!"),
        ("мой часовой пояс Москва", "Europe/Moscow"),
        ("забудь моё имя", "имя. Вернуть это нельзя."),
        ("да", "Удалено: имя."),
        ("покажи мой профиль", "неизвестно: имя"),
    ],
}


async def says(assistant: Assistant, text: str | None, thread: str = "ann") -> str:
    """Say a message as Ann; return what was answered."""
    turn = Turn(thread=thread, user="ann", text=text)
    return "\n".join([event.text async for event in assistant.play(turn) if event.type == "message"])  # type: ignore[attr-defined]


def settings(tmp_path: Path, lang: str) -> Settings:
    """Return settings with the model that needs no key."""
    own = {"database_url": f"sqlite:///{tmp_path}/dialogs.db", "app_lang": lang}
    return Settings(_env_file=None, **own)  # type: ignore[arg-type]


@pytest.mark.parametrize("lang", TALKS)
async def test_fields_are_told_shown_corrected_and_deleted(tmp_path: Path, lang: str) -> None:
    """Each by word, in its own sentence; a correction changes what it names, and a deletion is asked first."""
    async with open_assistant(settings(tmp_path, lang)) as assistant:
        for text, answer in TALKS[lang]:
            assert answer in await says(assistant, text), text
        item = await assistant.memory.store.aget(namespace_of("ann", "forms"), "profile")
        assert item is not None
        assert "name" not in item.value
        # Nor does the undo log keep what was deleted.
        writes = await assistant.memory.undo.claim("ann", "ann", "x", None, gone=False)
        assert not any("form" in write.record.get("items", {}) for write in writes)


async def test_an_undo_behind_a_deletion_reaches_for_nothing_older(tmp_path: Path) -> None:
    """An undo after a deletion says that the data is gone; only a second undo takes the write before it back."""
    async with open_assistant(settings(tmp_path, "en")) as assistant:
        for text in ("add tea to my list", "my name is Ann", "yes", "forget my name", "yes"):
            await says(assistant, text)
        assert await says(assistant, "undo") == "What was forgotten does not come back: it is deleted for good."
        assert await says(assistant, "undo") == "Taken back: 1. tea."


async def test_they_hold_in_every_thread(tmp_path: Path) -> None:
    """A new conversation greets by name and shows what is known before its profile begins."""
    async with open_assistant(settings(tmp_path, "en")) as assistant:
        await says(assistant, "my name is Ann")
        await says(assistant, "yes")
        assert (await says(assistant, None, "new")).startswith("Hello, Ann!")
        assert "**name**: Ann" in await says(assistant, "show my profile", "other")


async def test_a_model_is_told_name_and_home(tmp_path: Path) -> None:
    """The supervisor's model reads them as data of the newest message, and not the rest of the profile."""
    script = Script()
    script.add(supervisor=["Hello Ann"])
    async with stage(tmp_path / "dialogs.db", script.models(ROLES)) as assistant:
        place = namespace_of("ann", "forms")
        await assistant.memory.store.aput(place, "profile", {"name": "Ann", "home": "Hamburg", "work": "pilot"})
        await says(assistant, "hi")
        assert "name: Ann; home: Hamburg" in script.asked[-1].messages[-1].text


async def test_words_are_read_in_their_own_language(tmp_path: Path) -> None:
    """A user with English answers who writes Russian is understood, times and cities included."""
    async with open_assistant(settings(tmp_path, "ru")) as assistant:
        assert "English" in await says(assistant, "говори по-английски")
        assert "Europe/Moscow" in await says(assistant, "мой часовой пояс Москва")
        assert "tomorrow at 10" in await says(assistant, "напомни купить хлеб завтра в 10")
