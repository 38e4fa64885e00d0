"""The rankers of tools and what was read of their cards: kept beside the database, and ready before they are needed."""

import asyncio
import hashlib
import json
import os
import zlib
from array import array
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType

from agents.language.text import stems
from agents.language.tool_ranker import linear_model, ranker
from agents.language.tool_ranker.linear_model import Linear, Space
from agents.language.tool_ranker.ranker import Card, Reading, ToolRanker, ranker_of
from agents.nodes.shortcut import cards_of_all
from agents.toolkit.shelf import shelves
from agents.toolkit.speaker import Speakers
from prompts import language, languages

AFTER = 1.0
"""Seconds after which what is not kept yet is trained: the door opens first."""
MOST_KEPT = 12
"""Files that are kept; the oldest one goes for the next."""


def keep_beside(database: Path) -> None:
    """Keep rankers beside the database from now on."""
    folder = database.with_name(f"{database.stem}.rankers")
    ranker.make_ranker, ranker.reader = partial(kept_ranker, folder), partial(kept_readings, folder)


def kept_ranker(folder: Path, cards: Sequence[Card]) -> ToolRanker:
    """Return the ranker of these cards: the one that is kept in the folder, or one that is trained now and kept."""
    file = _file(folder, repr(cards), linear_model, stems)
    with suppress(OSError, ValueError):
        return ToolRanker(cards, unpacked(file.read_bytes()))
    made = ToolRanker(cards)
    _keep(file, packed(made.space, made.linear))
    return made


def kept_readings(folder: Path, phrases: Collection[str]) -> Mapping[str, Reading]:
    """Return the words and stems of phrases: those that are kept in the folder, or those that are made now and kept."""
    known = [[lang, asdict(language(lang))] for lang in languages()]
    file = _file(folder, repr([known, sorted(phrases)]), ranker, stems)
    with suppress(OSError, ValueError, zlib.error):
        rows = json.loads(zlib.decompress(file.read_bytes()))
        return {phrase: (tuple(words), tuple(roots)) for phrase, words, roots in rows}
    made = ranker.read_phrases(phrases)
    rows = [[phrase, words, roots] for phrase, (words, roots) in made.items()]
    _keep(file, zlib.compress(json.dumps(rows, ensure_ascii=False).encode()))
    return made


def _file(folder: Path, about: str, *makers: ModuleType) -> Path:
    """Return the file of what these modules make of a text."""
    sources = (Path(str(module.__file__)).read_bytes() for module in makers)
    return folder / hashlib.sha256(b"".join([*sources, about.encode()])).hexdigest()


def _keep(file: Path, data: bytes) -> None:
    """Write a file, and let the oldest of its folder go; where it cannot be kept, it is made again."""
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_bytes(data)
        part.replace(file)
        for old in sorted(file.parent.iterdir(), key=lambda path: -path.stat().st_mtime)[MOST_KEPT:]:
            old.unlink(missing_ok=True)


def packed(space: Space, linear: Linear) -> bytes:
    """Return a trained model as bytes: a checksum, the length of the head, the head, and two arrays."""
    head = json.dumps([space.rarity, space.unseen, linear.classes, linear.names, linear.lengths]).encode()
    body = b"".join([len(head).to_bytes(4), head, linear.numbers.tobytes(), linear.weights.tobytes()])
    return zlib.crc32(body).to_bytes(4) + body


def unpacked(data: bytes) -> tuple[Space, Linear]:
    """Return the model that `packed` has made bytes of. Raises ValueError if they are broken."""
    end = 8 + int.from_bytes(data[4:8])
    if zlib.crc32(data[4:]).to_bytes(4) != data[:4]:
        raise ValueError("a broken model")
    space, linear = Space(()), Linear(0, ())
    space.rarity, space.unseen, classes, names, lengths = json.loads(data[8:end])
    middle = end + linear.numbers.itemsize * sum(lengths)
    linear.set(classes, names, lengths, array("H", data[end:middle]), array("f", data[middle:]))
    return space, linear


@asynccontextmanager
async def prepared(speakers: Speakers, *, direct: bool) -> AsyncIterator[None]:
    """Train during the block what is not kept yet, beside everything else."""

    async def train() -> None:
        await asyncio.sleep(AFTER)
        for cards in (*(shelf.cards for shelf in shelves(speakers).values()), cards_of_all(speakers, direct=direct)):
            await asyncio.to_thread(ranker_of, cards)

    training = asyncio.create_task(train())
    try:
        yield
    finally:
        training.cancel()
        await asyncio.gather(training, return_exceptions=True)
