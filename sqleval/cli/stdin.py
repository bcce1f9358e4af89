"""Reads the rows of stdin if SOURCE is ``-``."""

import sys
from collections.abc import Mapping
from typing import Any

from sqleval.errors import RequestError, SourceError


def open_stdin(source: str | None, options: Mapping[str, Any] = {}) -> Any:
    """Return the rows of stdin for ``-``, and any other source unchanged."""
    if source != "-":
        return source
    if wrong := next((name for name in ("csv", "rows") if options.get(name)), None):
        raise RequestError(f"--{wrong} is for files; write the rows of stdin to a file")
    import polars as pl

    content = sys.stdin.buffer.read()
    if not content.strip():
        raise RequestError("SOURCE is -, and stdin is empty")
    try:
        if content.startswith(b"PAR1"):  # Parquet begins so; anything else is read as CSV
            return pl.read_parquet(content)
        # Types and dates as in a file: from all rows.
        frame = pl.read_csv(content, infer_schema_length=None, try_parse_dates=True)
        if dates := [name for name, kind in frame.schema.items() if kind.is_temporal()]:
            # The day or the month may come first in 09/11/2018, so it stays a text.
            texts = pl.read_csv(content, columns=dates, infer_schema=False)
            iso = pl.all().str.contains(r"^(\d{4}-|\d\d:)").all()
            is_iso = texts.select(iso).row(0, named=True)
            frame = frame.with_columns(texts[name] for name in dates if not is_iso[name])
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise SourceError(
            f"cannot read stdin as CSV with commas, nor is it Parquet: {reason}"
        ) from error
    if frame.is_empty():
        raise SourceError("stdin has a header and no rows")
    return frame
