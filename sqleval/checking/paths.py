"""Checks values from bins, states, intervals, comparisons and other engines against rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import polars as pl

from sqleval.checking.properties import (
    Rows,
    Values,
    Wrong,
    evaluate,
    find_differences,
    is_close,
    name_slice,
    show,
    show_both,
)
from sqleval.common.sql_text import quote
from sqleval.errors import DataError, EngineError
from sqleval.export.dialects import DIALECTS
from sqleval.export.statement import export_statement
from sqleval.frontend.from_state import from_state
from sqleval.frontend.scan import scan

#: Samples of the bootstrap.
_REPLICATES = 100


def find_outside_bounds(
    result: pl.DataFrame, exact: Values, by: Sequence[str], words: str
) -> Wrong:
    """Return the first value of each metric that lies outside its bounds.

    Without bounds, a value must equal the exact one, or be undefined with a note.
    """
    wrong: Wrong = {}
    columns = [*by, "metric", "value", "low", "high", "note"]
    for *keys, metric, value, low, high, note in result.select(columns).rows():
        expected = exact[(*keys, metric)]
        message = ""
        if low is not None and high is not None and expected is not None:
            ends = (min(low, expected), max(high, expected))
            if not (is_close(ends[0], low) and is_close(ends[1], high)):
                message = f"{show(low)} .. {show(high)} {words} without {show(expected)}"
        elif not is_close(value, expected) and not (value is None and note):
            one, other = show_both(value, expected)
            message = f"{one} {words}, {other} from rows"
        if message:
            wrong.setdefault(metric, message + name_slice(keys))
    return wrong


def check_bins(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics whose bounds with binned scores do not contain the value of the rows."""
    exact = evaluate(rows, metrics)
    wrong: Wrong = {}
    for bits in (1, 4):
        result = scan(rows.frame, **rows.roles).evaluate(list(metrics), bins=bits).collect()
        words = f"with bins of {bits} bit{'s' * (bits > 1)}"
        wrong = find_outside_bounds(result, exact, rows.by, words) | wrong
    return wrong


