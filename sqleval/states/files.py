"""Writes states to Parquet files, and reads them from DuckDB files."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import polars as pl

from sqleval.common.whole_file import replace_file
from sqleval.engines.embedded import embedded
from sqleval.errors import EngineError, SqlevalError, get_first_line
from sqleval.sources.stores import is_remote


def write_state(frame: pl.DataFrame, path: str, metadata: dict[str, str] | None = None) -> None:
    """Write a state as Parquet, whole or not at all.

    Parameters
    ----------
    frame : polars.DataFrame
        The state.
    path : str
        The file, or a URL that Polars can write to.
    metadata : dict of str to str, optional
        Key-value metadata of the Parquet file.

    Raises
    ------
    SourceError
        If the file cannot be written.
    EngineError
        If the disk is full, or an object store fails.
    """
    # With Snappy the file is a tenth larger than with zstd, but is read in three quarters of the
    # time. One thread reads a row group, or skips it if none of its periods is selected.
    options: Any = {"compression": "snappy", "row_group_size": 20_480}
    try:
        if is_remote(path):
            # An object store writes a file whole.
            frame.write_parquet(path, metadata=metadata, **options)
            return
        # PyArrow, because Polars does not write the checksums that `verify=True` checks.
        parquet: Any = import_module("pyarrow.parquet")
        table = cast("Any", frame).to_arrow()
        with replace_file(path, lock=True) as draft:
            parquet.write_table(
                table.replace_schema_metadata(metadata), draft, write_page_checksum=True, **options
            )
    except SqlevalError:
        raise
    except (OSError, pl.exceptions.ComputeError) as error:
        raise EngineError(f"cannot write {path!r}: {get_first_line(error)}") from error


def read_state_table(path: str, table: str) -> pl.DataFrame:
    """Read a state from a table of a DuckDB file.

    Raises
    ------
    SourceError
        If there is no such file or table.
    """
    return embedded().read_table(path, table, pl.DataFrame)
