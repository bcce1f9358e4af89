"""Translates gates of job files to tests of dbt."""

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from typing import Any

from sqleval.binding.binding import OVERALL, name_set
from sqleval.common.names import find_nearest
from sqleval.common.periods import is_period_name
from sqleval.errors import RequestError
from sqleval.jobs.file.parts import Gate
from sqleval.jobs.file.reading import parse_gate
from sqleval.jobs.judging.gates import SUBJECTS

_WORDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below", "-": "minus", "+": "plus"}
_OPERATORS = re.compile(r"[<>]=?|[-+]")


def write_tests(
    package: str,
    gates: Sequence[str],
    metrics: Sequence[str],
    sets: Sequence[Sequence[str]],
    *,
    has_intervals: bool,
    baseline: tuple[str, str] | None,
) -> list[Mapping[str, Any]]:
    """Return the history's tests for dbt's YAML: the test `no_problem`, and the gates.

    Parameters
    ----------
    package : str
        The name of the package. The names of tests begin with it, because ``--store-failures``
        makes tables of these names.
    gates : sequence of str
        Each as in a job file: a check, or a mapping with a check.
    metrics : sequence of str
        The metrics of the history.
    sets : sequence of sequence of str
        Its sets of slice keys.
    has_intervals : bool
        Whether the history has the bounds of intervals.
    baseline : tuple of str or None
        The first and the last period of the baseline.

    Raises
    ------
    RequestError
        If a gate cannot be read, or the history lacks a column that it needs.
    """
    dates = None if baseline is None else _parse_baseline(*baseline)
    name = f"{package}_no_problem"
    tests: dict[str, Mapping[str, Any]] = {name: {"no_problem": {"name": name}}}
    for text in gates:
        gate = parse_gate(text)
        test = _write_test(gate, metrics, sets, has_intervals, dates)
        name = f"{package}_{_name_test(gate)}"
        if name in tests:
            name += f"_{len(tests)}"
        tests[name] = {"gate": {"name": name, **test}}
    return list(tests.values())


def list_subjects() -> dict[str, str]:
    """Return the subjects of a dbt gate besides metrics, as SQL over the history."""
    return {name: sql for name, sql in SUBJECTS.items() if sql is not None}


def _name_test(gate: Gate) -> str:
    """Return the name of a gate's test, such as ``roc_auc_at_least_0_6_by_carrier``."""
    text = _OPERATORS.sub(lambda match: f" {_WORDS[match[0]]} ", gate.check)
    if gate.by is not None:
        text += f" by {' '.join(gate.by)}" if gate.by else f" {OVERALL}"
    return re.sub(r"\W+", "_", text).strip("_").lower()


def _parse_baseline(first: str, last: str) -> list[str]:
    """Return the first and the last day of the periods of a baseline."""
    for name in (first, last):
        if not is_period_name(name) or len(name) > len("2013-07-01"):
            raise RequestError(f"baseline {name!r}: write 2013-07-01, 2013-07 or 2013")
    start = f"{first}-01-01"[:10] if len(first) == 4 else f"{first}-01"[:10]
    end = f"{last}-12-31"[:10] if len(last) == 4 else last
    if len(end) == len("2013-07"):
        end = f"{end}-{monthrange(*map(int, end.split('-')))[1]}"
    if start > end:
        raise RequestError(f"baseline: from {first} is later than to {last}")
    return [start, end]


def _write_test(
    gate: Gate,
    metrics: Sequence[str],
    sets: Sequence[Sequence[str]],
    has_intervals: bool,
    baseline: list[str] | None,
) -> Mapping[str, Any]:
    check = gate.parsed
    others = list_subjects()
    subjects = [*metrics, *others]
    if check.is_drift:
        raise RequestError(f"gate {gate.check!r}: only sqleval run has drift; it needs states")
    if check.is_worse or check.factor != 1 or gate.name or gate.undefined == "warn":
        raise RequestError(
            f"gate {gate.check!r}: only sqleval run has worse, relative limits, name and "
            "undefined: warn"
        )
    if check.metric in SUBJECTS and check.metric not in others:
        raise RequestError(f"gate {gate.check!r}: use dbt source freshness for the age of data")
    if check.metric not in subjects:
        raise RequestError(
            f"gate {gate.check!r}: the package has no metric {check.metric!r}"
            f"{find_nearest(check.metric, subjects)} (metrics: {', '.join(metrics)}; "
            f"others: {', '.join(others)})"
        )
    if gate.on != "value" and (not has_intervals or check.metric in SUBJECTS):
        raise RequestError(f"gate {gate.check!r} is on {gate.on}, which needs ci= (--ci)")
    arguments: dict[str, Any] = {
        "metric": check.metric, "operator": check.op, "bound": check.offset,
    }  # fmt: skip
    if check.reference == "baseline":
        if baseline is None:
            raise RequestError(f"gate {gate.check!r} needs baseline= (--baseline)")
        arguments["baseline"] = baseline
    elif check.reference is not None:
        arguments["previous"] = check.reference
    if gate.by is not None:
        arguments["by"] = _find_set(gate, sets)
    for name, default in (("min_rows", 0), ("on", "value"), ("in_a_row", 1), ("undefined", None)):
        if getattr(gate, name) != default:
            arguments[name] = getattr(gate, name)
    severity = "error" if gate.severity == "fail" else "warn"
    return {
        "description": gate.check,
        "arguments": arguments,
        "config": {"severity": severity},
    }


def _find_set(gate: Gate, sets: Sequence[Sequence[str]]) -> list[str]:
    """Return the slice keys of a gate in the history's order."""
    assert gate.by is not None
    for keys in sets:
        if sorted(keys) == sorted(gate.by):
            return list(keys)
    names = "; ".join(map(name_set, sets))
    raise RequestError(f"gate {gate.check!r} is by {gate.by}, and the slices are: {names}")
