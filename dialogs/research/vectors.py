"""Vectors of the indexed passages, by a model of embeddings: a replaceable SQLite file beside the index."""

import asyncio
import hashlib
import importlib
import sqlite3
import time
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from heapq import nlargest
from math import sqrt
from operator import mul
from urllib.parse import urlsplit

from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from agents.errors import ConfigError
from dialogs.research.index import DocumentIndex, Passage

AT_ONCE = 64  # Passages in a request.
LONGEST_QUERY = 2_000  # The most sent characters of a query.
PATIENCE = 60.0  # The most seconds of a request.
LOCAL = ("localhost", "127.0.0.1", "::1")
TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, passage INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (model, passage)) WITHOUT ROWID
"""


ADD = """
INSERT OR REPLACE INTO vectors (model, passage, digest, vector) VALUES (:model, :passage, :digest, :vector)
"""


@dataclass(frozen=True)
class EmbeddingModel:
    """A model that makes vectors of texts; `is_local` tells whether it runs on this machine, as far as is known."""

    name: str
    client: Embeddings
    is_local: bool = False


@asynccontextmanager
async def embedding_model(
    name: str, base_url: str = "", key: SecretStr | None = None
) -> AsyncIterator[EmbeddingModel | None]:
    """Yield the model `provider:name`, None for an empty name; key and address are those of "openai:" models.

    Raises:
        ConfigError: the provider is unknown, or its package or its key is missing.
    """
    provider, _, bare = name.partition(":")
    if provider != "openai":
        yield EmbeddingModel(name, _client(provider, bare)) if name else None
        return
    if not (key or base_url):
        raise ConfigError("EMBEDDINGS_MODEL: openai: models need EMBEDDINGS_API_KEY or EMBEDDINGS_BASE_URL")
    # The client takes a second to load.
    from langchain_openai import OpenAIEmbeddings  # noqa: PLC0415
    from openai import DefaultAsyncHttpxClient  # noqa: PLC0415

    async with DefaultAsyncHttpxClient(trust_env=False, timeout=PATIENCE) as http:
        settings = {
            "model": bare,
            "base_url": base_url or None,
            "api_key": key or SecretStr("none"),
            "http_async_client": http,
            # The client would count tokens by a downloaded table, and send tokens where servers take text.
            "check_embedding_ctx_length": False,
        }
        yield EmbeddingModel(name, OpenAIEmbeddings.model_validate(settings), urlsplit(base_url).hostname in LOCAL)


def _client(provider: str, model: str) -> Embeddings:
    try:
        embeddings = importlib.import_module("langchain.embeddings").init_embeddings(model, provider=provider)
    except ImportError:
        raise ConfigError(f"EMBEDDINGS_MODEL: pip install langchain langchain-{provider}") from None
    except Exception as wrong:
        # The packages raise many types: ValidationError, ValueError, errors of their clients.
        raise ConfigError(f"EMBEDDINGS_MODEL: {provider}:{model} cannot be used ({type(wrong).__name__})") from None
    assert isinstance(embeddings, Embeddings)  # so promises init_embeddings for a name
    return embeddings


@dataclass(frozen=True)
class Cost:
    """The cost of vectors: the passages and characters sent now, the time, and the bytes of all vectors."""

    passages: int
    characters: int
    seconds: float
    bytes: int


class Vectors:
    """Keeps a vector for each passage of the index, and finds the passages whose vectors are nearest to a query's."""

    def __init__(self, index: DocumentIndex, model: EmbeddingModel) -> None:
        self._index, self.model = index, model
        self.path = index.path.with_suffix(".vectors.db")

    async def add(self) -> Cost:
        """Let the model make the missing vectors of passages, and drop those of deleted passages.

        Raises:
            Exception: an error of the model's client; the vectors made before are kept.
        """
        begun, passages = time.monotonic(), await asyncio.to_thread(self._index.passages)
        digests = {number: _digest(passage) for number, passage in passages.items()}
        missing, characters = await asyncio.to_thread(self._without_vector, digests), 0
        for start in range(0, len(missing), AT_ONCE):
            numbers = missing[start : start + AT_ONCE]
            texts = [_text(passages[number]) for number in numbers]
            vectors = await self.model.client.aembed_documents(texts)
            with closing(self._opened()) as database, database:
                packed = zip(numbers, map(_packed, vectors), strict=True)
                database.executemany(ADD, [self._row(number, digests[number], it) for number, it in packed])
            characters += sum(map(len, texts))
        return Cost(len(missing), characters, time.monotonic() - begun, self.path.stat().st_size)

    async def nearest(self, query: str, limit: int) -> list[Passage]:
        """Return the passages with the vectors nearest to a query's, the nearest first.

        Raises:
            Exception: an error of the model's client.
        """
        vector = array("f", _packed(await self.model.client.aembed_query(query[:LONGEST_QUERY])))
        return await asyncio.to_thread(self._nearest, vector, limit)

    def _nearest(self, query: "array[float]", limit: int) -> list[Passage]:
        with closing(self._opened()) as database:
            rows = database.execute("SELECT passage, digest, vector FROM vectors WHERE model = ?", (self.model.name,))
            closeness = ((sum(map(mul, query, array("f", vector))), number, digest) for number, digest, vector in rows)
            best = nlargest(limit, closeness)
        passages = self._index.passages([number for _, number, _ in best])
        there = [(passages[number], digest) for _, number, digest in best if number in passages]
        return [passage for passage, digest in there if _digest(passage) == digest]

    def _without_vector(self, digests: Mapping[int, bytes]) -> list[int]:
        """Delete the vectors of deleted passages; return the passages without a vector of this model.

        A file that was read again has new numbers for its passages; their texts are mostly the same.
        """
        with closing(self._opened()) as database, database:
            stored = "SELECT passage, digest, vector FROM vectors WHERE model = ?"
            vectors = {digest: vector for _, digest, vector in database.execute(stored, (self.model.name,))}
            database.execute("DELETE FROM vectors")
            there = [(number, digest) for number, digest in digests.items() if digest in vectors]
            database.executemany(ADD, [self._row(number, digest, vectors[digest]) for number, digest in there])
        return [number for number, digest in digests.items() if digest not in vectors]

    def _row(self, passage: int, digest: bytes, vector: bytes) -> Mapping[str, object]:
        return {"model": self.model.name, "passage": passage, "digest": digest, "vector": vector}

    def _opened(self) -> sqlite3.Connection:
        # Only the owner may read the file: a vector reveals something of its text.
        self.path.touch(0o600)
        database = sqlite3.connect(self.path, timeout=30)
        database.execute(TABLE)
        return database


def _text(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}"


def _digest(passage: Passage) -> bytes:
    return hashlib.sha256(_text(passage).encode("utf-8", "replace")).digest()[:16]


def _packed(vector: Sequence[float]) -> bytes:
    """Return a vector of length one, as numbers of four bytes."""
    length = sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [part / length for part in vector]).tobytes()
