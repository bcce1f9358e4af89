"""Makes the formats by which PyArrow reads files, with the options of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from sqleval.errors import RequestError, SourceError
from sqleval.sources.lines import LINE, LineTable
from sqleval.sources.reading import Reading
from sqleval.sources.stores import shorten

#: A character that is in no text, which divides the columns of lines.
_NEVER = "\x1f"
#: The words that DuckDB takes for truth values; PyArrow does not ignore case.
TRUE = [case(word) for word in ("true", "t", "yes") for case in (str.lower, str.upper, str.title)]
FALSE = [case(word) for word in ("false", "f", "no") for case in (str.lower, str.upper, str.title)]
#: Options that only DuckDB has.
_NOT_IN_ARROW = ("comment",)


def make_format(
    reading: Reading, table: LineTable | None, names: Sequence[str], types: Mapping[str, Any]
) -> Any:
    """Return PyArrow's format of files.

    Parameters
    ----------
    reading : Reading
        Their format, and options of CSV.
    table : LineTable or None
        The columns, if SQL splits the lines.
    names : sequence of str
        The names of the columns of CSV files without a header.
    types : mapping of str to object
        The types of columns of CSV files.
    """
    ds: Any = import_module("pyarrow.dataset")
    if table is not None:
        return _make_line_format(reading, table.skip)
    if reading.format_name in ("CSV", "TSV"):
        read, parse, convert = make_csv_options(reading, names)
        convert.column_types = {**types, **convert.column_types}
        return _join(read, parse, convert)
    formats = {"Parquet": "Parquet", "JSON": "Json", "Arrow": "Ipc"}
    return getattr(ds, f"{formats[reading.format_name]}FileFormat")()


def _make_line_format(reading: Reading, skip: int) -> Any:
    csv: Any = import_module("pyarrow.csv")
    pa: Any = import_module("pyarrow")
    return _join(
        csv.ReadOptions(
            column_names=[LINE], skip_rows=skip, encoding=reading.options.get("encoding", "utf8")
        ),
        csv.ParseOptions(delimiter=_NEVER, quote_char=False),
        csv.ConvertOptions(column_types={LINE: pa.string()}),
    )


def _join(read: Any, parse: Any, convert: Any) -> Any:
    ds: Any = import_module("pyarrow.dataset")
    scan = ds.CsvFragmentScanOptions(convert_options=convert, read_options=read)
    return ds.CsvFileFormat(parse_options=parse, default_fragment_scan_options=scan)


def make_csv_options(reading: Reading, names: Sequence[str]) -> tuple[Any, Any, Any]:
    """Return PyArrow's options for reading, parsing and converting CSV files."""
    csv: Any = import_module("pyarrow.csv")
    options = reading.options
    read = _make_read_options(reading)
    if names:
        read.column_names = [*names]
    # As for local files in DuckDB, an empty field is NULL, and no other text is.
    convert = csv.ConvertOptions(
        null_values=["", *options.get("na", ())], strings_can_be_null=True,
        quoted_strings_can_be_null=False, decimal_point=options.get("decimal", "."),
        column_types=_list_types(reading), true_values=TRUE, false_values=FALSE,
    )  # fmt: skip
    if "date_format" in options:
        convert.timestamp_parsers = [options["date_format"]]
    return read, _make_parse_options(reading), convert


def _make_read_options(reading: Reading) -> Any:
    csv: Any = import_module("pyarrow.csv")
    options = reading.options
    for name in _NOT_IN_ARROW:
        if name in options:
            raise RequestError(
                f"csv= {name!r} is for local files in UTF-8, UTF-16 or Latin-1; PyArrow, which "
                "reads the others, has no such option"
            )
    return csv.ReadOptions(
        skip_rows=options.get("skip", 0), encoding=options.get("encoding", "utf8")
    )


def _make_parse_options(reading: Reading) -> Any:
    csv: Any = import_module("pyarrow.csv")
    options = reading.options
    return csv.ParseOptions(
        delimiter=options.get("separator", "\t" if reading.format_name == "TSV" else ","),
        quote_char=options.get("quote", '"') or False,
        escape_char=options.get("escape", "") or False,
    )


def _list_types(reading: Reading) -> dict[str, Any]:
    pa: Any = import_module("pyarrow")
    types = {
        "VARCHAR": pa.string(), "DOUBLE": pa.float64(), "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us"),
    }  # fmt: skip
    return {name: types[kind] for name, kind in reading.options.get("types", ())}


def number_columns(filesystem: Any, path: str, reading: Reading) -> list[str]:
    """Return the names of the columns of a CSV file without a header, as DuckDB names them."""
    pa: Any = import_module("pyarrow")
    csv: Any = import_module("pyarrow.csv")
    read = _make_read_options(reading)
    read.autogenerate_column_names = True
    try:
        with filesystem.open_input_stream(path) as stream:
            count = len(csv.open_csv(stream, read, _make_parse_options(reading)).schema)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"cannot read {path!r}: {shorten(error)}") from error
    width = len(str(count - 1))
    return [f"column{i:0{width}}" for i in range(count)]
