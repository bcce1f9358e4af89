"""Opens states as predictions, without their rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqleval.binding.binding import Binding, Definition, Period
from sqleval.binding.key_sets import parse_sets
from sqleval.binding.lookup import Columns, find_column, list_unique_names
from sqleval.binding.many_labels import ManyLabels
from sqleval.binding.roles import check_threshold
from sqleval.binding.where import check_condition, keep_nan, replace_column
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.common.numbers import convert_scalar
from sqleval.compiler.state_rows import CLASS
from sqleval.errors import RequestError
from sqleval.frontend.binding import create_predictions
from sqleval.frontend.predictions import Predictions
from sqleval.sources.source import Source
from sqleval.states.reading import open_states, read_definition, write_longer_period_sql


def from_state(
    states: object,
    *,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    grain: str | None = None,
    where: str | None = None,
    threshold: float | None = None,
    con: Any = None,
    verify: bool = False,
    catalogue: Catalogue | None = None,
) -> Predictions:
    """Open states as predictions, which are evaluated without their rows.

    Counts, decisions at the thresholds that a state holds, and sums such as log loss are exact.
    Metrics that depend on the order of scores have the bounds of the state's bins.

    Parameters
    ----------
    states : path, frame or table
        Paths, patterns and folders of Parquet files, a frame, an Arrow table, a DuckDB relation,
        or a table name with ``con=``. The rows of all states are added up.
    by : str or sequence of str
        Slice keys that all states have; other keys are added up.
    sets : str or sequence of sequence of str, optional
        As for `scan`.
    grain : {"hour", "day", "week", "month", "quarter", "year"}, optional
        Add up the periods to longer ones, under the key ``period``.
    where : str, optional
        A SQL condition over the slice keys and ``period``. With ``grain=``, ``period`` means the
        longer period, so that none is cut.
    threshold : float, optional
        The score from which a prediction is positive; a threshold that the states do not hold
        gives bounds.
    con : duckdb.DuckDBPyConnection, optional
        The connection of a table name.
    verify : bool
        Check the page checksums of local Parquet files before a result is collected. States are
        written with checksums.
    catalogue : Catalogue, optional
        As for `scan`: the catalogue with which the states were built.

    Returns
    -------
    Predictions

    Raises
    ------
    SourceError
        If a source is not a state.
    RequestError
        If the states cannot be added up, or some state lacks a key.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8], "g": ["a", "b"] * 2})
    >>> state = sqleval.scan(df, label="y", score="p", by="g").state("roc_auc").collect()
    >>> sqleval.from_state(state).evaluate("roc_auc").collect()["value"].item()
    0.75
    """
    return create_state_predictions(
        open_states(states, con, verify=verify),
        by=by, sets=sets, grain=grain, where=where, threshold=threshold, catalogue=catalogue,
    )  # fmt: skip


def create_state_predictions(
    source: Source,
    *,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    grain: str | None = None,
    where: str | None = None,
    threshold: float | None = None,
    catalogue: Catalogue | None = None,
) -> Predictions:
    """Return the predictions of an opened state; see `from_state`."""
    threshold = convert_scalar(threshold)
    if isinstance(threshold, Mapping):
        raise RequestError(
            f"threshold={threshold!r}: a state of several models takes one threshold; give "
            "threshold= of each model when the state is built"
        )
    check_threshold(threshold)
    source, columns, definition = read_definition(source)
    keys = {name: columns[name] for name in definition.keys if name in columns}
    names = list_unique_names(by, "by")
    chosen = parse_sets(sets, names)
    _check_keys_apart(definition, chosen or [tuple(names)])
    for name in names:
        if name not in keys and name in definition.expressions:
            raise RequestError(
                f"by={name!r}: some of {source.label} have another expression for this key; "
                "build their states again with one expression"
            )
        find_column(keys, name, "by", f"all of {source.label}")
    period = _create_period(definition, grain, names, columns)
    condition = None
    if where is not None:
        condition = keep_nan(check_condition(where, keys, source.label)[0], keys)
        condition = replace_column(condition, "period", period.sql) if period else condition
    roles = {
        role: Column(role, columns[role].type)
        for role in ("label", "prediction", "score", "weight", *definition.further)
        if role in columns
    }
    role_texts = dict(definition.roles)
    if "score" in roles:
        kinds = role_texts.get("score type", "DOUBLE").split(", ")
        roles["score"] = Column("score", kinds[-1], has_singles=len(kinds) > 1)
    many = None
    if TASKS[definition.task].has_many_labels:
        if threshold is not None:
            raise RequestError(
                f"threshold={threshold!r}: a state of many labels holds decisions; give threshold= "
                "when it is built"
            )
        many = ManyLabels(tuple(json.loads(role_texts["labels"])), columns[CLASS], None)
    binding = Binding(
        relation=source.relation,
        task=definition.task,
        roles=tuple(roles.items()),
        by=tuple(keys[name] for name in names),
        sets=tuple(chosen),
        threshold=threshold,
        where=condition,
        where_columns=tuple(keys) if where is not None else (),
        nulls="drop",
        many=many,
        period=period,
        state=definition,
    )
    return create_predictions(binding, source, None, catalogue)


def _check_keys_apart(definition: Definition, sets: Sequence[tuple[str, ...]]) -> None:
    """Raise `RequestError` if rows of several models or roles would be added up."""
    apart = ["model"] if definition.models else []
    apart += ["role"] if "role" in dict(definition.roles) else []
    for key in apart:
        if not all(key in keys for keys in sets):
            raise RequestError(
                f"these states hold the same labels once for each {key!r}: "
                f"by= (and every set of sets=) needs {key!r}"
            )


def _create_period(
    definition: Definition, grain: str | None, by: Sequence[str], columns: Columns
) -> Period | None:
    """Return the key ``period`` with the periods of a state merged into longer ones."""
    if grain is None:
        return None
    if "period" in by:
        raise RequestError("by= names 'period', which is the key that grain= adds")
    return Period(write_longer_period_sql(definition, grain), columns["period"])
