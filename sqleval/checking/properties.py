"""Checks the properties that every metric has, whatever it measures, over any rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from sqleval.catalog.header import parse_range
from sqleval.catalog.request import Request, parse_all
from sqleval.catalog.tasks import has_several_classes
from sqleval.common.sql_text import quote, write_literal
from sqleval.frontend.scan import scan

#: The value of each slice and metric; None if it is undefined.
Values = Mapping[tuple[Any, ...], float | None]
#: The fault of each metric, by name.
Wrong = dict[str, str]
#: The relative difference of sums that add the same numbers in another order.
TOLERANCE = 1e-12
#: Metrics per statement: many short statements are planned faster than a long one.
_TOGETHER = 35


class Rows(NamedTuple):
    """Rows, and the arguments of `sqleval.scan` for them, including slice keys.

    Attributes
    ----------
    frame : polars.DataFrame
    roles : mapping
    """

    frame: pl.DataFrame
    roles: Mapping[str, Any]

    @property
    def by(self) -> list[str]:
        """The slice keys."""
        return list(self.roles.get("by", ()))

    @property
    def labels(self) -> list[str]:
        """The columns of the label: one, several for many labels, or none."""
        given: str | Mapping[str, str] = self.roles.get("label", {})
        return [given] if isinstance(given, str) else list(given.values())

    def replace(self, frame: pl.DataFrame, **roles: Any) -> Rows:
        """Return other rows with the same roles, of which ``roles`` replace some."""
        return Rows(frame, {**self.roles, **roles})

    def parse(self, metrics: Iterable[str]) -> dict[str, Request]:
        """Return the request of each metric."""
        task = scan(self.frame, **self.roles).task
        parsed = ((name, parse_all(name, task, "score" in self.roles)) for name in metrics)
        return {name: request for name, (request,) in parsed}

    def read_range(self, request: Request) -> tuple[float, float]:
        """Return the ends of the range of a request, which may differ for several classes."""
        task = scan(self.frame, **self.roles).task
        conditions = frozenset({"multiclass"} if has_several_classes(task) else ())
        twin = request.catalogue.choose(request.name, conditions)
        header = twin.header if twin is not None and twin.when else request.header
        return parse_range(str(header["range"]))


def evaluate(rows: Rows, metrics: Sequence[str], *, source: object = None) -> Values:
    """Return the value of each slice and metric, from ``source`` instead of the frame if given."""
    bound = scan(rows.frame if source is None else source, **rows.roles)
    values: dict[tuple[Any, ...], float | None] = {}
    for start in range(0, len(metrics), _TOGETHER):
        result = bound.evaluate(metrics[start : start + _TOGETHER]).collect()
        values |= {(*keys, name): value for *keys, name, value in
                   result.select(*rows.by, "metric", "value").rows()}  # fmt: skip
    return values


def is_close(value: float | None, other: float | None, tolerance: float = TOLERANCE) -> bool:
    """Whether two values are the same except for rounding.

    Examples
    --------
    >>> is_close(0.1 + 0.2, 0.3), is_close(None, None), is_close(None, 0.0)
    (True, True, False)
    """
    if value is None or other is None or value == other:
        return value == other
    return abs(value - other) <= tolerance * max(1.0, abs(other))


def show(value: float | None) -> str:
    """Return a value as text for a message."""
    return "undefined" if value is None else f"{value:.6g}"


def show_both(value: float | None, other: float | None) -> tuple[str, str]:
    """Return two different values as texts, with all digits if fewer do not tell them apart.

    Examples
    --------
    >>> show_both(0.5, 1 / 3), show_both(0.1 + 0.2, 0.3)
    (('0.5', '0.333333'), ('0.30000000000000004', '0.3'))
    """
    short = show(value), show(other)
    return short if short[0] != short[1] else (str(value), str(other))


def name_slice(keys: Sequence[object]) -> str:
    """Return the slice keys of a value in brackets; "" without any."""
    return f" ({', '.join(map(str, keys))})" if keys else ""


def find_differences(actual: Values, expected: Values, words: tuple[str, str]) -> Wrong:
    """Return the first difference of each metric, with the words for both values.

    Examples
    --------
    >>> find_differences({("a", "f1"): 0.5}, {("a", "f1"): 0.25}, ("shuffled", "in order"))
    {'f1': '0.5 shuffled, 0.25 in order (a)'}
    """
    wrong: Wrong = {}
    for key in [*expected, *(key for key in actual if key not in expected)]:
        *keys, metric = key
        if metric in wrong:
            continue
        for values, word in ((actual, words[0]), (expected, words[1])):
            if key not in values:
                wrong[metric] = f"no row {word}{name_slice(keys)}"
        if metric not in wrong and not is_close(actual[key], expected[key]):
            one, other = show_both(actual[key], expected[key])
            wrong[metric] = f"{one} {words[0]}, {other} {words[1]}{name_slice(keys)}"
    return wrong


# -- what must not matter ----------------------------------------------------------------------


def check_order(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics whose value depends on the order of rows."""
    expected = evaluate(rows, metrics)
    wrong: Wrong = {}
    for seed in (1, 2):
        shuffled = rows.replace(rows.frame.sample(fraction=1, shuffle=True, seed=seed))
        actual = evaluate(shuffled, metrics)
        wrong = find_differences(actual, expected, ("with the rows shuffled", "in order")) | wrong
    return wrong


