"""Advises how to convert a column of texts to numbers, from its first values."""

import re

from sqleval.common.sql_text import quote
from sqleval.engines.base import Engine
from sqleval.sources.source import Source

#: Number of rows to look at.
_ROWS = 1000
#: Texts that stand for a missing value, in lower case.
_MISSING = frozenset(
    {"", "-", ".", "?", "na", "n/a", "#n/a", "nan", "nil", "null", "none", "missing"}
)
#: Patterns of texts, and SQL that converts such a text ``{}`` to a number.
_KINDS = (
    (r"[+-]?\d*,\d+", "CAST(REPLACE({}, ',', '.') AS DOUBLE)"),
    (
        r"[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+",
        "CAST(REPLACE(REPLACE({}, '.', ''), ',', '.') AS DOUBLE)",
    ),
    (r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", "CAST(REPLACE({}, ',', '') AS DOUBLE)"),
    (r"[+-]?\d*\.?\d+ ?%", "CAST(RTRIM({}, ' %') AS DOUBLE) / 100"),
    (r"[+-]?\d*,\d+ ?%", "CAST(REPLACE(RTRIM({}, ' %'), ',', '.') AS DOUBLE) / 100"),
    (r"\[.*\]", "CAST({} AS DOUBLE[])[1]"),
)


def advise_on_texts(source: Source, column: str, engine: Engine) -> str:
    """Return advice for the end of a message about texts that should be numbers, or ''."""
    if source.once or engine.dialect != "duckdb":
        return ""
    statement = f"SELECT s.{quote(column)} FROM {source.relation} AS s LIMIT {_ROWS}"
    rows = engine.rows(statement, {}, [source], source.objects([column]))
    texts = [str(text).strip() for (text,) in rows if text is not None]
    others = [text for text in texts if not _is_number(text)]
    if not others:
        return _advise("CAST({} AS DOUBLE)", column) if texts else ""
    shown = f"; it holds {others[0]!r}"
    if all(text.lower() in _MISSING for text in others) and len(others) < len(texts):
        # Without TRIM, DuckDB leaves the cast to the reader of a CSV file, which fails at the text.
        return f"{shown}{_advise('TRY_CAST(TRIM({}) AS DOUBLE)', column)}, which is NULL there"
    for pattern, sql in _KINDS:
        if all(re.fullmatch(pattern, text) for text in others):
            return shown + _advise(sql, column)
    return shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower() not in _MISSING


def _advise(sql: str, column: str) -> str:
    name = quote(column)
    number = sql.format(name)
    return f"; query= (--query) makes it a number: SELECT * REPLACE ({number} AS {name}) FROM ..."
