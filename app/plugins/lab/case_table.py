"""Cases and simulated users as tables, a row for each turn or wish: as CSV, and as the rows of a form."""

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.folder import LabFolder
from app.plugins.lab.mocks import Mock
from app.plugins.lab.reasons import PHRASES
from app.plugins.lab.refusal import LabRefusal
from app.plugins.lab.simulation import SimulatedUser, UserWish
from app.yaml_file import MisfitValue, validated
from prompts import FALLBACK, languages, sentence

LISTS = ("says", "never_says", "never_calls")
EXPECTED = (*LISTS, "calls", "holder", "most_model_calls")
Sheet = Literal["cases", "users"]
"""The kinds of tables: rows are the turns of cases, or the wishes of simulated users."""
NAMES: Mapping[Sheet, str] = {"cases": "case", "users": "user"}
"""The column with the name of a row's file."""
OF_WHOLE: Mapping[Sheet, Sequence[str]] = {
    "cases": ("about", "lang", "criterion"),
    "users": ("lang", "goal", "temper", "model"),
}
"""The columns about the whole case or user: filled in the first row, or the same in each row."""
MODELS: Mapping[Sheet, type[Case] | type[SimulatedUser]] = {"cases": Case, "users": SimulatedUser}
MOST_ROWS = 5_000
FORMULA = re.compile(r"'?[=+\-@\t\r]")
"""The beginning of a cell that a spreadsheet would compute; a mark before it makes it a text."""
HEADER = 2
"""The number of the first row behind the names of the columns, as spreadsheets count."""
Row = Mapping[str, str]
KnownNames = Mapping[str, Collection[str]]
"""The names that the cells of a column may have."""


def columns_of(sheet: Sheet) -> Sequence[str]:
    """Return the columns of a table."""
    return NAMES[sheet], *OF_WHOLE[sheet], "message", *EXPECTED


def rows_of(sheet: Sheet, name: str, whole: Case | SimulatedUser) -> Iterator[dict[str, str]]:
    """Yield the turns of a case, or the wishes of a user; traces, mocks and a case's user have no column."""
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
    """Return an expected call as text: the tool and, if there are any, its arguments in JSON."""
    return f"{call.tool} {json.dumps(dict(call.args), ensure_ascii=False)}" if call.args else call.tool


def mocks_of(part: Case | SimulatedUser) -> Sequence[Mock]:
    """Return a case's own mocks."""
    return part.mocks if isinstance(part, Case) else ()


def parts_of(
    sheet: Sheet, rows: Sequence[Row], kept: Mapping[str, Case | SimulatedUser]
) -> dict[str, Case | SimulatedUser]:
    """Return the cases or users of a table. Fields without a column stay as they are in the kept files.

    Raises UsageError: a cell is wrong; the message names its row and its column.
    """
    groups = dict[str, list[tuple[int, Row]]]()
    for number, row in enumerate(rows, HEADER):
        if any(value.strip() for value in row.values()):
            groups.setdefault(row.get(NAMES[sheet], "").strip(), []).append((number, row))
    if "" in groups:
        raise MisfitCell(groups[""][0][0], NAMES[sheet], "missing")
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
        raise MisfitCell(max(values.values()), column, "cell_contradicts")
    return next(iter(values), "")


def _turn(number: int, row: Row, kept: CaseTurn | None) -> CaseTurn:
    text = row.get("message", "").strip() or None
    expect = kept.expect if kept and kept.user == text else Expected()
    return CaseTurn(user=text, expect=_expected(number, row, expect))


def _expected(number: int, row: Row, kept: Expected) -> Expected:
    most = row.get("most_model_calls", "").strip()
    if most and not (most.isascii() and most.isdigit()):
        raise MisfitCell(number, "most_model_calls", "int")
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
        raise MisfitCell(number, "calls", "cell_call")
    return ExpectedCall(tool=tool, args=args)


