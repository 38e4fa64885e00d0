"""Cases as a table, a row for each turn: as CSV for spreadsheets, and as the rows of a form."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from agents.errors import UsageError
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.folder import LabFolder
from app.yaml_file import MisfitValue
from prompts import FALLBACK, sentence

OF_CASE = ("about", "lang", "criterion")
"""The columns that say something of the whole case: in its first row, or in each the same."""
LISTS = ("says", "never_says", "never_calls")
COLUMNS = ("case", *OF_CASE, "message", *LISTS, "calls", "holder", "most_model_calls")
MOST_ROWS = 5_000
FORMULA = re.compile(r"'?[=+\-@\t\r]")
"""How a cell begins that a spreadsheet would compute; a mark before it makes it a text."""
HEADER = 2
"""The number of the first row behind the names of the columns, as spreadsheets count."""
Row = Mapping[str, str]


def rows_of(name: str, case: Case) -> Iterator[dict[str, str]]:
    """Yield the turns of a case; traces, mocks and who talks have no column."""
    of_case = {"about": case.about, "lang": case.lang, "criterion": case.criterion}
    for place, turn in enumerate(case.turns):
        expect = turn.expect
        most = "" if expect.most_model_calls is None else str(expect.most_model_calls)
        yield {
            **dict.fromkeys(COLUMNS, ""),
            **({} if place else of_case),
            **{column: "\n".join(getattr(expect, column)) for column in LISTS},
            "case": name,
            "message": turn.user or "",
            "calls": "\n".join(map(call_text, expect.calls)),
            "holder": expect.holder,
            "most_model_calls": most,
        }


def call_text(call: ExpectedCall) -> str:
    """Return an expected call as people write it: the tool and, if there are any, its arguments in JSON."""
    return f"{call.tool} {json.dumps(dict(call.args), ensure_ascii=False)}" if call.args else call.tool


def cases_of(rows: Sequence[Row], kept: Mapping[str, Case]) -> dict[str, Case]:
    """Return the cases of a table. What has no column stays as it is in the cases that are kept.

    Raises UsageError: a cell is wrong; the message names its row and its column.
    """
    groups = dict[str, list[tuple[int, Row]]]()
    for number, row in enumerate(rows, HEADER):
        if any(value.strip() for value in row.values()):
            groups.setdefault(row.get("case", "").strip(), []).append((number, row))
    if "" in groups:
        raise _misfit(groups[""][0][0], "case", "missing")
    return {name: _case(group, kept.get(name)) for name, group in groups.items()}


def _case(rows: Sequence[tuple[int, Row]], kept: Case | None) -> Case:
    of_case = {column: _agreed(rows, column) for column in OF_CASE}
    before = kept.turns if kept else ()
    turns = [
        _turn(number, row, before[place] if place < len(before) else None) for place, (number, row) in enumerate(rows)
    ]
    return (kept or Case(turns=tuple(turns))).model_copy(update={**of_case, "turns": tuple(turns)})


def _agreed(rows: Sequence[tuple[int, Row]], column: str) -> str:
    values = {row.get(column, "").strip(): number for number, row in rows[::-1] if row.get(column, "").strip()}
    if len(values) > 1:
        raise _misfit(max(values.values()), column, "cell_contradicts")
    return next(iter(values), "")


def _turn(number: int, row: Row, kept: CaseTurn | None) -> CaseTurn:
    text = row.get("message", "").strip() or None
    expect = kept.expect if kept and kept.user == text else Expected()
    most = row.get("most_model_calls", "").strip()
    if most and not (most.isascii() and most.isdigit()):
        raise _misfit(number, "most_model_calls", "int")
    update: dict[str, object] = {column: tuple(_lines(row.get(column, ""))) for column in LISTS}
    update |= {"holder": row.get("holder", "").strip(), "most_model_calls": int(most) if most else None}
    update |= {"calls": tuple(_call(line, number) for line in _lines(row.get("calls", "")))}
    return CaseTurn(user=text, expect=expect.model_copy(update=update))


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


def csv_of(cases: Mapping[str, Case]) -> str:
    """Return cases as CSV that spreadsheets read as UTF-8 and as texts."""
    written = io.StringIO()
    writer = csv.DictWriter(written, COLUMNS)
    writer.writeheader()
    for name, case in cases.items():
        writer.writerows({key: _as_text(cell) for key, cell in row.items()} for row in rows_of(name, case))
    return f"\ufeff{written.getvalue()}"


def read_csv(data: bytes) -> Sequence[Row]:
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
    if unknown := [name for name in names if name not in COLUMNS]:
        raise UsageError(f"there is no column {unknown[0][:40]!r}; there are: {', '.join(COLUMNS)}")
    if not {"case", "message"} <= {*names}:
        raise UsageError("the first row names the columns; case and message are needed")
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


def keep_table(folder: LabFolder, rows: Sequence[Row], *, replace: bool = False) -> list[str]:
    """Check all cases of a table, then keep them, and return their names.

    Raises UsageError: a cell is wrong, or a case would change that may not be replaced; nothing is kept then.
    """
    names = {row.get("case", "").strip() for row in rows} - {""}
    kept = {name: folder.read("cases", name, Case) for name in folder.names("cases") if name in names}
    cases = cases_of(rows, kept)
    if not cases:
        raise UsageError("the table has no row")
    for name in cases:
        folder.path("cases", name)
    changed = [name for name, case in cases.items() if name in kept and kept[name] != case]
    if changed and not replace:
        raise UsageError(f"these cases are there already and would change: {', '.join(changed)}")
    for name, case in cases.items():
        folder.write("cases", name, case)
    return [*cases]