def check_state(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics whose value from a state, or from merged states, does not match the rows."""
    exact = evaluate(rows, metrics)
    # The rows of a query stay together.
    group = pl.col(rows.roles["qid"]) if "qid" in rows.roles else pl.int_range(pl.len())
    halves = [rows.frame.filter(group % 2 == part) for part in (0, 1)]
    whole, *parts = (
        scan(frame, **rows.roles).state(list(metrics)).collect() for frame in (rows.frame, *halves)
    )
    wrong: Wrong = {}
    for state, words in ((whole, "from a state"), (pl.concat(parts), "from merged states")):
        result = from_state(state, by=rows.by).evaluate(list(metrics)).collect()
        wrong = find_outside_bounds(result, exact, rows.by, words) | wrong
    return wrong


def check_interval(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics whose confidence interval does not contain the value, or is missing."""
    result = scan(rows.frame, **rows.roles).evaluate(
        list(metrics), ci=0.95, replicates=_REPLICATES
    ).collect()  # fmt: skip
    wrong: Wrong = {}
    for metric, value, low, high, note in result.select(
        "metric", "value", "low", "high", "note"
    ).rows():
        if low is None or high is None:
            if value is not None and not note:
                wrong[metric] = f"no interval of {show(value)}, and no note"
        elif value is None or not low <= value <= high:
            wrong[metric] = f"{show(low)} .. {show(high)} is the interval of {show(value)}"
    return wrong


def check_compare(rows: Rows, models: Mapping[str, Any], metrics: Sequence[str]) -> Wrong:
    """Find metrics whose difference of a model from itself is not 0, or has no verdict."""
    role = next(name for name in ("score", "prediction", "value") if name in models)
    twice = {**models, role: {"a": models[role]["a"], "b": models[role]["a"]}}
    wrong: Wrong = {}
    for roles, expected in ((twice, 0.0), (models, None)):
        result = scan(rows.frame, **roles).compare(list(metrics), replicates=_REPLICATES).collect()
        for row in result.iter_rows(named=True):
            values = [row[name] for name in ("value", "baseline_value", "difference")]
            value, baseline, difference = values
            if None not in values and not is_close(difference, value - baseline):
                message = (
                    f"the difference of {show(value)} and {show(baseline)} is {show(difference)}"
                )
            elif value is None and baseline is None:
                continue  # A share of values that are not 0 and 1 is undefined.
            elif expected is not None and not is_close(difference, expected):
                message = f"a model differs from itself by {show(difference)}"
            elif not row["verdict"]:
                message = "no verdict"
            else:
                continue
            wrong.setdefault(row["metric"], message)
    return wrong


def check_missing(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics that use a row whose label is NULL, with or without an error.

    Without a label, the value is NULL. In a ranking, a NULL label is an item that was not judged.
    """
    if "qid" in rows.roles:
        return {}
    name = (rows.labels or [rows.roles["value"]])[0]
    gaps = pl.when(pl.int_range(pl.len()) % 7 == 3).then(None).otherwise(name).alias(name)
    frame = rows.frame.with_columns(gaps)
    known = evaluate(rows.replace(frame.drop_nulls(name)), metrics)
    dropped = evaluate(rows.replace(frame, nulls="drop"), metrics)
    wrong = find_differences(dropped, known, ("with nulls='drop'", "without rows of NULL labels"))
    try:
        undropped = evaluate(rows.replace(frame), metrics)
    except DataError:
        return wrong
    return {
        key[-1]: f"{show(value)} from rows with NULL labels" for key, value in undropped.items()
    }


# -- SQL for other engines ---------------------------------------------------------------------


def check_dialects(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics that cannot be exported to a dialect, or have another value in SQLite."""
    if len(rows.labels) > 1:
        # Many labels: rows of a table have no number.
        rows = rows.replace(rows.frame.with_row_index("id"), key="id")
    texts = {each: export_statement(metrics, each, "preds", **rows.roles) for each in DIALECTS}
    result = run_sqlite(texts["sqlite"], rows.frame)
    if result is None:
        return {}
    by_sqlite = {(*keys, metric): value for *keys, metric, value in
             result.select(*rows.by, "metric", "value").rows()}  # fmt: skip
    exact = evaluate(rows, metrics)
    return find_differences(by_sqlite, exact, ("by SQLite", "by DuckDB"))


def run_sqlite(sql: str, frame: pl.DataFrame) -> pl.DataFrame | None:
    """Return the rows of a statement over the table ``preds`` in SQLite.

    The result is None if this build of SQLite has no mathematical functions.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        options = connection.execute("PRAGMA compile_options").fetchall()
        if ("ENABLE_MATH_FUNCTIONS",) not in options:
            return None
        names = ", ".join(map(quote, frame.columns))
        places = ", ".join("?" for _ in frame.columns)
        connection.execute(f"CREATE TABLE preds ({names})")
        connection.executemany(f"INSERT INTO preds VALUES ({places})", frame.rows())
        try:
            cursor = connection.execute(sql)
        except sqlite3.Error as error:
            raise EngineError(f"SQLite: {error}") from error
        columns = [each[0] for each in cursor.description]
        return pl.DataFrame(cursor.fetchall(), columns, orient="row", infer_schema_length=None)


# -- several classes ---------------------------------------------------------------------------


def check_average(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics of two classes whose macro average is not the mean over the classes."""
    bound = scan(rows.frame, **rows.roles)
    wrong: Wrong = {}
    for metric in metrics:
        asked = [f"{metric}(average='macro')", f"{metric}(average=None)"]
        result = bound.evaluate(asked).collect()
        values = result.group_by(*rows.by, pl.col("class").is_null()).agg(pl.col("value").mean())
        for keys, part in values.group_by(rows.by):
            means = dict(part.select("class", "value").rows())
            average, mean = means.get(True), means.get(False)
            if not is_close(average, mean, 1e-9):
                where = name_slice(keys)
                one, other = show_both(average, mean)
                message = f"{one} as macro average, {other} as mean over the classes"
                wrong.setdefault(metric, message + where)
    return wrong
