"""Reads a history: rows by job, metric, slice and period, as a table or a chart."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import polars as pl

from sqleval.common.names import find_nearest
from sqleval.common.periods import check_period_name
from sqleval.common.visible import show_controls
from sqleval.errors import RequestError
from sqleval.history.definitions import NO_OLD, is_old, match_old_definitions, rename_old
from sqleval.history.store import (
    DIGITS,
    Selection,
    Store,
    find_metric_kind,
    format_slice,
    list_values,
    retry_while_busy,
)

#: Columns that a table on the screen leaves out.
_HIDDEN = (
    "run", "evaluated_at", "grain", "parameters", "fingerprint", "versions", "duration", "slice",
)  # fmt: skip


def _parse_slices(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the keys and values of each slice, by its JSON."""
    return {text: json.loads(text) for text in texts}


def read_rows(
    store: Store,
    *,
    job: str | None = None,
    metrics: Sequence[str] = (),
    slices: Sequence[str] = (),
    first: str | None = None,
    last: str | None = None,
    newest: int | None = None,
    restated: bool = False,
) -> pl.DataFrame:
    """Return rows of a history, sorted by job, period and slice.

    Parameters
    ----------
    store : Store
        The history.
    job : str, optional
        Only this job.
    metrics : sequence of str
        Metrics as the history writes them, such as ``f_beta(beta=2)``.
    slices : sequence of str
        ``KEY=VALUE``. Several values of one key are joined by OR, several keys by AND. Booleans
        and NULL are written ``true``, ``false`` and ``null``, as in JSON.
    first, last : str, optional
        First and last period, both included; ``2013-07`` is all of July.
    newest : int, optional
        Only the last ``newest`` periods of each job.
    restated : bool
        Whether to read the replaced results instead of the current ones.

    Raises
    ------
    RequestError
        If the history has no such job, metric or key, if a period cannot be read, or if the first
        one is later than the last.
    """
    for text in (first, last):
        if text is not None:
            check_period_name(text)
    # The name of a day begins with the name of its month; ~ sorts after every letter and digit.
    if first is not None and last is not None and first > f"{last}~":
        raise RequestError(f"--from {first} is later than --to {last}")
    # A name is unknown only if neither the replaced nor the current results have it.
    tables = ["sqleval_restated", "sqleval_history"] if restated else ["sqleval_history"]
    only = Selection(metrics=metrics or None, first=first, last=last)

    def read(only: Selection) -> pl.DataFrame:
        return retry_while_busy(lambda: store.read(tables[0], job, only))

    if slices:
        texts = list_values(store, job, "slice", tables)
        only = replace(only, slices=_match_slices(texts, slices))
    if newest is not None:
        kept = replace(only, columns=["job", "period"], distinct=True)
        ranked = read(kept).filter(_is_newest(newest))
        frame = read(replace(only, first=ranked["period"].min() or first))
        frame = frame.join(ranked, on=["job", "period"], how="semi", maintain_order="left")
    else:
        frame = read(only)
    if frame.is_empty() or not set(metrics) <= set(frame["metric"]):
        _check_names(store, tables, job, metrics)
    if restated:
        # A write that was repeated because the store was busy may have added its rows twice.
        frame = frame.unique(["job", "period", "slice", "metric", "run"], maintain_order=True)
    elif frame.select(is_old(pl.col("definition")).any()).item():
        frame = rename_old(frame, match_old_definitions(store, job, NO_OLD))
    return frame.sort("job", "period", "slice", maintain_order=True)


def read_expected(store: Store, *, metrics: Sequence[str] = (), **chosen: Any) -> pl.DataFrame:
    """Return rows of a history with the value that was expected before the labels came.

    Parameters
    ----------
    store : Store
        The history.
    metrics : sequence of str
        Metrics without ``expected(...)``.
    **chosen
        Passed on to `read_rows`.

    Returns
    -------
    polars.DataFrame
        The rows of `read_rows` with an expected value, with ``expected`` and ``difference``, the
        value minus the expected one. Without labels so far, value and difference are missing.

    Raises
    ------
    RequestError
        As in `read_rows`, or if nothing was expected.
    """
    names = [*metrics, *(f"expected({name})" for name in metrics)]
    rows = read_rows(store, metrics=names, **chosen)
    rows = rows.filter(~pl.col("metric").str.starts_with("arrived("))
    is_expected = find_metric_kind(pl.col("metric")) == "expected"
    on = ["job", "period", "slice", "metric"]
    name = pl.col("metric").str.strip_prefix("expected(").str.strip_suffix(")")
    foreseen = rows.filter(is_expected).with_columns(metric=name, expected="value")
    if foreseen.is_empty():
        raise RequestError("nothing was expected here; write expected: true into the job file")
    observed = rows.filter(~is_expected).join(
        foreseen.select(*on, "expected"), on=on, how="inner", maintain_order="left"
    )
    waiting = foreseen.join(observed, on=on, how="anti", maintain_order="left")
    # The definition belongs to the expected metric, not to the observed one.
    unknown = pl.lit(None, pl.Float64), pl.lit(None, pl.String)
    waiting = waiting.with_columns(value=unknown[0], definition=unknown[1])
    both = pl.concat([observed, waiting])
    both = both.with_columns(difference=pl.col("value") - pl.col("expected"))
    lead = [*on, "expected", "value", "difference"]
    rest = [column for column in both.columns if column not in lead]
    return both.select(*lead, *rest).sort("job", "period", "slice", maintain_order=True)


