"""A check of the tools' words in `standin.toml`: it finds tables, tools, parameters and values that do not exist."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.plugins.standin.values import Parameter, parameters
from prompts import files, languages, named, read_toml

TABLES = ("ask", "named", "needs", "values")
Tools = Mapping[str, Mapping[str, Parameter]]


def faults(schemas: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each fault in a `standin.toml` of any language."""
    tools = {name: parameters({"name": name, "parameters": schema}) for name, schema in schemas.items()}
    paths = [folder / lang / name for lang in languages() for name, folder in files(lang, "*/standin.toml").items()]
    return [f"{named(path)}: {fault}" for path in paths for fault in _of_tables(read_toml(path), tools)]


def _of_tables(tables: Mapping[str, Any], tools: Tools) -> Iterator[str]:
    for table, entries in tables.items():
        if table not in TABLES or not isinstance(entries, Mapping):
            yield f"nothing reads [{table}]; there are: {', '.join(TABLES)}"
            continue
        for tool, entry in entries.items():
            by_value = entry if isinstance(entry, Mapping) else {}
            names = [name for names in by_value.values() for name in names] if table == "needs" else entry
            for name in map(str, names):
                yield from _of_parameter(f"[{table}]", tool, name, tools)
            for name, phrases in by_value.items() if table == "values" else ():
                yield from _of_values(tool, name, phrases, tools)


def _of_parameter(place: str, tool: str, name: str, tools: Tools) -> Iterator[str]:
    if tool not in tools:
        yield f"{place} names {tool!r}, a tool that no speaker has"
    elif name not in tools[tool]:
        yield f"{place} names {name!r}, which {tool} does not take; it takes: {', '.join(tools[tool])}"


def _of_values(tool: str, name: str, phrases: Any, tools: Tools) -> Iterator[str]:
    place = f"[values.{tool}.{name}]"
    if isinstance(phrases, str):
        yield from _of_parameter(place, *phrases.partition(".")[::2], tools)
        return
    parameter = tools.get(tool, {}).get(name)
    known = ("true", "false") if parameter and parameter.kind == "flag" else parameter.values if parameter else ()
    for value in phrases if known else ():
        if value not in map(str, known):
            yield f"{place} names {value!r}; there are: {', '.join(map(str, known))}"
