"""Advises how to convert a column of texts to numbers, from its first values."""

import re
import shlex
from collections.abc import Sequence

from sqleval.common.sql_text import quote
from sqleval.engines.base import Engine
from sqleval.sources.source import Source

#: Number of rows to look at.
_ROWS = 1000
#: Texts that stand for a missing value, in lower case.
_MISSING = frozenset(
    {"", "-", ".", "?", "na", "n/a", "#n/a", "nan", "nil", "null", "\\n", "none", "missing"}
)
_DECIMAL_COMMA = r"[+-]?\d*,\d+"
#: Patterns of texts, and SQL that converts such a text ``{}`` to a number.
_KINDS = (
    (_DECIMAL_COMMA, "CAST(REPLACE({}, ',', '.') AS DOUBLE)"),
    (
        r"[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+",
        "CAST(REPLACE(REPLACE({}, '.', ''), ',', '.') AS DOUBLE)",
    ),
    (r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", "CAST(REPLACE({}, ',', '') AS DOUBLE)"),
    (r"[+-]?\d*\.?\d+ ?%", "CAST(REPLACE({}, '%', '') AS DOUBLE) / 100"),
    (r"[+-]?\d*,\d+ ?%", "CAST(REPLACE(REPLACE({}, '%', ''), ',', '.') AS DOUBLE) / 100"),
    (r"\[.*\]", "CAST({} AS DOUBLE[])[1]"),
)


def advise_on_texts(source: Source, column: str, engine: Engine) -> str:
    """Return advice for the end of a message about texts that should be numbers, or ''."""
    if source.once or engine.dialect != "duckdb":
        return ""
    statement = f"SELECT s.{quote(column)} FROM {source.relation} AS s LIMIT {_ROWS}"
    rows = engine.rows(statement, {}, [source], source.objects([column]))
    texts = [str(text).strip() for (text,) in rows if text is not None]
    sign = source.reading.options.get("decimal", ".")
    others = [text for text in texts if not _is_number(text.replace(sign, "."))]
    if not others:
        return _advise("CAST({} AS DOUBLE)", column) if texts else ""
    shown = f"; it holds {others[0]!r}"
    shown += _advise_options(source, others)
    if all(text.lower() in _MISSING for text in others) and len(others) < len(texts):
        # Without TRIM, DuckDB leaves the cast to the reader of a CSV file, which fails at the text.
        return f"{shown}{_advise('TRY_CAST(TRIM({}) AS DOUBLE)', column)}, and NULL there"
    for pattern, sql in _KINDS:
        if all(re.fullmatch(pattern, text) for text in others):
            return shown + _advise(sql, column)
    return shown


def _advise_options(source: Source, texts: Sequence[str]) -> str:
    """Return the options of a CSV file that make numbers or NULL of texts; '' if there are none."""
    missing = [text for text in dict.fromkeys(texts) if text.lower() in _MISSING]
    numbers = [text for text in texts if text not in missing]
    is_text = source.reading.format_name in ("CSV", "TSV", "a white-space table")
    if not is_text or not all(re.fullmatch(_DECIMAL_COMMA, text) for text in numbers):
        return ""
    options = {"decimal": ","} if numbers else {}
    options |= {"na": "|".join(missing)} if missing else {}
    written = " ".join(f"--csv {name}={shlex.quote(text)}" for name, text in options.items())
    return f"; csv={options!r} ({written}) makes numbers of such texts"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower() not in _MISSING


def _advise(sql: str, column: str) -> str:
    return f"; the expression {sql.format(quote(column))} in its place makes it a number"
