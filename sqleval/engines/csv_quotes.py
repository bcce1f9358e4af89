"""States the quotes of wide CSV files, which DuckDB would otherwise guess in every statement."""

from pathlib import Path

from sqleval.sources.source import Source

#: The separators of the first line from which guessing takes longer than reading the rows: DuckDB
#: tries each kind of quote and escape on all columns.
_WIDE = 500
#: Bytes of the first line, and of the rows below it, that are looked at.
_MOST = 1_000_000


def settle_quotes(source: Source) -> Source:
    """Return a source of a wide CSV file with its quotes; unchanged if they have to be guessed.

    Without apostrophes and backslashes in the first rows, DuckDB could only guess double quotes, or
    none at all.
    """
    if not source.text_reader.startswith("read_csv") or len(source.files) != 1:
        return source
    if any(f", {name} = " in source.reader_options for name in ("quote", "escape")):
        return source
    with Path(source.files[0]).open("rb") as file:
        line = file.readline(_MOST)
        # A compressed file has no such line.
        if max(map(line.count, b",;\t|")) < _WIDE or b"\0" in line:
            return source
        rows = file.read(_MOST)
    if any(mark in each for mark in (b"'", b"\\") for each in (line, rows)):
        return source
    return source.add_options("quote = '\"', escape = '\"'")
