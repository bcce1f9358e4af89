"""The table of checks: what holds for every metric, averaged metric and curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqleval.catalog.tasks import TASKS
from sqleval.checking import curves, paths, properties
from sqleval.checking.data import ONE_CLASS, Data
from sqleval.checking.properties import Wrong
from sqleval.frontend.from_state import from_state
from sqleval.frontend.scan import scan

#: Returns the faults of metrics or curves on the rows of a task.
Find = Callable[[Data, Sequence[str]], Wrong]
#: Requests a metric or curve without computing it; a check does not apply if the request fails.
Ask = Callable[[Data, str], object]


def _of_cases(find: Callable[..., Wrong], *arguments: object) -> Find:
    """Return a check on all sets of rows, as slices."""
    return lambda data, names: find(data.cases, names, *arguments)


def _of_rows(find: Callable[..., Wrong], *arguments: object) -> Find:
    """Return a check on the unchanged rows alone."""
    return lambda data, names: find(data.rows, names, *arguments)


def _ask_metric(text: str = "{}", *, ci: float | None = None, bins: int | None = None,
                **roles: Any) -> Ask:  # fmt: skip
    def ask(data: Data, name: str) -> object:
        bound = scan(data.frame, **data.roles, **roles)
        return bound.evaluate(text.format(name), ci=ci, bins=bins)

    return ask


def _ask_state(data: Data, name: str) -> object:
    return scan(data.frame, **data.roles).state(name)


def _ask_compare(data: Data, name: str) -> object:
    scan(data.frame, **data.roles).evaluate(name)
    return scan(data.frame, **data.models).compare(name)


def _ask_curve(**roles: Any) -> Ask:
    return lambda data, name: scan(data.frame, **data.roles, **roles).curve(name)


def _ask_curve_of_state(data: Data, name: str) -> object:
    return from_state(scan(data.frame, **data.roles).state().collect()).curve(name)


def _check_alone(data: Data, names: Sequence[str]) -> Wrong:
    others = TASKS[data.roles["task"]].list_defaults(has_score="score" in data.roles)
    return properties.check_alone(data.cases, names, others)


def _check_compare(data: Data, names: Sequence[str]) -> Wrong:
    return paths.check_compare(data.rows, data.models, names)


def _tell_one_class(data: Data, names: Sequence[str]) -> dict[str, str]:
    return properties.describe_cases(data.cases, names, ONE_CLASS)


def _tell_nothing(*_: Any) -> dict[str, str]:
    return {}


class Check(NamedTuple):
    """A property that every metric or curve has.

    Attributes
    ----------
    what : str
        The property in a sentence.
    find : callable
        Returns the faults of metrics on the rows of a task.
    ask : callable
        Requests a metric without computing it; the check does not apply if the request fails.
    tell : callable
        Returns values that a reader must judge, because no rule can.
    """

    what: str
    find: Find
    ask: Ask = _ask_metric()
    tell: Callable[[Data, Sequence[str]], dict[str, str]] = _tell_nothing


METRIC_CHECKS: Mapping[str, Check] = {
    "range": Check(
        "every value lies in the range of the header", _of_cases(properties.check_range)
    ),
    "undefined": Check(
        "a missing value has a note, and a value has no note that says why it is missing",
        _of_cases(properties.check_notes),
        tell=_tell_one_class,
    ),
    "no rows": Check("without any rows the value is missing", _of_rows(properties.check_no_rows)),
    "direction": Check(
        "no predictions are better than right ones",
        _of_cases(properties.check_direction, "right"),
    ),
    "order": Check("the order of the rows changes nothing", _of_cases(properties.check_order)),
    "alone": Check("the value is the same alone and beside other metrics", _check_alone),
    "slices": Check(
        "a slice has the value of its rows alone", _of_rows(properties.check_slices, "g")
    ),
    "missing labels": Check(
        "rows with a NULL label are an error, or left out", _of_rows(paths.check_missing)
    ),
    "counts": Check(
        "a count of 2 gives the value of the row twice",
        _of_cases(properties.check_repeats, "counts", "n"),
        _ask_metric(counts="n"),
    ),
    "weights": Check(
        "a weight of 2 gives the value of the row twice",
        _of_cases(properties.check_repeats, "weight", "n"),
        _ask_metric(weight="n"),
    ),
    "scale of weights": Check(
        "ten times the weights change nothing, except a total",
        _of_cases(properties.check_scale, "w"),
        _ask_metric(weight="w"),
    ),
    "bins": Check(
        "the bounds of binned scores contain the value",
        _of_cases(paths.check_bins),
        _ask_metric(bins=4),
    ),
    "state": Check(
        "a state and merged states give the value, or bounds that contain it",
        _of_cases(paths.check_state),
        _ask_state,
    ),
    "interval": Check(
        "the confidence interval contains the value",
        _of_rows(paths.check_interval),
        _ask_metric(ci=0.95),
    ),
    "compare": Check(
        "a model differs from itself by 0, and from another one by the difference of the values",
        _check_compare,
        _ask_compare,
    ),
    "dialects": Check(
        "every dialect has a statement, and SQLite's statement gives the value",
        _of_cases(paths.check_dialects),
    ),
}
#: Checks of metrics of two classes on rows of several classes.
CLASS_CHECKS: Mapping[str, Check] = {
    "average": Check(
        "the macro average is the mean over the classes",
        _of_cases(paths.check_average),
        _ask_metric("{}(average='macro')"),
    ),
}
CURVE_CHECKS: Mapping[str, Check] = {
    "no rows": Check(
        "the curve can be computed without rows", _of_rows(curves.check_no_rows), _ask_curve()
    ),
    "order": Check(
        "the order of the rows changes nothing", _of_cases(curves.check_order), _ask_curve()
    ),
    "slices": Check(
        "a slice has the points of its rows alone",
        _of_rows(curves.check_slices, "g"),
        _ask_curve(),
    ),
    "counts": Check(
        "a count of 2 gives the points of the row twice",
        _of_rows(curves.check_repeats, "counts", "n"),
        _ask_curve(counts="n"),
    ),
    "weights": Check(
        "a weight of 2 gives the points of the row twice",
        _of_rows(curves.check_repeats, "weight", "n"),
        _ask_curve(weight="n"),
    ),
    "state": Check(
        "the curve can be computed from a state", _of_rows(curves.check_state), _ask_curve_of_state
    ),
    "dialects": Check(
        "every dialect has a statement", _of_rows(curves.check_dialects), _ask_curve()
    ),
}
