"""Writes the script of DuckDB macros, one per metric: ``FROM sqleval.roc_auc('preds', ...)``."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from sqleval.catalog.catalogue import find_sql_folder
from sqleval.common.imports import DISTRIBUTION
from sqleval.common.sql_text import write_literal
from sqleval.export.macro_files import quote_argument
from sqleval.export.macro_help import (
    OF_SCRIPT,
    Page,
    list_pages,
    write_aliases,
    write_help,
    write_names,
)
from sqleval.export.macro_overloads import write_macros


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
    pages = list_pages(console, macros)
    parts = ["CREATE SCHEMA IF NOT EXISTS sqleval"]
    parts.append(
        f"CREATE OR REPLACE MACRO sqleval.version() AS {write_literal(version(DISTRIBUTION))}"
    )
    parts.append(write_names(pages))
    parts += [part for each in console.split(";\n") if (part := each.strip())]
    parts += files.values()
    # DuckDB binds a new macro with the macros that it calls, so the largest one is created last.
    evaluate = macros["evaluate"]
    row = "'' AS slice, '' AS metric, 1e0 AS value, 1 AS n, 0 AS n_dropped, '' AS note"
    stub = ",\n".join(
        f"{overload[: overload.index(' AS TABLE')]} AS TABLE (SELECT {row})"
        for overload in evaluate
    )
    parts.append(f"CREATE OR REPLACE MACRO sqleval.evaluate\n{stub}")
    for name, overloads in sorted(macros.items(), key=lambda item: item[0] == "evaluate"):
        parts.append(
            f"CREATE OR REPLACE MACRO sqleval.{quote_argument(name)}\n" + ",\n".join(overloads)
        )
    parts += write_aliases(pages, macros)
    parts += write_help(pages)
    parts += _write_comments(pages)
    return "".join(f"{part.replace(';', ',')};\n" for part in parts)


def _write_comments(pages: Sequence[Page]) -> Iterator[str]:
    """Yield the comment on each macro: what it is, and an example."""
    for page in pages:
        if page.family == "console" and page.name not in {name for name, *_ in OF_SCRIPT}:
            continue  # ``sql/console.sql`` has the comment
        kind = "MACRO" if page.name == "version" else "MACRO TABLE"
        whole = dict(page.items)["what"]
        for name in (page.name, *page.aliases):
            text = whole if name == page.name else f"another name of {page.name}"
            comment = write_literal(f"{text}: {page.call}")
            yield f"COMMENT ON {kind} sqleval.{quote_argument(name)} IS {comment}"