def check_slices(rows: Rows, metrics: Sequence[str], key: str) -> Wrong:
    """Find metrics whose value of a slice differs from the value of its rows alone."""
    grouped = evaluate(rows.replace(rows.frame, by=[key]), metrics)
    wrong: Wrong = {}
    for value in rows.frame[key].unique():
        if value is None:
            part = rows.replace(rows.frame.filter(pl.col(key).is_null()))
        else:
            part = rows.replace(rows.frame, where=f"{quote(key)} = {write_literal(value)}")
        alone = {(value, *rest): each for rest, each in evaluate(part, metrics).items()}
        here = {keys: each for keys, each in grouped.items() if keys[0] == value}
        wrong = find_differences(here, alone, ("as a slice", "alone")) | wrong
    return wrong


def repeat(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return each row as often as a column says."""
    return frame.select(pl.all().repeat_by(column)).explode(frame.columns, empty_as_null=False)


def check_repeats(rows: Rows, metrics: Sequence[str], role: str, column: str) -> Wrong:
    """Find metrics for which a weight or count of 2 differs from the row twice.

    A weight may also leave a metric as it is that depends on the number of rows.
    A slice whose weights are 0 is undefined; with repeated rows it has no rows and no result.
    """
    weighted = evaluate(rows.replace(rows.frame, **{role: column}), metrics)
    repeated = evaluate(rows.replace(repeat(rows.frame, column)), metrics)
    expected = {key: repeated.get(key) for key in weighted}
    wrong = find_differences(weighted, expected, (f"with {role}", "with the rows repeated"))
    if role == "counts" or not wrong:
        return wrong
    # A test statistic grows with the number of rows, which weights do not change.
    totals = find_totals(rows, list(wrong))
    return {metric: fault for metric, fault in wrong.items() if metric not in totals}


def find_totals(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics whose value changes if each row is there twice."""
    frame = rows.frame
    once, twice = (
        evaluate(rows.replace(each), metrics) for each in (frame, pl.concat([frame, frame]))
    )
    return find_differences(twice, once, ("with the rows twice", "with the rows"))


def check_scale(rows: Rows, metrics: Sequence[str], column: str) -> Wrong:
    """Find metrics whose value changes with ten times the weights, except totals of rows."""
    totals = find_totals(rows, metrics)
    means = [metric for metric in metrics if metric not in totals]
    larger = rows.frame.with_columns(pl.col(column) * 10.0)
    tenfold, once = (
        evaluate(rows.replace(each, weight=column), means) for each in (larger, rows.frame)
    )
    return find_differences(tenfold, once, ("with ten times the weights", "with the weights"))


# -- what the header says ----------------------------------------------------------------------


def check_range(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics with a value outside the range of their header."""
    return find_outside(rows, evaluate(rows, metrics))


def find_outside(rows: Rows, values: Values) -> Wrong:
    """Return the first value of each metric that is outside the range of its header."""
    requests = rows.parse({metric for *_, metric in values})
    ranges = {metric: rows.read_range(request) for metric, request in requests.items()}
    wrong: Wrong = {}
    for (*keys, metric), value in values.items():
        low, high = ranges[metric]
        if value is not None and not low - TOLERANCE <= value <= high + TOLERANCE:
            message = f"{show(value)} is outside {low:g} .. {high:g}{name_slice(keys)}"
            wrong.setdefault(metric, message)
    return wrong


def check_no_rows(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics that have a value, or no note, without any rows."""
    result = scan(rows.frame.clear(), **rows.roles).evaluate(list(metrics)).collect()
    return {
        metric: f"{show(value)} without any rows, and the note {note!r}"
        for metric, value, note in result.select("metric", "value", "note").rows()
        if value is not None or note is None
    }


def check_alone(rows: Rows, metrics: Sequence[str], others: Sequence[str]) -> Wrong:
    """Find metrics whose value alone differs from their value beside others with shared steps."""
    together = evaluate(rows, [*dict.fromkeys((*metrics, *others))])
    alone = {key: value for each in metrics for key, value in evaluate(rows, [each]).items()}
    expected = {key: value for key, value in together.items() if key in alone}
    return find_differences(alone, expected, ("alone", "beside other metrics"))


def check_notes(rows: Rows, metrics: Sequence[str]) -> Wrong:
    """Find metrics that are undefined without a reason, or defined with one of their reasons."""
    result = scan(rows.frame, **rows.roles).evaluate(list(metrics)).collect()
    requests = rows.parse(result["metric"].unique())
    wrong: Wrong = {}
    for *keys, metric, value, note in result.select(*rows.by, "metric", "value", "note").rows():
        message = ""
        if value is None and note is None:
            message = "undefined without a note"
        elif value is not None and note in requests[metric].relation.notes:
            message = f"{show(value)}, though the note says {note!r}"
        if message:
            wrong.setdefault(metric, message + name_slice(keys))
    return wrong


def describe_cases(rows: Rows, metrics: Sequence[str], cases: Sequence[str]) -> dict[str, str]:
    """Return the values of each metric for some values of its only slice key, in words."""
    (key,) = rows.by
    chosen = rows.replace(rows.frame.filter(pl.col(key).is_in(cases)))
    result = scan(chosen.frame, **chosen.roles).evaluate(list(metrics)).collect()
    texts: dict[str, list[str]] = {}
    for case, metric, value, note in result.select(key, "metric", "value", "note").rows():
        reason = f" ({note})" if value is None and note else ""
        texts.setdefault(metric, []).append(f"{case}: {show(value)}{reason}")
    return {metric: "; ".join(parts) for metric, parts in texts.items()}


def check_direction(rows: Rows, metrics: Sequence[str], right: object) -> Wrong:
    """Find metrics for which other predictions of the same labels are better than right ones.

    ``rows`` has one slice key; its value ``right`` marks the right predictions.
    """
    (by,) = rows.by
    truth = rows.labels + ([rows.roles["qid"]] if "qid" in rows.roles else [])
    cases = rows.frame.select(by, *truth).sort(truth or by).partition_by(by, as_dict=True)
    if (right,) not in cases:
        return {}  # a column without a label is neither right nor wrong
    labels = cases[(right,)].drop(by)
    same = {key for (key,), case in cases.items() if case.drop(by).equals(labels)}
    values = evaluate(rows.replace(rows.frame.filter(pl.col(by).is_in(same))), metrics)
    requests = rows.parse({metric for _, metric in values})
    wrong: Wrong = {}
    for (key, metric), value in values.items():
        if requests[metric].relation.is_of_all_queries:
            continue  # recommended items may be new or various without being relevant
        sign = {"higher": 1, "lower": -1}.get(requests[metric].header["direction"], 0)
        best = values.get((right, metric))
        if value is not None and best is not None and sign * (value - best) > TOLERANCE:
            message = f"{show(value)} ({key}) is better than {show(best)} ({right})"
            wrong.setdefault(metric, message)
    return wrong