def known_names(speakers: Speakers, mocks: Iterable[Mock]) -> KnownNames:
    """Return the names that cells may have, by column: tools, real and mocked; supervisor and dialogs; languages."""
    tools = {tool.name for speaker in speakers for tool in speaker.tools} | {mock.tool for mock in mocks}
    return {"calls": tools, "never_calls": tools, "holder": {SUPERVISOR, *speakers.dialogs}, "lang": {*languages()}}


def check_file(sheet: Sheet, part: Case | SimulatedUser, speakers: Speakers, mocks: Iterable[Mock]) -> None:
    """Raise UsageError if a case or a user has a name of nothing that exists."""
    check_names([*rows_of(sheet, "-", part)], known_names(speakers, [*mocks, *mocks_of(part)]))


def check_names(rows: Sequence[Row], known: KnownNames) -> None:
    """Raise UsageError if a cell has an unknown name: a play could never meet it."""
    for number, row in enumerate(rows, HEADER):
        for column, names in known.items():
            for name in (line.partition(" ")[0] for line in _lines(row.get(column, ""))):
                if name not in names:
                    raise MisfitCell(number, column, "cell_unknown", name=name[:80])


class MisfitCell(MisfitValue):
    """A cell is wrong; in a form it stands in a row of the turns, or is a field of the whole case."""

    def __init__(self, row: int, column: str, reason: str, /, **facts: str) -> None:
        self.row, self.column = row, column
        reason_in = partial(sentence, PHRASES if reason.startswith("cell_") else "form_errors", reason, **facts)
        is_of_turn = column in ("message", *EXPECTED)
        path = ("turns", row - HEADER, column) if is_of_turn else (column,)
        super().__init__(f"row {row}, {column}: {reason_in(FALLBACK)}", path, reason_in)

    def told(self, lang: str) -> str:
        """Return the fault of the cell, for a reader of the table as a file."""
        return sentence(PHRASES, "in_row", lang, row=self.row, column=self.column, reason=self.reason(lang))


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
        raise LabRefusal("not_utf8") from None
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), restkey="")
    names = [(name or "").strip() for name in reader.fieldnames or ()]
    reader.fieldnames = names
    if unknown := [name for name in names if name not in columns_of(sheet)]:
        raise LabRefusal("no_column", column=unknown[0][:40], columns=", ".join(columns_of(sheet)))
    if not {NAMES[sheet], "message"} <= {*names}:
        raise LabRefusal("no_header", column=NAMES[sheet])
    try:
        rows = [{name: _plain(cell or "") for name, cell in row.items() if name} for row in reader]
    except csv.Error as wrong:
        raise LabRefusal("broken_row", row=reader.line_num, why=wrong) from None
    if len(rows) > MOST_ROWS:
        raise LabRefusal("too_many_rows", rows=len(rows), most=MOST_ROWS)
    return rows


def _as_text(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell


def _plain(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def keep_table(
    folder: LabFolder,
    speakers: Speakers,
    sheet: Sheet,
    rows: Sequence[Row],
    mocks: Iterable[Mock] = (),
    *,
    replace: bool = False,
) -> list[str]:
    """Check all cases or users of a table, then keep them, and return their names; `mocks` are the lab's.

    Raises UsageError: a cell is wrong, or a file exists that may not be replaced; nothing is kept then.
    """
    names = {row.get(NAMES[sheet], "").strip() for row in rows} - {""}
    kept = {name: folder.read(sheet, name, MODELS[sheet]) for name in folder.names(sheet) if name in names}
    check_names(rows, known_names(speakers, [*mocks, *(it for part in kept.values() for it in mocks_of(part))]))
    parts = parts_of(sheet, rows, kept)
    if not parts:
        raise LabRefusal("no_row")
    changed = [name for name, part in parts.items() if name in kept and kept[name] != part]
    if changed and not replace:
        raise LabRefusal("would_change", names=", ".join(changed))
    folder.write_all(sheet, parts)
    return [*parts]
