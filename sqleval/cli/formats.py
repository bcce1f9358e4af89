"""Chooses the format of a result, by --format or by the suffix of --output."""

from pathlib import Path

from sqleval.errors import RequestError

#: Suffixes of DuckDB files.
DATABASES = (".duckdb", ".ddb", ".db")
#: Beginnings of the names of tables: of a Delta lake, and of PostgreSQL.
_TABLES = ("delta+", "postgresql://", "postgres://")
#: Format by suffix.
_FORMATS = {".json": "json", ".csv": "csv", ".parquet": "parquet", ".txt": "table"}


def choose_format(format_: str | None, output: str | None) -> str:
    """Return the format of a result; ``rows`` if it is written to a table.

    Raises
    ------
    RequestError
        If the suffix has no format, the format needs a file, or a table has a format or no name.

    Examples
    --------
    >>> choose_format(None, "out.csv"), choose_format(None, None)
    ('csv', 'table')
    """
    if output is not None and output.startswith(_TABLES):
        if format_ is not None:
            raise RequestError(f"--format is for files, and --output {output!r} is a table")
        if "://" in output and "#" not in output and not output.startswith("delta+"):
            raise RequestError(f"--output {output!r} is a database; write its table after #")
        return "rows"
    chosen = format_ or (_FORMATS.get(Path(output).suffix.lower()) if output else "table")
    if chosen is None:
        raise RequestError(
            f"--output {output!r}: give --format, or use one of the suffixes {', '.join(_FORMATS)}"
            "; a table is delta+PATH or postgresql://HOST/DATABASE#TABLE"
        )
    if chosen == "parquet" and output is None:
        raise RequestError("--format parquet needs --output FILE")
    return chosen
