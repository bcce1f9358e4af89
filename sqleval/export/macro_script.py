"""Writes the script of DuckDB macros, one per metric: ``FROM sqleval.roc_auc('preds', ...)``."""

import re
from collections.abc import Iterator
from importlib.metadata import version

from sqleval.catalog.catalogue import builtin, find_sql_folder
from sqleval.common.imports import DISTRIBUTION
from sqleval.common.sql_text import write_literal
from sqleval.export.macro_files import is_value, quote_argument
from sqleval.export.macro_overloads import write_default, write_macros

#: The columns of an example, by argument.
_EXAMPLE = {"label": "y", "score": "p", "prediction": "c", "qid": "q"}


def _write_example(name: str, overload: str) -> str:
    """Return a call of an overload with the columns of an example."""
    required = overload[1 : overload.index(" AS TABLE")].split(":=")[0].split(", ")
    names = {argument.split(" ")[0] for argument in required}
    listed = [
        f"{argument} := {column}" for argument, column in _EXAMPLE.items() if argument in names
    ]
    more = ["average := 'macro'"] if "average" in names else []
    if "cost_matrix" in names:
        cells = ((1, 0, 5), (0, 1, 1), (0, 0, 0), (1, 1, 0))
        costs = ", ".join(f"{{label: {a}, prediction: {b}, cost: {c}}}" for a, b, c in cells)
        more.append(f"cost_matrix := [{costs}]")
    return f"FROM sqleval.{quote_argument(name)}('preds', {', '.join([*listed, *more])})"


def _list_help(console: str) -> Iterator[tuple[str, ...]]:
    """Yield a row for each macro, with the columns of ``sqleval.help()``."""
    about = "release of sqleval that made the macros"
    yield "version", "console", "SELECT sqleval.version()", "", about, "", ""
    for name, about in _COMMENT.findall(console):
        summary, _, call = about.replace("''", "'").rpartition(": ")
        yield name, "console", call, "", summary, "", ""
    for name, overloads in write_macros()[1].items():
        call = _write_example(name, overloads[0])
        if name == "evaluate":
            about = "several metrics in one scan: metrics := ['roc_auc', 'log_loss']"
            yield name, "all", call, "metrics", about, "", ""
            continue
        relation = builtin().get(name)
        header, notes = relation.header, ", ".join(relation.notes)
        params = builtin().parameters(name).items()
        listed = ", ".join(
            f"{name} := {write_default(param, name)}" if is_value(param) else name
            for name, param in params
        )
        yield (
            name, relation.family, call, listed, str(header["summary"]),
            str(header.get("formula", "")), notes,
        )  # fmt: skip


#: The comment on a macro in ``sql/console.sql``: a description, and an example.
_COMMENT = re.compile(
    r"COMMENT ON MACRO (?:TABLE )?sqleval\.(\w+) IS '((?:[^']|'')+: (?:[^']|'')+)';"
)
#: The columns of ``sqleval.help()``.
_HELP = ("name", "family", "call", "parameters", "summary", "formula", "undefined")


def write_script() -> str:
    """Return the script that creates every macro, in the schema ``sqleval`` of any DuckDB.

    Semicolons stand only at the ends of statements, because some consoles split a script at each
    of them.

    Examples
    --------
    >>> import duckdb
    >>> from sqleval.export.macro_script import write_script
    >>> con = duckdb.connect()
    >>> _ = con.execute(write_script())
    >>> _ = con.execute("CREATE TABLE preds AS FROM (VALUES (0, 0.1), (1, 0.8)) AS t(y, p)")
    >>> con.sql("SELECT value FROM sqleval.roc_auc('preds', label := y, score := p)").fetchall()
    [(1.0,)]
    """
    console = (find_sql_folder() / "console.sql").read_text(encoding="utf-8")
    files, macros = write_macros()
    rows = list(_list_help(console))
    values = ",\n".join(f"({', '.join(map(write_literal, row))})" for row in rows)
    about = f"SELECT h.* FROM (VALUES\n{values}\n) AS h({', '.join(_HELP)})"
    parts = ["CREATE SCHEMA IF NOT EXISTS sqleval"]
    parts.append(
        f"CREATE OR REPLACE MACRO sqleval.version() AS {write_literal(version(DISTRIBUTION))}"
    )
    parts.append(
        "COMMENT ON MACRO sqleval.version IS "
        "'release of sqleval that made the macros: SELECT sqleval.version()'"
    )
    parts += [part for each in console.split(";\n") if (part := each.strip())]
    parts += files.values()
    # DuckDB binds a new macro with the macros that it calls, so the largest one is created last.
    evaluate = macros["evaluate"]
    stub = ",\n".join(
        f"{overload[: overload.index(' AS TABLE')]} AS TABLE (SELECT 1 AS a)"
        for overload in evaluate
    )
    parts.append(f"CREATE OR REPLACE MACRO sqleval.evaluate\n{stub}")
    for name, overloads in sorted(macros.items(), key=lambda item: item[0] == "evaluate"):
        parts.append(
            f"CREATE OR REPLACE MACRO sqleval.{quote_argument(name)}\n" + ",\n".join(overloads)
        )
    parts.append(f"CREATE OR REPLACE MACRO sqleval.help() AS TABLE\n{about}")
    parts.append("COMMENT ON MACRO TABLE sqleval.help IS 'every macro: FROM sqleval.help()'")
    for name, family, call, _, summary, *_ in rows:
        if family == "console":
            continue  # ``sql/console.sql`` has the comment
        comment = write_literal(f"{summary}: {call}")
        parts.append(f"COMMENT ON MACRO TABLE sqleval.{quote_argument(name)} IS {comment}")
    return "".join(f"{part.replace(';', ',')};\n" for part in parts)
