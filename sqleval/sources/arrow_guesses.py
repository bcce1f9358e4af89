"""Guesses the types of CSV files that PyArrow reads, as DuckDB guesses those of local files.

PyArrow by itself would take a key ``00012`` for the number 12, and ``yes`` for a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from sqleval.errors import SourceError
from sqleval.sources.arrow_formats import FALSE, TRUE, make_csv_options
from sqleval.sources.reading import DATE, Reading, describe_misfit
from sqleval.sources.stores import shorten

#: Bytes of each file from which types are guessed, as many as PyArrow takes.
_SAMPLE = 1 << 20
#: The number of simultaneous requests.
_AT_ONCE = 16
#: Numbers have no sign ``+``, no leading zeros, and are finite: DuckDB reads others as texts.
_WHOLE = r"^\s*-?(0|[1-9][0-9]*)\s*$"
_NUMBER = r"(?i)^\s*(-?((0|[1-9][0-9]*)({sign}[0-9]*)?|{sign}[0-9]+)(e[+-]?[0-9]+)?|-?nan)\s*$"
_TRUTH = r"(?i)^(true|false|t|f|yes|no)$"


class Guess(NamedTuple):
    """The types of columns, and why others cannot be used; the latter in lower case."""

    types: dict[str, Any]
    unusable: dict[str, str]


def guess_types(
    filesystem: Any, paths: Sequence[str], reading: Reading, names: Sequence[str]
) -> Guess:
    """Return the types of the columns of CSV files.

    Columns of dates and times in ISO 8601, and those without a value, have no type here: PyArrow
    reads them as DuckDB does. A column that is a text in one of the files is a text in all.

    Parameters
    ----------
    filesystem : object
        PyArrow's file system of the files.
    paths : sequence of str
        The files.
    reading : Reading
        How they are read.
    names : sequence of str
        The names of the columns of files without a header.

    Raises
    ------
    SourceError
        If a file cannot be read.
    """
    with ThreadPoolExecutor(min(_AT_ONCE, len(paths))) as pool:
        guess_file = partial(_guess_file, filesystem, reading=reading, names=names)
        files = [*pool.map(guess_file, paths)]
    guess = Guess({}, {})
    given = dict(reading.options.get("types", ()))
    for name in dict.fromkeys(name for file in files for name in file):
        found = [file[name] for file in files if name in file]
        kinds = {kind for kind, _ in found if kind}
        if name in given or kinds <= {"iso"}:
            continue
        guess.types[name] = _unify(kinds)
        if "date" in kinds:
            example = next(text for kind, text in found if kind == "date")
            guess.unusable[name.casefold()] = describe_misfit(name, example, reading)
    return guess


def _unify(kinds: set[str]) -> Any:
    """Return the type of a column that has some kinds of values."""
    pa: Any = import_module("pyarrow")
    if len(kinds) > 1:
        numbers = [kind for kind in ("float64", "huge", "int64") if kind in kinds]
        kinds = {numbers[0]} if len(numbers) == len(kinds) else {"text"}
    types = {
        "int64": pa.int64(), "huge": pa.decimal128(38, 0), "float64": pa.float64(),
        "truth": pa.bool_(), "time": pa.timestamp("us"),
    }  # fmt: skip
    (kind,) = kinds
    return types.get(kind, pa.string())


def _guess_file(
    filesystem: Any, path: str, *, reading: Reading, names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return the kind of each column's first values, with an example; empty without values."""
    pa: Any = import_module("pyarrow")
    csv: Any = import_module("pyarrow.csv")
    encoding = reading.options.get("encoding", "utf-8")
    try:
        with filesystem.open_input_stream(path) as stream:
            data = stream.read(_SAMPLE)
        text = data.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
        if len(data) == _SAMPLE:  # The last line may be cut off.
            text = text[: text.rfind("\n") + 1] or text
        sample = pa.py_buffer(text.encode())
        read, parse, convert = make_csv_options(reading, names)
        read.encoding, read.block_size = "utf8", max(_SAMPLE, 2 * sample.size)
        guessed = csv.open_csv(pa.BufferReader(sample), read, parse, convert).schema
        convert.column_types = {name: pa.string() for name in guessed.names}
        table = csv.read_csv(pa.BufferReader(sample), read, parse, convert)
    except (OSError, UnicodeError, pa.ArrowException) as error:
        raise SourceError(f"cannot read {path!r}: {shorten(error)}") from error
    return {
        field.name: _guess_column(table.column(i).drop_null(), field.type, reading)
        for i, field in enumerate(guessed)
    }


def _guess_column(texts: Any, guessed: Any, reading: Reading) -> tuple[str, str]:
    """Return the kind of texts, and the first one. PyArrow's guess decides about ISO 8601."""
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.compute")
    if len(texts) == 0:
        return "", ""

    def fits(pattern: str) -> bool:
        return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())

    first = texts[0].as_py()
    is_date = pc.match_substring_regex(texts, DATE)
    if text_format := reading.options.get("date_format"):
        misfits = pc.is_null(pc.strptime(texts, text_format, "us", error_is_null=True))
        if not pc.any(misfits).as_py():
            return "time", first
        if 2 * pc.sum(is_date).as_py() > len(texts):
            return "date", texts.filter(misfits)[0].as_py()
    if fits(_WHOLE):
        longest = pc.max(pc.utf8_length(pc.utf8_trim_whitespace(texts))).as_py()
        return "int64" if longest < 19 else "huge" if longest < 38 else "float64", first
    if fits(_NUMBER.format(sign=re.escape(reading.options.get("decimal", ".")))):
        return "float64", first
    if fits(_TRUTH):
        words = pc.unique(texts).to_pylist()
        return "truth" if {*words} <= {*TRUE, *FALSE} else "text", first
    if pa.types.is_temporal(guessed):
        return "iso", first
    return "date" if pc.all(is_date).as_py() else "text", first
