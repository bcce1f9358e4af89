"""How the files of a source are read: their format, options of CSV, and where their rows lie."""

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqleval.common.names import find_nearest
from sqleval.common.sql_text import write_literal
from sqleval.errors import RequestError
from sqleval.sources.formats import FORMATS, PREFIXES

#: Options of CSV files: what each is, an example, and DuckDB's option.
CSV_OPTIONS = {
    "header": ("whether the first line holds names", "true", "header"),
    "separator": ("the text between columns; tab for a tab", ";", "delim"),
    "decimal": ("the decimal sign, a point or a comma", ",", "decimal_separator"),
    "quote": ("the character around texts; empty for none", "'", "quote"),
    "escape": ("the character before a quote within a text", "\\", "escape"),
    "comment": ("the character that begins a comment", "#", "comment"),
    "skip": ("the number of lines before the header, without comments", "2", "skip"),
    "na": ("the texts that stand for NULL, beside the empty one", "NA|-", "nullstr"),
    "encoding": ("the encoding of the file", "latin-1", "encoding"),
    "date_format": ("the format of dates, or of times, as in strptime", "%d.%m.%Y", ""),
    "types": ("types of columns", "id:VARCHAR|p:DOUBLE", "types"),
}
#: The names of an option in other libraries.
_ALIASES = {
    "sep": "separator", "delim": "separator", "delimiter": "separator",
    "decimal_separator": "decimal", "decimal_point": "decimal", "quotechar": "quote",
    "quote_char": "quote", "escapechar": "escape", "skiprows": "skip", "skip_rows": "skip",
    "na_values": "na", "nullstr": "na", "null_values": "na", "dateformat": "date_format",
    "timestampformat": "date_format", "dtype": "types", "columns": "types",
}  # fmt: skip
#: A text that looks like a date, for PyArrow and DuckDB.
DATE = (
    r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|"
    r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2}))(\s*|[ T].*)$"
)
#: The options that a format of text other than CSV has.
_OF_LINES = ("encoding",)
_OF_WHITESPACE = ("header", "decimal", "comment", "skip", "na", "encoding", "types")
#: Encodings that DuckDB decodes by itself, by the name without signs.
_DECODED = {
    "utf8": "utf-8", "utf16": "utf-16", "latin1": "latin-1", "iso88591": "latin-1",
    "l1": "latin-1",
}  # fmt: skip
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_TYPES = ("VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN", "DATE", "TIMESTAMP")


