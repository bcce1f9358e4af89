"""Prints results as tables, and writes them as JSON, CSV and Parquet."""

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import polars as pl
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sqleval.catalog.listing import shorten_summary
from sqleval.cli.formats import choose_format
from sqleval.cli.screen import (
    is_unicode,
    print_data,
    print_message,
    print_rendered,
    print_text,
)
from sqleval.common.visible import show_controls
from sqleval.common.whole_file import replace_file
from sqleval.errors import EngineError, get_first_line
from sqleval.history.tables import write_rows
from sqleval.sources.stores import is_remote

#: Columns of counts, printed with a separator of thousands.
_COUNTS = {
    "n", "n_dropped", "new_n", "n_reference", "n_current", "missing_reference", "missing_current",
    "rows", "rows_needed", "labelled", "files", "bytes", "size", "periods", "slices", "folds",
    "support", "predictions", "removed", "kept",
}  # fmt: skip
#: Number of rows of a printed table; the other formats have all.
_MAX_ROWS = 1000
#: The least width of a column of text, with the space after it.
_LEAST_TEXT = 8
#: The width in which texts are measured.
_WIDEST = 10_000


class ProgressBar:
    """A bar on the terminal while a statement takes longer than a second."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._shown: Progress | None = None

    def __call__(self, percent: float) -> None:
        """Show the progress of a statement in percent; 100 removes the bar."""
        if percent >= 100:
            self.stop()
            return
        if self._since is None:
            self._since = time.monotonic()
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=percent)
        elif time.monotonic() - self._since > 1:
            columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self._shown.update(self._shown.add_task("", total=100), completed=percent)
            self._shown.start()

    def stop(self) -> None:
        """Remove the bar, and show the terminal's cursor again."""
        if self._shown is not None:
            self._shown.stop()
        self._shown = self._since = None


def to_frame(rows: Sequence[Any]) -> pl.DataFrame:
    """Return rows (mappings or dataclasses) as a frame."""
    plain = [
        asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in rows
    ]
    return pl.DataFrame(plain, infer_schema_length=None)


def _format_cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.6f}"
    # No separator for other whole numbers, which may be years or ids.
    is_count = name in _COUNTS and isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else show_controls(str(value))


def _create_console(file: Any) -> Console:
    # A program may read a file or pipe, so lines are not wrapped there. Values are never read as
    # markup or as names of emojis.
    width = None if file.isatty() else 400
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def _render(console: Console, *parts: Any, **options: Any) -> str:
    """Return the text that a console prints for these parts."""
    with console.capture() as captured:
        for part in parts:
            console.print(part, **options)
    return captured.get()


