"""Prints and writes results: tables for people, JSON, CSV and Parquet for programs."""

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn
from rich.syntax import Syntax
from rich.table import Table

from sqleval.errors import RequestError, SourceError

_ENDINGS = {".json": "json", ".csv": "csv", ".parquet": "parquet", ".txt": "table"}
#: Rows of a table that are printed; the other formats have all.
_MOST = 1000


class Bar:
    """A bar on the terminal for what takes longer than a second; gone when it is done."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._shown: Progress | None = None

    def __call__(self, percent: float) -> None:
        """Show how much is done, in percent."""
        if percent >= 100 and self._shown is not None:
            self._shown.stop()
            self._shown = None
        elif self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=percent)
        elif time.monotonic() - self._since > 1 and percent < 100:
            columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self._shown.update(self._shown.add_task("", total=100), completed=percent)
            self._shown.start()


def frame_of(rows: Sequence[Any]) -> pl.DataFrame:
    """Return rows (mappings or dataclasses) as a frame of text."""
    plain = [
        asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in rows
    ]
    return pl.DataFrame(plain, infer_schema_length=None)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.6f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _console(file: Any) -> Console:
    # Off a terminal nothing may be wrapped: whoever reads it there is a program.
    return Console(file=file, width=None if file.isatty() else 400, highlight=False)


def _table(frame: pl.DataFrame, file: Any) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    empty = {"low", "high", "method", "note"}
    names = [
        name
        for name in frame.columns
        if name not in empty or frame[name].null_count() < frame.height
    ]
    for name in names:
        right = frame[name].dtype.is_numeric()
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in frame.select(names).head(_MOST).iter_rows():
        table.add_row(*(_cell(value) for value in row))
    _console(file).print(table)
    if frame.height > _MOST:
        left = f"... {frame.height - _MOST:,} more rows; --output FILE.csv has all"
        _console(sys.stderr).print(left)


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _json(frame: pl.DataFrame, file: Any) -> None:
    rows = (
        {name: _json_value(v) for name, v in row.items()} for row in frame.iter_rows(named=True)
    )
    file.write("[")
    for i, row in enumerate(rows):
        file.write((",\n " if i else "") + json.dumps(row, ensure_ascii=False))
    file.write("]\n")


def write(frame: pl.DataFrame, format_: str | None, output: str | None) -> None:
    """Write a result to the screen, or to ``output``.

    Raises
    ------
    RequestError
        If the format does not fit the target.
    SourceError
        If the file cannot be written.
    """
    chosen = format_ or (_ENDINGS.get(Path(output).suffix.lower()) if output else "table")
    if chosen is None:
        raise RequestError(
            f"--output {output!r}: give --format, or end it in {', '.join(_ENDINGS)}"
        )
    if chosen == "parquet" and output is None:
        raise RequestError("--format parquet needs --output FILE")
    if output is None:
        _write_text(frame, chosen, sys.stdout)
        return
    try:
        if chosen == "parquet":
            frame.write_parquet(output)
        else:
            with Path(output).open("w", encoding="utf-8") as file:
                _write_text(frame, chosen, file)
    except OSError as error:
        raise SourceError(f"cannot write {output!r}: {error.strerror or error}") from error


def _write_text(frame: pl.DataFrame, chosen: str, file: Any) -> None:
    if chosen == "json":
        _json(frame, file)
    elif chosen == "csv":
        file.write(frame.write_csv())
    else:
        _table(frame, file)


def show_step(name: str, text: str, frame: pl.DataFrame) -> None:
    """Print one step of a statement: its name, its SQL and its first rows."""
    console = _console(sys.stdout)
    console.print(f"\n[bold]-- {name}")
    console.print(Syntax(text, "sql", background_color="default"))
    _table(frame, sys.stdout)


def show_metric(described: Mapping[str, Any], texts: Sequence[str]) -> None:
    """Print what is known of one metric, and its files."""
    console = _console(sys.stdout)
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in described.items():
        if value:
            table.add_row(f"[bold]{key}", str(value).replace("[", r"\["))
    console.print(table)
    for text in texts:
        console.print(
            Syntax(text[text.index("*/") + 2 :].strip(), "sql", background_color="default")
        )
