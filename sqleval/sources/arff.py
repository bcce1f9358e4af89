"""Reads the header of ARFF files: the attributes with their types (Weka's format)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqleval.errors import SourceError
from sqleval.sources.lines import LINE, MISFIT, LineColumn, LineTable
from sqleval.sources.reading import Reading, find_date_option
from sqleval.sources.stores import iterate_lines

_NAME = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{,]+"""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s*(.*)", re.IGNORECASE)
#: A value of the list of a nominal attribute, up to the comma behind it.
_NOMINAL = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")
#: The same for a line of values in DuckDB, with a comma behind the last one.
_TOKEN = r"""\s*(''(?:[^''\\]|\\.)*''|"(?:[^"\\]|\\.)*"|[^,]*?)\s*,"""
_SPLIT = (
    f"CASE WHEN STARTS_WITH(LTRIM({LINE}), '{{') THEN ERROR('{MISFIT}a row of ARFF is sparse, such "
    "as {1 a, 3 b}; save the file as dense rows (in Weka, the filter SparseToNonSparse)') "
    f"WHEN CONTAINS({LINE}, '''') OR CONTAINS({LINE}, '\"') "
    f"THEN REGEXP_EXTRACT_ALL({LINE} || ',', '{_TOKEN}', 1) "
    f"ELSE STRING_SPLIT({LINE}, ',') END"
)
#: Comments, empty lines and the header.
_DROP = (
    f"{LINE} IS NULL OR REGEXP_MATCHES({LINE}, "
    "'^\\s*($|%|@(?i:relation\\s|attribute\\s|data\\s*$|end\\s))')"
)
#: A value without the white space around it; NULL for a question mark without quotes.
_BARE = r"NULLIF(TRIM({}, CONCAT(' ', CHR(9), CHR(13))), '?')"
_UNQUOTED = (
    f"CASE WHEN LEFT({{}}, 1) IN ('''', '\"') THEN REGEXP_REPLACE(REPLACE(REPLACE({{}}[2:-2], "
    f"'\\n', CHR(10)), '\\t', CHR(9)), '\\\\(.)', '\\1', 'g') ELSE {_BARE} END"
)
#: The letters of dates in ARFF, which are those of Java, and in DuckDB.
_DATES = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "MMM": "%b", "dd": "%d", "HH": "%H", "mm": "%M",
    "ss": "%S", "SSS": "%g", "a": "%p", "hh": "%I", "Z": "%z",
}  # fmt: skip
_DATE_PARTS = re.compile(r"'([^']*)'|(([A-Za-z])\3*)|([^A-Za-z'])")
_ISO = "yyyy-MM-dd'T'HH:mm:ss"


def describe_arff(filesystem: Any, paths: Sequence[str], reading: Reading) -> LineTable:
    """Return the table of ARFF files.

    Raises
    ------
    SourceError
        If a header cannot be read, or the headers differ.
    """
    encoding = reading.options.get("encoding", "utf-8")
    first = _read_header(filesystem, paths[0], encoding)
    for path in paths[1:]:
        if _read_header(filesystem, path, encoding) != first:
            raise SourceError(
                f"the attributes of {path!r} differ from those of {paths[0]!r}; read them one by "
                "one, or declare the same ones"
            )
    return LineTable(tuple(first), _SPLIT, _DROP)


def _read_header(filesystem: Any, path: str, encoding: str) -> list[LineColumn]:
    columns: list[LineColumn] = []
    for number, line in enumerate(iterate_lines(filesystem, path, encoding), 1):
        text = line.strip()
        if text.lower().startswith("@data"):
            if not columns:
                raise SourceError(f"{path!r} has no @attribute before @data")
            return columns
        if text.lower().startswith("@attribute"):
            match = _ATTRIBUTE.fullmatch(text)
            column = match and _describe_attribute(_unquote(match[1]), match[2].strip())
            if column is None:
                raise SourceError(
                    f"{path!r}, line {number}: {text!r} is not an attribute that can be read: "
                    "numeric, integer, real, string, date or {a, b}"
                )
            columns.append(column)
        elif text and not text.startswith("%") and not text.lower().startswith("@relation"):
            raise SourceError(f"{path!r}, line {number}: {text[:80]!r} is not a header of ARFF")
    raise SourceError(f"{path!r} has no line @data, so it is not ARFF")


def _describe_attribute(name: str, kind: str) -> LineColumn | None:
    """Return the column of an attribute; None for an unknown type."""
    if kind.startswith("{"):
        return _describe_nominal(name, kind) if kind.endswith("}") else None
    word = re.split(r"[\s\[]", kind.lower(), maxsplit=1)[0]
    if word in ("numeric", "real"):
        return LineColumn(name, "DOUBLE", _BARE)
    if word == "integer":
        return LineColumn(name, "BIGINT", _BARE)
    if word == "string":
        return LineColumn(name, "VARCHAR", _UNQUOTED)
    return _describe_date(name, kind[4:].strip()) if word == "date" else None


def _describe_nominal(name: str, kind: str) -> LineColumn:
    values = tuple(_unquote(each) for each in _NOMINAL.findall(kind[1:-1].strip()) if each)
    return LineColumn(name, "VARCHAR", _UNQUOTED, allowed=values)


def _describe_date(name: str, written: str) -> LineColumn | None:
    """Return the column of dates in a format of Java's; None if DuckDB has no such format."""
    parts: list[str] = []
    for quoted, letters, _, other in _DATE_PARTS.findall(_unquote(written) or _ISO):
        if letters and letters not in _DATES:
            return None
        parts.append(_DATES[letters] if letters else (quoted or other).replace("%", "%%"))
    text = "".join(parts)
    kind = "DATE" if find_date_option(text) == "dateformat" else "TIMESTAMP"
    return LineColumn(name, kind, _UNQUOTED, time_format=text)


def _unquote(text: str) -> str:
    """Return a name or value without its quotes and backslashes."""
    if text[:1] not in ("'", '"') or len(text) < 2:
        return text
    return re.sub(r"\\(.)", r"\1", text[1:-1])