def _build_table(frame: pl.DataFrame, names: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        is_number = frame[name].dtype.is_numeric()
        table.add_column(
            show_controls(name),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_number,
        )
    columns = ([_format_cell(name, value) for value in frame[name].to_list()] for name in names)
    for cells in zip(*columns, strict=True):
        table.add_row(*cells)
    return table


def _list_footnotes(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return the frame with numbers instead of notes, and the notes by their number."""
    if "note" not in frame.columns:
        return frame, []
    notes = frame["note"].drop_nulls().unique(maintain_order=True).to_list()
    numbers = {note: f"[{i}]" for i, note in enumerate(notes, start=1)}
    return frame.with_columns(frame["note"].replace(numbers)), notes


def _list_less_needed(names: Sequence[str]) -> list[list[str]]:
    """Return the columns that a narrow terminal leaves out, the least needed first.

    Slice keys, the columns before the metric or gate, are always kept.
    """
    start = next((i for i, name in enumerate(names) if name in ("metric", "curve", "gate")), None)
    if start is None:
        return []
    if "gate" in names:
        order = ["n", "short_by", "since"]
    elif "searched" in names:
        order = ["searched", "share", "rest", "p_adjusted"]
    else:
        # The verdicts of a comparison are printed below as sentences.
        order = ["verdict", "method", "n_dropped", "baseline", "baseline_value", "at"]
        order += ["n_undefined", "n_reference n_current", "low high"]
        order += ["p_adjusted"] if "rank" in names else ["value"] if "difference" in names else []
    steps = ([name for name in names[start:] if name in step.split()] for step in order)
    return [step for step in steps if step]


def _measure_columns(console: Console, frame: pl.DataFrame, names: Sequence[str]) -> dict[str, int]:
    """Return the width of each column if its texts are not wrapped."""
    options = console.options.update(max_width=_WIDEST)
    tables = {name: _build_table(frame, [name]) for name in names}
    return {
        name: Measurement.get(console, options, table).maximum for name, table in tables.items()
    }


def _add_widths(widths: Mapping[str, int], names: Sequence[str]) -> int:
    """Return the width of a table of these columns, with two spaces between them."""
    return min(sum(widths[name] for name in names) + 2 * max(len(names) - 1, 0), _WIDEST)


def _find_least_width(frame: pl.DataFrame, names: Sequence[str], widths: Mapping[str, int]) -> int:
    """Return the least width at which no number is broken; texts may be wrapped."""
    numbers = [name for name in names if frame[name].dtype.is_numeric()]
    least = _add_widths(widths, numbers) + _LEAST_TEXT * (len(names) - len(numbers))
    return min(least, _add_widths(widths, names))


def _write_table(frame: pl.DataFrame, file: Any, kept: int | None = None) -> tuple[str, list[str]]:
    """Return a table for a file or screen, and messages about the parts that it leaves out.

    If it is wider than the terminal, notes go below it. If it is still wider, the columns needed
    least are left out; with ``kept``, the last ones, but not the first ``kept``. A number is broken
    only if the numbers of a row do not fit side by side.
    """
    # Columns that are left out if they are empty.
    optional = {"low", "high", "method", "note", "reason"}
    names = [n for n in frame.columns if n not in optional or frame[n].null_count() < frame.height]
    console, shown, notes = _create_console(file), frame.head(_MAX_ROWS), list[str]()
    width = console.width
    widths = _measure_columns(console, shown, names)

    def fits(spare: int = 0) -> bool:
        return _add_widths(widths, names) - spare <= width

    left: list[str] = []
    if not fits():
        shown, notes = _list_footnotes(shown)
        widths |= _measure_columns(console, shown, ["note"] if "note" in names else [])
    # Names of metrics, gates and slices may be wrapped into lines of 20 letters.
    long_names = [name for name in ("metric", "gate", "slice") if name in names]
    longest: list[Any] = [shown[name].str.len_chars().max() for name in long_names]
    spare = sum(max(length - 20, 0) for length in longest if length is not None)
    less_needed = _list_less_needed(names)
    if kept is not None:
        less_needed = [[name] for name in reversed(names[kept:])]
    for dropped in less_needed:
        may_break = "gate" in names or not {"low", "value", "p_adjusted"}.isdisjoint(dropped)
        if not fits(spare if may_break else 0):
            names = [name for name in names if name not in dropped]
            left = dropped + left
    console.width = max(width, _find_least_width(shown, names, widths))
    text = _render(console, _build_table(shown, names))
    console.width = width
    numbered = enumerate(notes, start=1)
    text += _render(console, *(f"[{n}] {show_controls(note)}" for n, note in numbered))
    messages: list[str] = []
    if left:
        other = "json" if "gate" in names else "csv"
        messages.append(f"--format {other} also has {', '.join(left)}")
    if frame.height > _MAX_ROWS:
        # `run` has no --output.
        whole = "--output FILE.csv" if {"gate", "action"}.isdisjoint(names) else "--format json"
        messages.append(f"... {frame.height - _MAX_ROWS:,} more rows; {whole} has all")
    return text, messages


def _print_table(frame: pl.DataFrame, kept: int | None = None) -> None:
    """Print a table, and messages about the parts that it leaves out."""
    text, messages = _write_table(frame, sys.stdout, kept)
    print_rendered(text)
    for message in messages:
        print_message(message)


def print_explanation(plan: Mapping[str, Any]) -> None:
    """Print the plan of a run: its periods, files, gates and outputs."""
    if plan["periods"]:
        _print_table(to_frame(plan["periods"]))
    else:
        print_text("no period is due")
    files = f"{plan['files']:,} file{'s' * (plan['files'] != 1)}"
    # A database counts as one file of unknown size.
    size = f" of {plan['bytes']:,} bytes" if plan["bytes"] or not plan["files"] else ""
    print_text(f"\nreads {files}{size} in all\n")
    if plan["gates"]:
        _print_table(to_frame(plan["gates"]))
        print_text("")
    _print_table(to_frame(plan["writes"]).rename({"key": "writes"}))


def _replace_infinity(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _write_json(frame: pl.DataFrame, *, escapes: bool) -> Iterator[str]:
    """Yield the parts of a JSON array of rows; with ``escapes`` it is ASCII."""
    rows = (
        {name: _replace_infinity(v) for name, v in row.items()}
        for row in frame.iter_rows(named=True)
    )
    yield "["
    for i, row in enumerate(rows):
        yield (",\n " if i else "") + json.dumps(row, ensure_ascii=escapes)
    yield "]\n"


def _write_nested_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a result with values such as lists and blobs as the texts that JSON has."""
    plain = (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Null)
    return pl.DataFrame(
        each
        if isinstance(each.dtype, plain) or each.dtype.is_numeric() or each.dtype.is_temporal()
        else pl.Series(each.name, [_replace_infinity(value) for value in each.to_list()], pl.String)
        for each in frame.get_columns()
    )


def write(
    frame: pl.DataFrame, format_: str | None, output: str | None, kept: int | None = None
) -> None:
    """Write a result to the screen, or to the file or table ``output``.

    A narrow terminal keeps the first ``kept`` columns; by default those that a metric needs.

    Raises
    ------
    RequestError
        If the format is unknown or does not fit.
    SourceError
        If the file cannot be written.
    EngineError
        If the disk is full, or the table cannot be written.
    """
    chosen = choose_format(format_, output)
    if output is None:
        if chosen == "table":
            _print_table(frame, kept)
        else:
            print_data(_write_parts(frame, chosen, escapes=not is_unicode()))
        return
    if chosen == "rows":
        write_rows(frame, output)
        return
    try:
        if chosen == "parquet" and is_remote(output):
            frame.write_parquet(output)  # an object store writes a file whole
            return
        with replace_file(output, folders=False) as draft:
            if chosen == "parquet":
                frame.write_parquet(draft)
            else:
                with draft.open("w", encoding="utf-8") as file:
                    _write_text(frame, chosen, file)
    except pl.exceptions.ComputeError as error:
        raise EngineError(f"cannot write {output!r}: {get_first_line(error)}") from error


def _write_parts(frame: pl.DataFrame, chosen: str, *, escapes: bool = False) -> Iterable[str]:
    """Return the parts of a result as JSON or CSV."""
    if chosen == "json":
        return _write_json(frame, escapes=escapes)
    return [_write_nested_as_text(frame).write_csv()]


def _write_text(frame: pl.DataFrame, chosen: str, file: Any) -> None:
    """Write a result to a text file."""
    if chosen != "table":
        file.writelines(_write_parts(frame, chosen))
        return
    text, messages = _write_table(frame, file)
    file.write(text)
    for message in messages:
        print_message(message)


def show_list(groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print the short summary of each metric and curve, by group."""
    console, text = _create_console(sys.stdout), ""
    for title, rows in groups.items():
        text += _render(console, Text(title, style="bold"))
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("", no_wrap=True)
        table.add_column("")
        for row in rows:
            table.add_row(f"  {row['name']}", shorten_summary(row["summary"]))
        text += _render(console, table)
    print_rendered(text)
    print_text("sqleval show NAME: parameters, range, formula and SQL; --format csv: all columns")


def _render_sql(console: Console, text: str) -> str:
    from rich.syntax import Syntax  # late: two commands use it, and it imports a highlighter

    shown = show_controls(text, keep="\n\t")
    highlighted = Syntax("", "sql", background_color="default").highlight(shown)
    # The terminal wraps long lines, so they can be copied; rich would break them.
    return _render(console, highlighted, soft_wrap=True, end="")


def show_step(name: str, text: str, frame: pl.DataFrame) -> bool:
    """Print one step of a statement: its name, its SQL and its first rows.

    Returns
    -------
    bool
        Whether stdout still has a reader.
    """
    console = _create_console(sys.stdout)
    shown = _render(console, Text(f"\n-- {name}", style="bold")) + _render_sql(console, text)
    table, messages = _write_table(frame, sys.stdout)
    is_read = print_rendered(shown + table)
    for message in messages:
        print_message(message)
    return is_read


def show_metric(described: Mapping[str, Any], texts: Sequence[str]) -> None:
    """Print the description of a metric and its SQL files."""
    console = _create_console(sys.stdout)
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in described.items():
        if value:
            table.add_row(Text(key, style="bold"), str(value))
    sql = [_render_sql(console, text[text.index("*/") + 2 :].strip()) for text in texts]
    print_rendered("".join([_render(console, table), *sql]))