class Reading(NamedTuple):
    """How files are read.

    Attributes
    ----------
    format_name : str
        Their format, a key of `formats.FORMATS`; empty if the endings of the files say it.
    csv : tuple of (str, object)
        Options of CSV files.
    rows : str
        The field of a JSON document that holds the rows; its levels are divided by dots.
    is_second : bool
        Whether the options are those of another source, which may have more typed columns.
    """

    format_name: str = ""
    csv: tuple[tuple[str, Any], ...] = ()
    rows: str = ""
    is_second: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options of CSV files by name."""
        return dict(self.csv)

    @property
    def needs_arrow(self) -> bool:
        """Whether PyArrow must read the files, because DuckDB does not know their encoding."""
        return self.options.get("encoding", "utf-8") not in _DECODED.values()


#: The endings of files say how they are read.
BY_ENDING = Reading()


def make_reading(rows: object = None, csv: object = None, *, is_second: bool = False) -> Reading:
    """Return how files are read, from the arguments of `sqleval.scan`.

    Raises
    ------
    RequestError
        If an option is unknown, or has a wrong value.
    """
    if rows is not None and not (isinstance(rows, str) and all(rows.split("."))):
        raise RequestError(
            f"rows={rows!r} must be the field that holds the rows, such as 'samples' or "
            "'results.rows'"
        )
    return Reading(csv=check_csv(csv), rows=rows or "", is_second=is_second)


def check_csv(csv: object) -> tuple[tuple[str, Any], ...]:
    """Return the checked options of CSV files.

    Raises
    ------
    RequestError
        If an option is unknown, or has a wrong value.

    Examples
    --------
    >>> check_csv({"separator": ";", "na": "NA|-", "header": "true"})
    (('separator', ';'), ('na', ('NA', '-')), ('header', True))
    """
    if csv is None:
        return ()
    if not isinstance(csv, Mapping):
        raise RequestError(f"csv={csv!r} must map options to values: {{'separator': ';'}}")
    options = cast("Mapping[object, object]", csv)
    return tuple((str(name), _check_option(str(name), value)) for name, value in options.items())


def _check_option(name: str, value: object) -> Any:
    if name not in CSV_OPTIONS:
        near = find_nearest(_ALIASES.get(name, name), CSV_OPTIONS)
        listed = "; ".join(f"{each}: {what}" for each, (what, _, _) in CSV_OPTIONS.items())
        raise RequestError(f"csv= has no option {name!r}{near} ({listed})")
    checked = _CHECKS.get(name, _check_character)(value)
    if checked is None:
        what, example, _ = CSV_OPTIONS[name]
        raise RequestError(f"csv={{{name!r}: {value!r}}} must be {what}, such as {example!r}")
    return checked


def _check_character(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= 1 else None


def _check_truth(value: object) -> bool | None:
    return _TRUTHS.get(str(value).lower())


def _check_separator(value: object) -> str | None:
    text = {"tab": "\t", "\\t": "\t"}.get(str(value).lower(), value)
    is_text = isinstance(text, str) and 0 < len(text.encode()) <= 4
    return cast("str", text) if is_text else None


def _check_decimal(value: object) -> str | None:
    return str(value) if value in (".", ",") else None


def _check_count(value: object) -> int | None:
    return int(str(value)) if re.fullmatch(r"\d{1,9}", str(value)) else None


def _check_texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(value.split("|"))
    if not isinstance(value, Iterable):
        return None
    texts = [*cast("Iterable[object]", value)]
    return tuple(map(str, texts)) if all(isinstance(each, str) for each in texts) else None


def _check_encoding(value: object) -> str | None:
    try:
        codecs.lookup(str(value))
    except LookupError:
        return None
    name = re.sub(r"[-_ ]", "", str(value).lower())
    return _DECODED.get(name, str(value))


def _check_format(value: object) -> str | None:
    return value if isinstance(value, str) and "%" in value else None


def _check_types(value: object) -> tuple[tuple[str, str], ...] | None:
    if isinstance(value, str):
        parts = [each.rpartition(":") for each in value.split("|")]
        value = {name: kind for name, _, kind in parts}
    if not isinstance(value, Mapping):
        return None
    items = cast("Mapping[object, object]", value).items()
    types = tuple((str(name), str(kind).upper()) for name, kind in items)
    if wrong := next((kind for name, kind in types if kind not in _TYPES or not name), None):
        near = find_nearest(wrong, _TYPES)
        raise RequestError(f"csv= types: {wrong!r} must be one of {', '.join(_TYPES)}{near}")
    return types


_CHECKS: Mapping[str, Any] = {
    "header": _check_truth, "separator": _check_separator, "decimal": _check_decimal,
    "skip": _check_count, "na": _check_texts, "encoding": _check_encoding,
    "date_format": _check_format, "types": _check_types,
}  # fmt: skip


def split_format(path: str) -> tuple[str, str]:
    """Return the format whose prefix precedes a path, and the path; the format may be empty.

    Examples
    --------
    >>> split_format("csv+scores.dat"), split_format("delta+lake")
    (('CSV', 'scores.dat'), ('', 'delta+lake'))
    """
    prefix, plus, place = path.partition("+")
    name = PREFIXES.get(prefix + plus, "")
    return (name, place) if name else ("", path)


def split_formats(paths: Sequence[str]) -> tuple[str, list[str]]:
    """Return the format that precedes all paths, and the paths without it.

    Raises
    ------
    RequestError
        If the prefixes differ.
    """
    split = [split_format(path) for path in paths]
    names = {name for name, _ in split}
    if len(names) > 1:
        raise RequestError(
            f"the prefixes of {', '.join(paths)!r} differ; write the same one before each path of "
            "a list, or none"
        )
    return names.pop() if names else "", [place for _, place in split]


def fit_reading(reading: Reading, format_name: str, label: str) -> Reading:
    """Return the reading of files of a format: options of CSV are only for text.

    Raises
    ------
    RequestError
        If the format has no such option, or ``rows`` is not for it.
    """
    if reading.rows and format_name != "JSON":
        raise RequestError(
            f"rows={reading.rows!r} (--rows) is for JSON, and {label!r} is {format_name}; query= "
            "(--query) can UNNEST its rows"
        )
    reader = FORMATS[format_name].reader
    if reader == "lines":
        known = _OF_WHITESPACE if format_name == "a white-space table" else _OF_LINES
        for name, _ in reading.csv:
            if name not in known:
                raise RequestError(
                    f"csv= has no option {name!r} for {format_name}; it has {', '.join(known)}"
                )
    elif reader != "read_csv":
        reading = reading._replace(csv=())
    return reading._replace(format_name=format_name)


def find_date_option(text_format: str) -> str:
    """Return the option of DuckDB's reader that takes a format of ``strptime``.

    Examples
    --------
    >>> find_date_option("%d.%m.%Y"), find_date_option("%d.%m.%Y %H:%M")
    ('dateformat', 'timestampformat')
    """
    has_time = any(f"%{letter}" in text_format for letter in "HIMScXz")
    return "timestampformat" if has_time else "dateformat"


def describe_misfit(name: str, example: str, reading: Reading) -> str:
    """Return why a column of texts cannot be used, most of which look like dates."""
    given = reading.options.get("date_format")
    date = re.match(r"\s*(\d+)(\W)\d+\2(\d+)", example)
    if date is None:
        option, value = "na", example
    else:
        option, (first, sign, last) = "date_format", date.groups()
        year = "%Y" if len(last) > 2 else "%y"
        orders = (
            [("%Y", "%m", "%d")] if len(first) > 2 else [("%d", "%m", year), ("%m", "%d", year)]
        )
        formats = [sign.join(order) for order in orders]
        value = next((each for each in formats if each != given), formats[0])
    reason = f", which date_format={given!r} does not fit" if given else ", whose format is unknown"
    return (
        f"has texts such as {example!r}{reason}; give csv={{{option!r}: {value!r}}} "
        f"(--csv {option}={value}), or, if they are no dates, csv={{'types': {{{name!r}: "
        f"'VARCHAR'}}}} (--csv types={name}:VARCHAR)"
    )


def write_csv_options(reading: Reading) -> str:
    """Return the options as those of DuckDB's ``read_csv``, each after a comma."""
    written: list[str] = []
    for name, value in reading.csv:
        option = CSV_OPTIONS[name][2] or find_date_option(value)
        written.append(f", {option} = {_write_value(name, value)}")
    return "".join(written)


def _write_value(name: str, value: Any) -> str:
    if name == "na":
        return f"[{', '.join(map(write_literal, dict.fromkeys(('', *value))))}]"
    if name == "types":
        return f"{{{', '.join(f'{write_literal(column)}: {kind!r}' for column, kind in value)}}}"
    if isinstance(value, (bool, int)):
        return str(value).upper()
    return write_literal(value)
