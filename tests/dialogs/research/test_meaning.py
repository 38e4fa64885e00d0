"""Documents found by what they mean: vectors of a model, made for new passages alone, combined with the words."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from pydantic import SecretStr

from agents.errors import ConfigError
from app.cli import command_line
from app.testing import Chat
from app.testing.script import Call
from dialogs.research.index import DocumentIndex, index_file, index_folder
from dialogs.research.settings import ResearchSettings, read_plans
from dialogs.research.vectors import Vectors, embedding_model
from tests.support.http_service import Answer, Service

NOTES = "# Bicycle\n\nIts tyres are new.\n\n# Door\n\nThe code is 4711.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write two sections."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "house.md").write_text(NOTES, "utf-8")
    return tmp_path / "notes"


@pytest.fixture
def index(tmp_path: Path, folder: Path) -> DocumentIndex:
    """Index them."""
    return indexed(DocumentIndex(tmp_path / "x.documents.db"), folder)


def indexed(index: DocumentIndex, folder: Path) -> DocumentIndex:
    """Index what is new in the folder."""
    index_folder(index, folder, "", lambda *_: None)
    return index


@asynccontextmanager
async def vectors_by(llmock: LLMock, index: DocumentIndex, name: str = "openai:e") -> AsyncIterator[Vectors]:
    """Keep vectors that a model of the server makes."""
    async with embedding_model(name, llmock.base_url(), SecretStr("k")) as model:
        assert model is not None
        yield Vectors(index, model)


async def test_only_what_is_new_is_sent(index: DocumentIndex, folder: Path, llmock: LLMock) -> None:
    """A passage is sent once to a model; vectors of passages that are gone, or of another model, are deleted."""
    async with vectors_by(llmock, index) as vectors:
        first = await vectors.add()
        assert (first.passages, first.characters) == (2, 48)
        assert (await vectors.add()).passages == 0
        (folder / "house.md").write_text(NOTES.replace("4711", "4712"), "utf-8")
        indexed(index, folder)
        assert (await vectors.add()).passages == 1
    async with vectors_by(llmock, index, "openai:other") as others:
        assert (await others.add()).passages == 2
    async with vectors_by(llmock, index) as vectors:
        assert await vectors.nearest("Door\nThe code is 4712.", 2) == []


async def test_a_text_that_has_changed_is_not_found(index: DocumentIndex, folder: Path, llmock: LLMock) -> None:
    """Until new vectors are made, a vector leads to its own text or to nothing."""
    async with vectors_by(llmock, index) as vectors:
        await vectors.add()
        best, _ = await vectors.nearest("Door\nThe code is 4711.", 5)
        assert (best.title, best.url) == ("Door", "house.md#door")
        (folder / "house.md").write_text(NOTES.replace("4711", "4712"), "utf-8")
        indexed(index, folder)
        assert "4712" not in str(await vectors.nearest("Door\nThe code is 4711.", 5))


async def test_words_and_meaning_together(chat: Chat, folder: Path) -> None:
    """A text without the query's words is found by its meaning; a server of this machine needs no confirmation."""
    indexed(DocumentIndex(index_file(chat.path)), folder)
    vectors = Answer({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}], "model": "e", "usage": {}})
    async with Service.open(vectors) as server:
        settings = {
            "search_sources": read_plans("own: documents + meaning"),
            "embeddings_model": "openai:e",
            "embeddings_base_url": server.url,
        }
        chat.services = [ResearchSettings.model_validate(settings)]
        async with embedding_model("openai:e", server.url) as model:
            assert model is not None
            await Vectors(DocumentIndex(index_file(chat.path)), model).add()
        chat.expects(
            supervisor=[Call("look_things_up", {"brief": "velocipede"})],
            research=[Call("search", {"queries": ["velocipede"]}), "They are new [source=[0]]."],
        )
        trace = await chat.says("How are the tyres of my velocipede?")
    assert "Its tyres are new." in trace
    assert "confirm" not in trace


@pytest.mark.needs("standin")
def test_vectors_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], llmock: LLMock
) -> None:
    """The command tells what was sent and what the vectors take; without a model it says what to set."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'dialogs.db'}")
    monkeypatch.setenv("APP_LANG", "en")
    assert command_line.main(["index", "add", str(folder)]) == 0
    assert command_line.main(["research", "embed"]) == 2
    assert "EMBEDDINGS_MODEL names no model" in capsys.readouterr().err
    monkeypatch.setenv("EMBEDDINGS_MODEL", "openai:e")
    monkeypatch.setenv("EMBEDDINGS_BASE_URL", llmock.base_url())
    assert command_line.main(["research", "embed", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert (cost["passages"], cost["characters"]) == (2, 48)
    assert cost["bytes"] > 2 * 1536 * 4
    monkeypatch.setenv("EMBEDDINGS_BASE_URL", "http://127.0.0.1:9/v1")
    (folder / "more.md").write_text("# More\n\nText.", "utf-8")
    assert command_line.main(["index", "add", str(folder)]) == 0
    assert command_line.main(["research", "embed"]) == 2
    assert "openai:e makes no vectors: connection refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai:e", "EMBEDDINGS_API_KEY or EMBEDDINGS_BASE_URL"),
        ("nobody:e", "cannot be used"),
        ("cohere:e", "pip install langchain langchain-cohere"),
    ],
)
async def test_a_model_that_cannot_be_used(name: str, words: str) -> None:
    """An operator who sets a missing model reads what to do."""
    with pytest.raises(ConfigError, match=words):
        await embedding_model(name).__aenter__()
