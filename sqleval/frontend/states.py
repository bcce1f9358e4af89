"""Builds states of predictions as lazy frames."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from sqleval.compiler.statement import Statement
from sqleval.frontend.bound import Bound, Metrics
from sqleval.frontend.lazy import create_frame


def state(
    bound: Bound,
    metrics: Metrics = None,
    *,
    by: str | Sequence[str] | None = None,
    grain: str | None = None,
    time: str | None = None,
    timezone: str | None = None,
    bins: int = 11,
    ci: bool = False,
) -> pl.LazyFrame:
    """Return counts and sums of the rows, by slice and period, for `from_state` to evaluate.

    Write the frame like any table: ``.sink_parquet("day.parquet")``. States of different rows are
    added up when they are read together.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        Metrics whose sums over rows the state must hold; the default set of the task if left
        out. Metrics of ranked scores need no sums, so any state can compute them. The state of a
        ranking holds the value of each metric by query, that of many labels decisions by label,
        and sums over rows.
    by : str or sequence of str, optional
        Slice keys, instead of the keys of `scan`.
    grain, time : str, optional
        The length of a period (hour, day, week, month, quarter, year), and the column, a date,
        time or text, that decides the period of a row; the key ``period`` is its first day.
    timezone : str, optional
        Time zone in which days begin; UTC if left out.
    bins : int
        The significant bits to which scores are rounded.
    ci : bool
        Also hold the sums of squared deviations that intervals of means need.

    Returns
    -------
    polars.LazyFrame
        One row per slice, label, bin and side of each threshold: the keys, ``label``,
        ``score`` (the bin), ``score_low``, ``score_high``, ``n``, ``used`` (whether the rows
        are usable), the sums, and ``definition``, which describes them. Sorted by the keys.
        A ranking has one row per slice and query: the keys, ``query``, ``n``, ``used``, the values
        and ``definition``.

    Raises
    ------
    RequestError
        If there is no score or decision, or a key has the name of one of these columns.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> state = sqleval.scan(df, label="y", score="p").state("log_loss")
    >>> state.collect().select("label", "score", "n").sort("score").rows()[0]
    (0, 0.0999755859375, 1)
    """
    from sqleval.states import making  # late: most calls make no state

    built_state = making.build_state(
        bound.binding, bound.source, bound.engine, metrics, by=by, grain=grain, time=time,
        timezone=timezone, bins=bins, ci=ci, catalogue=bound.catalogue,
    )  # fmt: skip

    def statement(*_: object) -> Statement:
        return built_state.statement

    stated = replace(bound, binding=built_state.binding)
    return create_frame(stated, statement, built_state.schema)
