"""The history as people and programs read it."""

import json
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.common.names import nearest
from sqleval.errors import RequestError
from sqleval.history.store import RESULTS, Store, patiently, shown

#: What a table on the screen leaves out.
_LONG = (
    "run", "evaluated_at", "grain", "parameters", "fingerprint", "versions", "duration", "slice",
)  # fmt: skip


def _keys(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {text: json.loads(text) for text in frame["slice"].unique(maintain_order=True)}


def found(
    store: Store,
    *,
    job: str | None = None,
    metrics: Sequence[str] = (),
    slices: Sequence[str] = (),
    first: str | None = None,
    last: str | None = None,
    newest: int | None = None,
) -> pl.DataFrame:
    """Return the rows of a history that were asked for, by job, period and slice.

    Parameters
    ----------
    store : Store
        The history.
    job : str, optional
        Only this job.
    metrics : sequence of str
        Metrics as they stand in the history, such as ``f_beta(beta=2)``.
    slices : sequence of str
        ``KEY=VALUE``; of one key any of its values, of several keys all of them. ``true``,
        ``false`` and ``null`` are what they are in JSON.
    first, last : str, optional
        Periods, both included; ``2013-07`` is all of July.
    newest : int, optional
        The last periods of each job.

    Raises
    ------
    RequestError
        For a job, metric or key that the history does not have, or what is no period.
    """
    frame = patiently(lambda: store.read("sqleval_history", job))
    if job is not None and frame.is_empty():
        names = patiently(lambda: store.read("sqleval_history"))["job"].unique().to_list()
        raise RequestError(f"no job {job!r} in the history{nearest(job, names)}")
    known = frame["metric"].unique().to_list()
    for metric in metrics:
        if metric not in known:
            raise RequestError(f"no metric {metric!r} in the history{nearest(metric, known)}")
    if metrics:
        frame = frame.filter(pl.col("metric").is_in(list(metrics)))
    if slices:
        frame = frame.filter(pl.col("slice").is_in(_chosen(frame, slices)))
    for text in (first, last):
        if text is not None and not re.fullmatch(r"\d{4}(-\d\d(-\d\d(T.*)?)?)?", text):
            raise RequestError(f"{text!r} is no period; write 2013-07-01, 2013-07 or 2013")
    if first is not None:
        frame = frame.filter(pl.col("period") >= first)
    if last is not None:
        frame = frame.filter((pl.col("period") <= last) | pl.col("period").str.starts_with(last))
    if newest is not None:
        rank = pl.col("period").rank("dense", descending=True).over("job")
        frame = frame.filter(rank <= newest)
    return frame.sort("job", "period", "slice", maintain_order=True)


def _chosen(frame: pl.DataFrame, slices: Sequence[str]) -> list[str]:
    wanted: dict[str, list[str]] = {}
    for text in slices:
        key, equals, value = text.partition("=")
        if not equals:
            raise RequestError(f"--slice {text!r}: write KEY=VALUE")
        wanted.setdefault(key, []).append(value)
    keys = _keys(frame)
    known = {key for given in keys.values() for key in given}
    for key in wanted:
        if key not in known:
            raise RequestError(f"no slice key {key!r} in the history{nearest(key, known)}")
    return [
        text
        for text, given in keys.items()
        if all(key in given and _text(given[key]) in values for key, values in wanted.items())
    ]


def _text(value: object) -> str:
    """Return a key's value as it is written on a command line."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def printed(frame: pl.DataFrame, *, short: bool) -> pl.DataFrame:
    """Return rows with the slice keys as columns of their own; short for the screen."""
    keys = _keys(frame)
    names = list(dict.fromkeys(key for given in keys.values() for key in given))
    free = [name for name in names if name not in RESULTS]
    columns = [
        pl.col("slice")
        .replace_strict(
            list(keys), [None if g.get(name) is None else str(g[name]) for g in keys.values()],
            return_dtype=pl.String,
        )
        .alias(name)
        for name in free
    ]  # fmt: skip
    lead = ["job", "period", *free, "evaluated_at"]
    # Not by expressions: a key such as ^.*$ would be a pattern there.
    wide = frame.with_columns(columns)
    wide = pl.DataFrame({n: wide[n] for n in [*lead, *(n for n in RESULTS if n not in lead)]})
    if not short:
        return wide
    empty = [name for name in ("matured", "error") if frame[name].null_count() == frame.height]
    one_job = ["job"] if frame["job"].n_unique() <= 1 else []
    one = ["definition"] if not any(note_on_definitions(frame)) else []
    left = {*_LONG, *empty, *one_job, *one} - {*(() if len(free) == len(names) else ("slice",))}
    return wide.drop(left)


def note_on_definitions(frame: pl.DataFrame) -> Iterator[str]:
    """Say where a metric's definition changed: its numbers before and after do not compare."""
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


def drawn(frame: pl.DataFrame, *, color: bool, most: int = 8) -> str:
    """Draw values over time, a picture a metric, a line a slice.

    A line ends where the definition of the metric changes.

    Raises
    ------
    RequestError
        If there is nothing to draw.
    """
    plotext: Any = import_module("plotext")

    frame = frame.filter(pl.col("value").is_finite())
    if frame.is_empty():
        raise RequestError("nothing to draw: no row has a value")
    pictures: list[str] = []
    for (job, metric), rows in frame.partition_by(
        "job", "metric", as_dict=True, maintain_order=True
    ).items():
        periods = rows["period"].unique().sort().to_list()
        places = {period: i for i, period in enumerate(periods)}
        plotext.clear_figure()
        plotext.theme("default" if color else "clear")
        plotext.plot_size(100, 22)
        plotext.title(f"{job}: {metric}")
        lines = rows.partition_by("slice", "definition", as_dict=True, maintain_order=True)
        for (keys, _), line in list(lines.items())[:most]:
            name = shown(str(keys))
            plotext.plot(
                [places[p] for p in line["period"]],
                line["value"].to_list(),
                label=name,
                marker="braille",
            )
        step = max(1, len(periods) // 6)
        ticks = list(range(0, len(periods), step))
        plotext.xticks(ticks, [periods[i] for i in ticks])
        text = plotext.build() if color else plotext.uncolorize(plotext.build())
        if len(lines) > most:
            text += f"\n... {len(lines) - most} more slices; choose with --slice KEY=VALUE"
        pictures.append(text)
    return "\n\n".join(pictures)
