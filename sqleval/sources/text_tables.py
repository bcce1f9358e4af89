"""Reads the headers of text tables: TREC runs and qrels, and tables divided by white space."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqleval.common.sql_text import write_literal
from sqleval.errors import RequestError, SourceError
from sqleval.sources.arff import describe_arff
from sqleval.sources.lines import LINE, LineColumn, LineTable
from sqleval.sources.reading import Reading
from sqleval.sources.source import Ask, Source
from sqleval.sources.stores import ObjectStore, StoredFile, iterate_lines, list_local

#: The columns of the formats of TREC, and their types.
_TREC = {
    "a TREC run": {
        "qid": "VARCHAR", "iteration": "VARCHAR", "doc": "VARCHAR", "rank": "BIGINT",
        "score": "DOUBLE", "run": "VARCHAR",
    },
    "TREC qrels": {
        "qid": "VARCHAR", "iteration": "VARCHAR", "doc": "VARCHAR", "relevance": "BIGINT",
    },
}  # fmt: skip
_ADVICE = (
    'without a header, give csv={"header": False} (--csv header=false), and the columns are '
    "column0, column1 ..."
)
_SPLIT = f"LIST_FILTER(STRING_SPLIT(REPLACE({LINE}, CHR(9), ' '), ' '), LAMBDA x: x <> '')"
#: Characters that are in no text, as the separator of columns that DuckDB needs.
_NEVER = "'\x1d\x1e\x1f\x1d'"
_QUOTED = r'"[^"]*"|\S+'
#: Splits at white space, except within double quotes.
_SPLIT_QUOTED = (
    f"CASE WHEN CONTAINS({LINE}, '\"') THEN LIST_TRANSFORM(REGEXP_EXTRACT_ALL({LINE}, "
    f"'{_QUOTED}'), LAMBDA x: TRIM(x, '\"')) ELSE {_SPLIT} END"
)


def describe_lines(store: ObjectStore, files: Sequence[StoredFile], reading: Reading) -> LineTable:
    """Return how the lines of files are read; the header of each file is read for that.

    Raises
    ------
    SourceError
        If a file has no header of its format, or the headers differ.
    """
    paths = [file.path for file in files]
    if reading.format_name in _TREC:
        return describe_trec(reading.format_name)
    describe = describe_arff if reading.format_name == "ARFF" else describe_white_space
    return describe(store.filesystem, paths, reading)


@dataclass(frozen=True)
class ReadHeads:
    """Reads the headers of local files of a format whose lines SQL splits; equal for equal files.

    Attributes
    ----------
    reading : Reading
        Their format, and the options of the text.
    files : tuple of str
        The files.
    keys : tuple of str
        The columns in their paths.
    """

    reading: Reading
    files: tuple[str, ...]
    keys: tuple[str, ...]

    def __call__(self, source: Source, ask: Ask) -> Source:
        """Return the source of the rows in a source of lines."""
        table = describe_lines(*list_local(self.files), self.reading)
        relation = f"{source.relation.removesuffix(')')}, skip = {table.skip})"
        wrapped = table.wrap(replace(source, relation=relation, settle=None), self.keys)
        return wrapped if wrapped.settle is None else wrapped.settle(wrapped, ask)


def write_line_options(reading: Reading) -> str:
    """Return the options by which DuckDB's ``read_csv`` reads lines as texts."""
    encoding = reading.options.get("encoding")
    return (
        f", columns = {{'{LINE}': 'VARCHAR'}}, auto_detect = FALSE, delim = {_NEVER}, quote = '', "
        f"escape = '', header = FALSE, strict_mode = FALSE"
        + (f", encoding = {write_literal(encoding)}" if encoding else "")
    )


def describe_trec(format_name: str) -> LineTable:
    """Return the table of a TREC run or of qrels."""
    columns = [LineColumn(name, kind) for name, kind in _TREC[format_name].items()]
    return LineTable(tuple(columns), _SPLIT)


def describe_white_space(filesystem: Any, paths: Sequence[str], reading: Reading) -> LineTable:
    """Return the table of files whose columns are divided by runs of spaces and tabs.

    Raises
    ------
    SourceError
        If a file has no header, or the headers differ.
    """
    table = _describe_file(filesystem, paths[0], reading)
    for path in paths[1:]:
        if _describe_file(filesystem, path, reading) != table:
            raise SourceError(
                f"the header of {path!r} differs from that of {paths[0]!r}; read them one by one"
            )
    return table


def _describe_file(filesystem: Any, path: str, reading: Reading) -> LineTable:
    options = reading.options
    comment = options.get("comment", "")
    lines = iterate_lines(filesystem, path, options.get("encoding", "utf-8"))
    skip = options.get("skip", 0)
    filled = [
        (at, _split(line))
        for at, line in islice(_number_filled(lines, comment), 10 + skip)
        if at >= skip
    ][:2]
    if not filled:
        raise SourceError(f"{path!r} has no rows, and no header")
    at, names = filled[0]
    first = filled[1][1] if len(filled) > 1 else names
    if not options.get("header", True):
        at, names, first = at - 1, [f"column{i}" for i in range(len(names))], names
    elif all(_is_number(name) for name in names) and any("." in name for name in names):
        raise SourceError(f"the first line of {path!r} holds numbers instead of names; {_ADVICE}")
    elif len(first) == len(names) + 1:
        names = ["row_names", *names]  # as R writes a table, by default
    return _make_table(names, at + 1, path, reading)


def _make_table(names: Sequence[str], skip: int, path: str, reading: Reading) -> LineTable:
    options = reading.options
    folded = [name.casefold() for name in names]
    if twice := next((name for name in names if folded.count(name.casefold()) > 1), None):
        raise SourceError(f"the header of {path!r} names {twice!r} twice; {_ADVICE}")
    types, text, number = dict(options.get("types", ())), "{}", "{}"
    unknown = next((name for name in types if name not in names), None)
    if unknown is not None and not reading.is_second:
        raise RequestError(f"csv= types: {path!r} has no column {unknown!r}")
    if missing := options.get("na"):
        text = f"CASE WHEN {{}} NOT IN ({', '.join(map(write_literal, missing))}) THEN {{}} END"
    if options.get("decimal") == ",":
        number = "CASE WHEN NOT CONTAINS({}, '.') THEN REPLACE({}, ',', '.') END"
    columns = [LineColumn(name, types.get(name, ""), text, number=number) for name in names]
    drop = LineTable.drop
    if comment := options.get("comment"):
        drop = f"{drop} OR STARTS_WITH(LTRIM({LINE}), {write_literal(comment)})"
    return LineTable(tuple(columns), _SPLIT_QUOTED, drop, skip)


def _number_filled(lines: Iterator[str], comment: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, from 0, without empty ones and comments."""
    for at, line in enumerate(lines):
        if line.strip() and not (comment and line.lstrip().startswith(comment)):
            yield at, line


def _split(line: str) -> list[str]:
    return [each.strip('"') for each in re.findall(_QUOTED, line)]


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
