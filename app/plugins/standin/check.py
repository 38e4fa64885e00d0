"""A check of the tools' words in `standin.toml`: it finds tables, tools and parameters that do not exist."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.plugins.standin.values import parameters
from prompts import files, languages, named, read_toml

TABLES = ("ask", "named", "needs", "values")
Schemas = Mapping[str, Mapping[str, Any]]


def faults(schemas: Schemas) -> list[str]:
    """Return a line for each fault in a `standin.toml` of any language."""
    paths = [folder / lang / name for lang in languages() for name, folder in files(lang, "*/standin.toml").items()]
    return [f"{named(path)}: {fault}" for path in paths for fault in _of_tables(read_toml(path), schemas)]


def _of_tables(tables: Mapping[str, Any], schemas: Schemas) -> Iterator[str]:
    for table, entries in tables.items():
        if table not in TABLES:
            yield f"nothing reads [{table}]; there are: {', '.join(TABLES)}"
            continue
        for tool, entry in entries.items():
            if tool not in schemas:
                yield f"[{table}] names {tool!r}, a tool that no speaker has"
                continue
            fields = parameters({"name": tool, "parameters": schemas[tool]})
            names = [name for of_value in entry.values() for name in of_value] if table == "needs" else entry
            for name in (name for name in names if name not in fields):
                yield f"[{table}] names {name!r}, which {tool} does not take; it takes: {', '.join(fields)}"
