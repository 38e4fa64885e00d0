"""Cases and simulated users as tables, a row for each turn or wish: as CSV, and as the rows of a form."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from agents.errors import UsageError
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.folder import LabFolder
from app.plugins.lab.simulation import SimulatedUser, UserWish
from app.yaml_file import MisfitValue, validated
from prompts import FALLBACK, sentence

LISTS = ("says", "never_says", "never_calls")
EXPECTED = (*LISTS, "calls", "holder", "most_model_calls")
Sheet = Literal["cases", "users"]
"""What is written as a table: its rows are the turns of cases, or the wishes of simulated users."""
NAMES: Mapping[Sheet, str] = {"cases": "case", "users": "user"}
"""The column that says which file a row is of."""
OF_WHOLE: Mapping[Sheet, Sequence[str]] = {
    "cases": ("about", "lang", "criterion"),
    "users": ("lang", "goal", "temper", "model"),
}
"""The columns that say something of the whole: in its first row, or in each the same."""
MODELS: Mapping[Sheet, type[Case] | type[SimulatedUser]] = {"cases": Case, "users": SimulatedUser}
MOST_ROWS = 5_000
FORMULA = re.compile(r"'?[=+\-@\t\r]")
"""How a cell begins that a spreadsheet would compute; a mark before it makes it a text."""
HEADER = 2
"""The number of the first row behind the names of the columns, as spreadsheets count."""
Row = Mapping[str, str]


def columns_of(sheet: Sheet) -> Sequence[str]:
    """Return the columns of a table."""
    return NAMES[sheet], *OF_WHOLE[sheet], "message", *EXPECTED


def rows_of(sheet: Sheet, name: str, whole: Case | SimulatedUser) -> Iterator[dict[str, str]]:
    """Yield the turns of a case, or the wishes of a user; traces, mocks and who talks have no column."""
    if isinstance(whole, Case):
        pairs = [(turn.user or "", turn.expect) for turn in whole.turns]
    else:
        pairs = [("\n".join(wish.says), wish.expect) for wish in whole.wishes] or [("", Expected())]
    for place, (message, expect) in enumerate(pairs):
        most = "" if expect.most_model_calls is None else str(expect.most_model_calls)
        yield {
            **{column: "" if place else getattr(whole, column) for column in OF_WHOLE[sheet]},
            **{column: "\n".join(getattr(expect, column)) for column in LISTS},
            NAMES[sheet]: name,
            "message": message,
            "calls": "\n".join(map(call_text, expect.calls)),
            "holder": expect.holder,
            "most_model_calls": most,
        }


def call_text(call: ExpectedCall) -> str:
    """Return an expected call as people write it: the tool and, if there are any, its arguments in JSON."""
    return f"{call.tool} {json.dumps(dict(call.args), ensure_ascii=False)}" if call.args else call.tool


def parts_of(
    sheet: Sheet, rows: Sequence[Row], kept: Mapping[str, Case | SimulatedUser]
) -> dict[str, Case | SimulatedUser]:
    """Return the cases or users of a table. What has no column stays as it is in those that are kept.

    Raises UsageError: a cell is wrong; the message names its row and its column.
    """
    groups = dict[str, list[tuple[int, Row]]]()
    for number, row in enumerate(rows, HEADER):
        if any(value.strip() for value in row.values()):
            groups.setdefault(row.get(NAMES[sheet], "").strip(), []).append((number, row))
    if "" in groups:
        raise _misfit(groups[""][0][0], NAMES[sheet], "missing")
    return {name: _part(sheet, group, kept.get(name)) for name, group in groups.items()}


def _part(sheet: Sheet, rows: Sequence[tuple[int, Row]], kept: Case | SimulatedUser | None) -> Case | SimulatedUser:
    of_whole = {column: _agreed(rows, column) for column in OF_WHOLE[sheet]}
    if sheet == "users":
        expected_before = {wish.says: wish.expect for wish in kept.wishes} if isinstance(kept, SimulatedUser) else {}
        wordings = [(tuple(_lines(row.get("message", ""))), number, row) for number, row in rows]
        wishes = [
            UserWish(says=says, expect=_expected(number, row, expected_before.get(says, Expected())))
            for says, number, row in wordings
            if says
        ]
        return validated(SimulatedUser, {**{name: it for name, it in of_whole.items() if it}, "wishes": wishes})
    before = kept.turns if isinstance(kept, Case) else ()
    turns = tuple(
        _turn(number, row, before[place] if place < len(before) else None) for place, (number, row) in enumerate(rows)
    )
    whole = kept if isinstance(kept, Case) else Case(turns=turns)
    return whole.model_copy(update={**of_whole, "turns": turns})


def _agreed(rows: Sequence[tuple[int, Row]], column: str) -> str:
    values = {row.get(column, "").strip(): number for number, row in rows[::-1] if row.get(column, "").strip()}
    if len(values) > 1:
        raise _misfit(max(values.values()), column, "cell_contradicts")
    return next(iter(values), "")


def _turn(number: int, row: Row, kept: CaseTurn | None) -> CaseTurn:
    text = row.get("message", "").strip() or None
    expect = kept.expect if kept and kept.user == text else Expected()
    return CaseTurn(user=text, expect=_expected(number, row, expect))


def _expected(number: int, row: Row, kept: Expected) -> Expected:
    most = row.get("most_model_calls", "").strip()
    if most and not (most.isascii() and most.isdigit()):
        raise _misfit(number, "most_model_calls", "int")
    update: dict[str, object] = {column: tuple(_lines(row.get(column, ""))) for column in LISTS}
    update |= {"holder": row.get("holder", "").strip(), "most_model_calls": int(most) if most else None}
    update |= {"calls": tuple(_call(line, number) for line in _lines(row.get("calls", "")))}
    return kept.model_copy(update=update)


def _call(line: str, number: int) -> ExpectedCall:
    tool, _, written = line.partition(" ")
    try:
        args = json.loads(written or "{}")
    except ValueError:
        args = None
    if not isinstance(args, dict):
        raise _misfit(number, "calls", "cell_call")
    return ExpectedCall(tool=tool, args=args)


def _misfit(number: int, column: str, reason: str) -> MisfitValue:
    """Return the fault of a cell; in a form it stands in a row of the turns."""
    reason_in = partial(sentence, "lab/phrases" if reason.startswith("cell_") else "form_errors", reason)
    return MisfitValue(f"row {number}, {column}: {reason_in(FALLBACK)}", ("turns", number - HEADER, column), reason_in)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def csv_of(sheet: Sheet, parts: Mapping[str, Case | SimulatedUser]) -> str:
    """Return cases or users as CSV that spreadsheets read as UTF-8 and as texts."""
    written = io.StringIO()
    writer = csv.DictWriter(written, columns_of(sheet))
    writer.writeheader()
    for name, part in parts.items():
        writer.writerows({key: _as_text(cell) for key, cell in row.items()} for row in rows_of(sheet, name, part))
    return f"\ufeff{written.getvalue()}"


def read_csv(sheet: Sheet, data: bytes) -> Sequence[Row]:
    """Return the rows of a CSV file, whose columns are named and stand between commas, semicolons or tabs.

    Raises UsageError: the file is no such table; the message names the fault.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the file is not UTF-8: save it as CSV in UTF-8") from None
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), restkey="")
    names = [(name or "").strip() for name in reader.fieldnames or ()]
    reader.fieldnames = names
    if unknown := [name for name in names if name not in columns_of(sheet)]:
        raise UsageError(f"there is no column {unknown[0][:40]!r}; there are: {', '.join(columns_of(sheet))}")
    if not {NAMES[sheet], "message"} <= {*names}:
        raise UsageError(f"the first row names the columns; {NAMES[sheet]} and message are needed")
    try:
        rows = [{name: _plain(cell or "") for name, cell in row.items() if name} for row in reader]
    except csv.Error as wrong:
        raise UsageError(f"row {reader.line_num}: {wrong}") from None
    if len(rows) > MOST_ROWS:
        raise UsageError(f"the table has {len(rows)} rows; {MOST_ROWS} are the most")
    return rows


def _as_text(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell


def _plain(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def keep_table(folder: LabFolder, sheet: Sheet, rows: Sequence[Row], *, replace: bool = False) -> list[str]:
    """Check all cases or users of a table, then keep them, and return their names.

    Raises UsageError: a cell is wrong, or something would change that may not be replaced; nothing is kept then.
    """
    names = {row.get(NAMES[sheet], "").strip() for row in rows} - {""}
    kept = {name: folder.read(sheet, name, MODELS[sheet]) for name in folder.names(sheet) if name in names}
    parts = parts_of(sheet, rows, kept)
    if not parts:
        raise UsageError("the table has no row")
    for name in parts:
        folder.path(sheet, name)
    changed = [name for name, part in parts.items() if name in kept and kept[name] != part]
    if changed and not replace:
        raise UsageError(f"these {sheet} are there already and would change: {', '.join(changed)}")
    for name, part in parts.items():
        folder.write(sheet, name, part)
    return [*parts]
