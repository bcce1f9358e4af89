"""Reads a history: rows by job, metric, slice and period, as a table or a chart."""

import json
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.common.names import nearest
from sqleval.errors import RequestError
from sqleval.history.store import RESULTS, Store, format_slice, retry_while_busy

#: Columns that a table on the screen leaves out.
_HIDDEN = (
    "run", "evaluated_at", "grain", "parameters", "fingerprint", "versions", "duration", "slice",
)  # fmt: skip


def _parse_slices(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the keys and values of each slice, by its JSON."""
    return {text: json.loads(text) for text in frame["slice"].unique(maintain_order=True)}


def read_rows(
    store: Store,
    *,
    job: str | None = None,
    metrics: Sequence[str] = (),
    slices: Sequence[str] = (),
    first: str | None = None,
    last: str | None = None,
    newest: int | None = None,
) -> pl.DataFrame:
    """Return rows of a history, sorted by job, period and slice.

    Parameters
    ----------
    store : Store
        The history.
    job : str, optional
        Only this job.
    metrics : sequence of str
        Metrics as they stand in the history, such as ``f_beta(beta=2)``.
    slices : sequence of str
        ``KEY=VALUE``. Several values of one key are joined by OR, several keys by AND. Booleans
        and NULL are written ``true``, ``false`` and ``null``, as in JSON.
    first, last : str, optional
        First and last period, both included; ``2013-07`` is all of July.
    newest : int, optional
        Only the last ``newest`` periods of each job.

    Raises
    ------
    RequestError
        If the history has no such job, metric or key, or if a period cannot be read.
    """
    frame = retry_while_busy(lambda: store.read("sqleval_history", job))
    if job is not None and frame.is_empty():
        names = retry_while_busy(lambda: store.read("sqleval_history"))["job"].unique().to_list()
        raise RequestError(f"no job {job!r} in the history{nearest(job, names)}")
    stored = frame["metric"].unique().to_list()
    for metric in metrics:
        if metric not in stored:
            raise RequestError(f"no metric {metric!r} in the history{nearest(metric, stored)}")
    if metrics:
        frame = frame.filter(pl.col("metric").is_in(list(metrics)))
    if slices:
        frame = frame.filter(pl.col("slice").is_in(_match_slices(frame, slices)))
    for text in (first, last):
        if text is not None and not re.fullmatch(r"\d{4}(-\d\d(-\d\d(T.*)?)?)?", text):
            raise RequestError(f"{text!r} is not a period; write 2013-07-01, 2013-07 or 2013")
    if first is not None:
        frame = frame.filter(pl.col("period") >= first)
    if last is not None:
        frame = frame.filter((pl.col("period") <= last) | pl.col("period").str.starts_with(last))
    if newest is not None:
        rank = pl.col("period").rank("dense", descending=True).over("job")
        frame = frame.filter(rank <= newest)
    return frame.sort("job", "period", "slice", maintain_order=True)


def _match_slices(frame: pl.DataFrame, slices: Sequence[str]) -> list[str]:
    """Return the JSON of the slices that match ``KEY=VALUE`` conditions."""
    wanted: dict[str, list[str]] = {}
    for text in slices:
        key, equals, value = text.partition("=")
        if not equals:
            raise RequestError(f"--slice {text!r}: write KEY=VALUE")
        wanted.setdefault(key, []).append(value)
    stored = _parse_slices(frame)
    names = {key for keys in stored.values() for key in keys}
    for key in wanted:
        if key not in names:
            raise RequestError(f"no slice key {key!r} in the history{nearest(key, names)}")
    return [
        text
        for text, keys in stored.items()
        if all(key in keys and _format_value(keys[key]) in values for key, values in wanted.items())
    ]


def _format_value(value: object) -> str:
    """Return the value of a key as a user types it on the command line."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def expand_slices(frame: pl.DataFrame, *, short: bool) -> pl.DataFrame:
    """Return rows with one column per slice key; ``short`` leaves out columns for the screen."""
    slices = _parse_slices(frame)
    keys = list(dict.fromkeys(key for values in slices.values() for key in values))
    # A key with the name of a column of the history stays in ``slice``.
    expanded = [key for key in keys if key not in RESULTS]
    columns = [
        pl.col("slice")
        .replace_strict(
            list(slices),
            [None if v.get(key) is None else str(v[key]) for v in slices.values()],
            return_dtype=pl.String,
        )
        .alias(key)
        for key in expanded
    ]
    lead = ["job", "period", *expanded, "evaluated_at"]
    wide = frame.with_columns(columns)
    # By name and not by pl.col, which reads a key such as ^.*$ as a pattern.
    wide = pl.DataFrame({n: wide[n] for n in [*lead, *(n for n in RESULTS if n not in lead)]})
    return wide if not short else wide.drop(_list_hidden(frame, keep_slice=expanded != keys))


def _list_hidden(frame: pl.DataFrame, *, keep_slice: bool) -> set[str]:
    """Return the columns that a table on the screen leaves out."""
    hidden = {*_HIDDEN}
    if keep_slice:
        hidden -= {"slice"}
    hidden |= {name for name in ("matured", "error") if frame[name].null_count() == frame.height}
    if frame["job"].n_unique() <= 1:
        hidden |= {"job"}
    if not any(list_definition_changes(frame)):
        hidden |= {"definition"}
    return hidden


def list_definition_changes(frame: pl.DataFrame) -> Iterator[str]:
    """Yield a note per change of a metric's definition; values across it are not comparable."""
    for (job, metric), rows in (
        frame.sort("period")
        .partition_by("job", "metric", as_dict=True, maintain_order=True)
        .items()
    ):
        spans = rows.select("period", "definition").unique(maintain_order=True)
        changes = spans.with_columns(before=pl.col("definition").shift(1)).filter(
            pl.col("before") != pl.col("definition")
        )
        for period, now, before in changes.select("period", "definition", "before").iter_rows():
            yield f"{job}: the definition of {metric} changed at {period} ({before} to {now})"


def draw_values(frame: pl.DataFrame, *, color: bool, most: int = 8) -> str:
    """Draw values over time: one chart per metric, one line per slice and definition.

    Raises
    ------
    RequestError
        If no row has a finite value.
    """
    frame = frame.filter(pl.col("value").is_finite())
    if frame.is_empty():
        raise RequestError("nothing to draw: no row has a value")
    groups = frame.partition_by("job", "metric", as_dict=True, maintain_order=True)
    return "\n\n".join(
        _draw_chart(f"{job}: {metric}", rows, color=color, most=most)
        for (job, metric), rows in groups.items()
    )


def _draw_chart(title: str, rows: pl.DataFrame, *, color: bool, most: int) -> str:
    """Draw the values of one metric of one job, of up to ``most`` lines."""
    plotext: Any = import_module("plotext")

    periods = rows["period"].unique().sort().to_list()
    positions = {period: i for i, period in enumerate(periods)}
    plotext.clear_figure()
    plotext.theme("default" if color else "clear")
    plotext.plot_size(100, 22)
    plotext.title(title)
    lines = rows.partition_by("slice", "definition", as_dict=True, maintain_order=True)
    for (keys, _), line in list(lines.items())[:most]:
        plotext.plot(
            [positions[period] for period in line["period"]],
            line["value"].to_list(),
            label=format_slice(str(keys)),
            marker="braille",
        )
    step = max(1, len(periods) // 6)
    ticks = list(range(0, len(periods), step))
    plotext.xticks(ticks, [periods[i] for i in ticks])
    text = plotext.build() if color else plotext.uncolorize(plotext.build())
    if len(lines) > most:
        text += f"\n... {len(lines) - most} more slices; choose with --slice KEY=VALUE"
    return text
