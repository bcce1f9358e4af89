"""Chooses the format of a result, by --format or by the suffix of --output."""

from pathlib import Path

from sqleval.errors import RequestError

#: Suffixes of DuckDB files.
DATABASES = (".duckdb", ".ddb", ".db")
#: Format by suffix.
_FORMATS = {".json": "json", ".csv": "csv", ".parquet": "parquet", ".txt": "table"}


def choose_format(format_: str | None, output: str | None) -> str:
    """Return the format of a result.

    Raises
    ------
    RequestError
        If the suffix has no format, or the format needs a file.

    Examples
    --------
    >>> choose_format(None, "out.csv"), choose_format(None, None)
    ('csv', 'table')
    """
    chosen = format_ or (_FORMATS.get(Path(output).suffix.lower()) if output else "table")
    if chosen is None:
        raise RequestError(
            f"--output {output!r}: give --format, or use one of the suffixes {', '.join(_FORMATS)}"
        )
    if chosen == "parquet" and output is None:
        raise RequestError("--format parquet needs --output FILE")
    return chosen