def _is_newest(count: int) -> pl.Expr:
    return pl.col("period").rank("dense", descending=True).over("job") <= count


def _check_names(
    store: Store, tables: Sequence[str], job: str | None, metrics: Sequence[str]
) -> None:
    """Raise `RequestError` if tables of the history have no such job or metric."""
    stored = list_values(store, job, "metric", tables)
    if job is not None and not stored:
        names = list_values(store, None, "job", tables)
        raise RequestError(f"no job {job!r} in the history{find_nearest(job, names)}")
    for metric in metrics:
        if metric not in stored and f"expected({metric})" not in stored:
            raise RequestError(f"no metric {metric!r} in the history{find_nearest(metric, stored)}")


def _match_slices(texts: Sequence[str], slices: Sequence[str]) -> list[str]:
    """Return the JSON of the slices that match ``KEY=VALUE`` conditions."""
    conditions: dict[str, list[str]] = {}
    for text in slices:
        key, equals, value = text.partition("=")
        if not equals:
            raise RequestError(f"--slice {text!r}: write KEY=VALUE")
        conditions.setdefault(key, []).append(value)
    stored = _parse_slices(texts)
    names = {key for keys in stored.values() for key in keys}
    for key in conditions:
        if key not in names:
            raise RequestError(f"no slice key {key!r} in the history{find_nearest(key, names)}")
    return [
        text
        for text, keys in stored.items()
        if all(
            key in keys and _format_value(keys[key]) in values for key, values in conditions.items()
        )
    ]


def _format_value(value: object) -> str:
    """Return the value of a key as typed on the command line."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def expand_slices(frame: pl.DataFrame, *, short: bool) -> pl.DataFrame:
    """Return rows with one column per slice key; ``short`` leaves out columns for the screen."""
    slices = _parse_slices(frame["slice"].unique(maintain_order=True))
    keys = list(dict.fromkeys(key for values in slices.values() for key in values))
    # A key with the name of a column of the history stays in ``slice``.
    expanded = [key for key in keys if key not in frame.columns]
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
    # Not by pl.col, which takes a key such as ^.*$ as a pattern.
    wide = pl.DataFrame({n: wide[n] for n in [*lead, *(n for n in frame.columns if n not in lead)]})
    return wide if not short else wide.drop(_list_hidden(frame, keep_slice=expanded != keys))


def _list_hidden(frame: pl.DataFrame, *, keep_slice: bool) -> set[str]:
    """Return the columns that a table on the screen leaves out."""
    hidden = {*_HIDDEN} & {*frame.columns}
    if keep_slice:
        hidden -= {"slice"}
    if "new_run" in frame.columns:
        hidden |= {"definition", "new_definition"}
    else:
        unused = ("matured", "error")
        hidden |= {name for name in unused if frame[name].null_count() == frame.height}
    if frame["job"].n_unique() <= 1:
        hidden |= {"job"}
    if not any(list_definition_changes(frame)):
        hidden |= {"definition"}
    return hidden


def list_definition_changes(frame: pl.DataFrame) -> Iterator[str]:
    """Yield a note for each change of a definition; values before and after are not comparable."""
    names = {text: ", ".join(json.loads(text)) for text in frame["slice"].unique()}
    rows = frame.sort("period").with_columns(
        keys=pl.col("slice").replace_strict(names, return_dtype=pl.String),
        definition=pl.col("definition").str.head(DIGITS),
        expressions=pl.col("definition").str.slice(DIGITS + 1),
    )
    for what, column, of in (
        ("definition of", "definition", "metric"),
        ("expressions of slices by", "expressions", "keys"),
    ):
        spans = rows.select("job", of, "period", column).unique(maintain_order=True)
        before = pl.col(column).shift(1).over("job", of)
        changes = spans.with_columns(before=before).filter(pl.col("before") != pl.col(column))
        changes = changes.sort("job", of, "period").select("job", of, "period", "before", column)
        for job, name, period, *hashes in changes.iter_rows():
            old, now = (each or "none" for each in hashes)
            yield f"{job}: the {what} {name} changed at {period} ({old} to {now})"


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
    """Draw the values of one metric of one job, with at most ``most`` lines."""
    plotext: Any = import_module("plotext")

    periods = rows["period"].unique().sort().to_list()
    positions = {period: i for i, period in enumerate(periods)}
    plotext.clear_figure()
    plotext.theme("default" if color else "clear")
    plotext.plot_size(100, 22)
    plotext.title(show_controls(title))
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
