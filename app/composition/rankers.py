"""The rankers of tools and the readings of their cards: kept beside the database, and ready before their first use."""

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
from agents.toolkit.speaker import Speakers
from agents.toolkit.tool_search import tool_searches
from prompts import language, languages

AFTER = 1.0
"""Seconds until the training of missing rankers: the door opens first."""
MOST_KEPT = 12
"""The most kept files; the oldest one goes for the next."""


def keep_beside(database: Path) -> None:
    """Keep rankers beside the database from now on."""
    folder = database.with_name(f"{database.stem}.rankers")
    ranker.make_ranker, ranker.reader = partial(kept_ranker, folder), partial(kept_readings, folder)


def kept_ranker(folder: Path, cards: Sequence[Card]) -> ToolRanker:
    """Return the ranker of these cards: the kept one of the folder, or one that is trained and kept now."""
    file = _file(folder, repr(cards), linear_model, stems)
    with suppress(OSError, ValueError):
        return ToolRanker(cards, unpacked(file.read_bytes()))
    made = ToolRanker(cards)
    _keep(file, packed(made.space, made.linear))
    return made


def kept_readings(folder: Path, phrases: Collection[str]) -> Mapping[str, Reading]:
    """Return the words and stems of phrases: the kept ones of the folder, or those that are made and kept now."""
    language_data = [[lang, asdict(language(lang))] for lang in languages()]
    file = _file(folder, repr([language_data, sorted(phrases)]), ranker, stems)
    with suppress(OSError, ValueError, zlib.error):
        rows = json.loads(zlib.decompress(file.read_bytes()))
        return {phrase: (tuple(words), tuple(roots)) for phrase, words, roots in rows}
    made = ranker.read_phrases(phrases)
    rows = [[phrase, words, roots] for phrase, (words, roots) in made.items()]
    _keep(file, zlib.compress(json.dumps(rows, ensure_ascii=False).encode()))
    return made


def _file(folder: Path, about: str, *makers: ModuleType) -> Path:
    """Return the file for the result of these modules on a text."""
    sources = (Path(str(module.__file__)).read_bytes() for module in makers)
    return folder / hashlib.sha256(b"".join([*sources, about.encode()])).hexdigest()


def _keep(file: Path, data: bytes) -> None:
    """Write a file, and delete the oldest of a full folder; a file that cannot be written is made again."""
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
    """Return the model from its bytes, as `packed` made them. Raises ValueError if they are broken."""
    end = 8 + int.from_bytes(data[4:8])
    if zlib.crc32(data[4:]).to_bytes(4) != data[:4]:
        raise ValueError("a broken model")
    space, linear = Space(()), Linear(0, ())
    space.rarity, space.unseen, classes, names, lengths = json.loads(data[8:end])
    middle = end + linear.numbers.itemsize * sum(lengths)
    linear.set(classes, names, lengths, array("H", data[end:middle]), array("f", data[middle:]))
    return space, linear


async def train(speakers: Speakers, *, direct: bool) -> None:
    """Train the missing rankers, in a thread."""
    searched = (tool_search.cards for tool_search in tool_searches(speakers).values())
    for cards in (*searched, cards_of_all(speakers, direct=direct)):
        await asyncio.to_thread(ranker_of, cards)


@asynccontextmanager
async def prepared(speakers: Speakers, *, direct: bool) -> AsyncIterator[None]:
    """Train the missing rankers during the block, beside everything else."""

    async def train_late() -> None:
        await asyncio.sleep(AFTER)
        await train(speakers, direct=direct)

    training = asyncio.create_task(train_late())
    try:
        yield
    finally:
        training.cancel()
        await asyncio.gather(training, return_exceptions=True)
