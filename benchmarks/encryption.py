"""Measure the cost of an encrypted file: CPU per turn with a key and without one, in one run.

`python -m benchmarks.encryption` plays the script on new files with a scripted model, with and without a key in turns.
The table has the median of the rounds; `ratio` is the encrypted file's figure divided by the plain one's.
"""

import asyncio
import secrets
import statistics
import tempfile
import time
from pathlib import Path

from pydantic import SecretStr

from app.plugins.encryption.encrypted_file import EncryptedFile
from benchmarks.conversation import ROUND, TURNS, script
from benchmarks.pair import ROUNDS
from benchmarks.performing import Player, perform, stage
from benchmarks.report import Row, arguments, show


def cpu_ms(key: SecretStr | None, turns: int) -> float:
    """Play the script on a new file; return the milliseconds of CPU of a turn, SQLite's threads included."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_play(Path(folder) / "turns.db", key, turns))


async def _play(path: Path, key: SecretStr | None, turns: int) -> float:
    player, steps = Player(), script(turns)
    async with stage(f"sqlite:///{path}", player, backend=lambda url: EncryptedFile(url, key)) as assistant:
        begun = time.process_time()
        async for _ in perform(assistant, player, steps):
            player.asked.clear()
        return (time.process_time() - begun) * 1000 / len(steps)


def main() -> None:
    """Play a short thread as a warm-up, then measure."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of the script")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="files of each kind")
    chosen = parser.parse_args()
    key = SecretStr(secrets.token_hex(32))
    cpu_ms(key, ROUND)
    plain, with_key = list[float](), list[float]()
    for _ in range(chosen.rounds):
        plain.append(cpu_ms(None, chosen.turns))
        with_key.append(cpu_ms(key, chosen.turns))
    middle, middle_with_key = statistics.median(plain), statistics.median(with_key)
    row: Row = {"measure": "CPU per turn, ms", "plain": middle, "with a key": middle_with_key}
    row |= {"ratio": middle_with_key / middle, "rounds": chosen.rounds}
    show([row], as_json=chosen.json)


if __name__ == "__main__":
    main()
