"""Count the words in histories that a speaker has said and no user has seen: there must be none.

`python -m benchmarks.unseen` plays the conversation that is counted elsewhere, with and without questions in its
answers; `benchmarks.replay` counts the same over the tasks of a shop. Cancelled drafts, observers and summaries are no
replies, and words that a view has replaced are kept as left out.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from app.testing.kept_replies import KeptReplies
from benchmarks.conversation import Step, asking_nothing, script
from benchmarks.performing import Player, perform, stage
from benchmarks.report import Row, arguments, show

TURNS = 60


def row(name: str, kept: KeptReplies) -> Row:
    """Return the counts of a conversation."""
    words = [sum(len(text.split()) for text in texts) for texts in (kept.texts, kept.unseen)]
    return {
        "conversation": name,
        "different replies": len(kept.texts),
        "words kept": words[0],
        "words unseen": words[1],
    }


async def _performed(steps: Sequence[Step], folder: Path) -> KeptReplies:
    player, kept = Player(), KeptReplies()
    async with stage(f"sqlite:///{folder / 'unseen.db'}", player) as assistant:
        async for _ in perform(assistant, player, steps):
            # The application cuts histories at times.
            await kept.take(assistant, "script")
    return kept


def performed(turns: int = TURNS, *, asks: bool = True) -> KeptReplies:
    """Perform the script with so many turns; without `asks` the answers contain no questions."""
    steps = script(turns) if asks else asking_nothing(script(turns))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_performed(steps, Path(folder)))


def main() -> None:
    """Count in all conversations."""
    chosen = arguments(__doc__).parse_args()
    rows = [row("script", performed()), row("script, asking nothing", performed(asks=False))]
    show(rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
