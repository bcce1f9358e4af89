"""Every metric and curve, as a macro of DuckDB, equals the library's result."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import duckdb
import pytest

import sqleval
from sqleval import RequestError
from sqleval.catalog import Relation, builtin, request
from tests.support.cases import ROLES, Data, Kind, drawn
from tests.support.macros import (
    ALL,
    COSTS,
    FILES,
    GIVEN,
    choose_parameters,
    create_table,
    evaluate_in_library,
    fetch_rows,
    find_differences,
    format_metric,
    is_equal,
    list_macros,
    list_metrics,
    list_parameters,
    read_key,
    write_call,
)

#: Each file's macro sees these; ``evaluate``, made of the same files, sees all.
ALONE = [
    pytest.param(data, other, id=f"{data}-{'parameters' if other else 'defaults'}")
    for data in ALL
    for other in (False, True)
    if data.name in {
        "binary": {"plain"} if other else {"plain", "weights and keys"},
        "multiclass": {"plain"} if other else {"weights and keys"},
        "regression": {"plain", "weights and keys"} if other else {data.name},
        "value": set(),  # a column without a label has no macros
        "many labels": set(),
        "recommendation": set(),  # macros have no argument for items
    }.get(data.kind, {data.name})
]  # fmt: skip


@pytest.mark.parametrize(("data", "other"), ALONE)
def test_every_metric_alone(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, data.frame)
    # Every average is tried on some metrics, and through ``evaluate`` on all.
    each = list(list_metrics(console, data, other=other, averages=1))
    if other and data.kind != "multiclass":
        each = [one for one in each if one[2]]  # the others are called like that with defaults
    if data.weight or data.kind == "multiclass":
        # Most of these macros only call ``evaluate``, which plans all metrics, so some are enough.
        names_of_calls = list_calls(console, data.kind)
        calls = [one for one in each if one[0] in names_of_calls]
        each = [one for one in each if one not in calls or calls.index(one) % 14 == 0]
    expected = {(n, a): (format_metric(n, p, a), p) for n, a, p in each}
    known = evaluate_in_library(data, {key: text for key, (text, _) in expected.items()})
    problems: list[str] = []
    for (name, average), (text, params) in expected.items():
        more = {**params, **({"average": average} if average else {})}
        try:
            rows = fetch_rows(console, write_call(name, data, more))
        except duckdb.Error as error:
            problems.append(f"{text}: {error}")
            continue
        problems += find_differences(data, rows, known[name, average], text)
    assert not problems, "\n".join(problems)


@cache
def list_calls(console: duckdb.DuckDBPyConnection, kind: Kind) -> set[str]:
    """Return the macros for a kind of data that only call ``evaluate``, with all arguments."""
    found = console.execute(
        "SELECT function_name, parameters, macro_definition FROM duckdb_functions() "
        "WHERE schema_name = 'sqleval' AND LIST_CONTAINS(parameters, $1)",
        ["prediction" if kind == "multiclass" else "score"],
    ).fetchall()
    calls: set[str] = set()
    for name, listed, text in found:
        passed = "".join(f", {each} := {each}" for each in listed if each not in ("tbl", "average"))
        own = f"concat('{name}_', average)" if "average" in listed else f"'{name}'"
        call = f"SELECT * FROM sqleval.evaluate(tbl, metrics := list_value({own}){passed})"
        if text.replace('"', "") == call:
            calls.add(name)
    return calls


#: Data sets for `evaluate` and curves with default parameters: all others are slices of these.
TOGETHER: dict[Kind, tuple[str, ...]] = {
    "binary": (
        "no rows", "cases as slices", "weighted cases as slices", "FLOAT tenths",
        "labels as words", "labels -1 and 1", "infinite scores",
    ),
    "multiclass": (
        "no rows", "integer classes", "cases as slices", "weighted cases as slices",
    ),
}  # fmt: skip
#: Data sets for other parameters: with two keys and weights, and without either.
WITH_PARAMETERS = ("plain", "weights and keys")
#: Data sets that differ only in how rows are read, before any metric.
READING = {"labels as words", "labels -1 and 1"}


@pytest.mark.parametrize(
    ("data", "other"),
    [
        *(
            pytest.param(data, False, id=f"{data}-defaults")
            for data in ALL
            if data.name in TOGETHER.get(data.kind, ())
        ),
        *(
            pytest.param(data, True, id=f"{data}-parameters")
            for data in ALL
            if data.name in WITH_PARAMETERS and data.kind in TOGETHER
        ),
    ],
)  # fmt: skip
def test_all_metrics_at_once(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, data.frame)
    task = ROLES[data.kind].get("task", data.kind)
    expected = {
        f"{name}_{average}" if average else name: format_metric(name, params, average)
        for name, average, params in list_metrics(console, data, other=other)
        if "cost_matrix" not in params and builtin().get(name).header.get("cost") != "n^2"
        # Another test covers it without parameters.
        if params or not other or data.name == "plain"
    }
    if data.name in READING:
        expected = dict([*expected.items()][::4])
    params = {key: value for key, value in GIVEN.items() if other and key in evaluate_takes(data)}
    rows = fetch_rows(console, write_call("evaluate", data, {"metrics": list(expected), **params}))
    labels = {name: request.format_request(request.parse(name, task)) for name in expected}
    slices = len(rows) // len(expected)
    assert [row["metric"] for row in rows] == sorted(labels.values()) * slices
    by_metric = {
        label: rows[place :: len(expected)] for place, label in enumerate(sorted(labels.values()))
    }
    known = evaluate_in_library(data, expected)
    problems: list[str] = []
    for name, text in expected.items():
        problems += find_differences(data, by_metric[labels[name]], known[name], text)
    assert not problems, "\n".join(problems)


def evaluate_takes(data: Data) -> set[str]:
    """Return the parameters that ``evaluate`` has for a kind of data."""
    if data.kind == "multiclass":
        return {"beta", "normalize", "cost_fn", "cost_fp", "prior", "weights"}
    taken = [file for file in FILES if file.header.get("cost") != "n^2"]
    names = {file.name for file in taken if file.kind == "metric" and "binary" in file.tasks}
    return {param for name in names for param in list_parameters(name)} & GIVEN.keys()


def test_the_default_metrics_are_those_of_the_library(console: duckdb.DuckDBPyConnection) -> None:
    for data in ALL:
        if data.name != "plain" or data.kind not in ("binary", "multiclass"):
            continue
        create_table(console, data.frame)
        rows = fetch_rows(console, write_call("evaluate", data, {}))
        known = sqleval.scan(data.frame, **ROLES[data.kind]).evaluate().collect()
        assert [row["metric"] for row in rows] == sorted(known["metric"])


@cache
def five_rows(kind: Kind) -> sqleval.Predictions:
    return sqleval.scan(drawn(kind, 5), **ROLES[kind])


@pytest.mark.parametrize("relation", FILES, ids=lambda relation: relation.name)
def test_every_file_has_the_macros_that_the_library_allows(
    relation: Relation, console: duckdb.DuckDBPyConnection
) -> None:
    across_models = relation.header.get("across") == "model"
    kinds: tuple[Kind, ...] = ("binary", "multiclass", "regression", "ranking")
    for kind in kinds:
        bound = five_rows(kind)
        average = kind == "multiclass" and relation.task == "two classes"
        params = choose_parameters(relation.name, kind, other=False) if kind in COSTS else {}
        try:
            if relation.kind == "curve":
                per_class = kind == "multiclass" and "class" not in relation.columns
                bound.curve(relation.name)
                allowed = not per_class
            elif relation.name in request.TABLES:
                allowed = kind in COSTS
            else:
                text = format_metric(relation.name, params, "macro" if average else None)
                bound.evaluate(text)
                # In a ranking, precision stands for precision_at_k.
                allowed = request.parse(text, ROLES[kind].get("task", kind)).name == relation.name
        except RequestError:
            allowed = False
        assert (relation.name in list_macros(console, kind)) == (allowed and not across_models), (
            kind
        )


CURVES = [
    data
    for data in ALL
    if data.name in ("plain", "cases as slices", "weighted cases as slices")
    or str(data) in ("binary-FLOAT tenths", "binary-infinite scores")
    if data.kind in (*COSTS, "regression")
]  # fmt: skip


@contextmanager
def optimizer(console: duckdb.DuckDBPyConnection, data: Data) -> Iterator[None]:
    """Disable DuckDB's optimizer (a tenth of a curve's time) where other data cover the texts."""
    if data.name not in ("plain", "weights and keys"):
        console.execute("PRAGMA disable_optimizer")
    try:
        yield
    finally:
        console.execute("PRAGMA enable_optimizer")


@pytest.mark.parametrize(
    ("data", "other"),
    [
        *(pytest.param(data, False, id=f"{data}-defaults") for data in CURVES),
        *(
            pytest.param(data, True, id=f"{data}-parameters")
            for data in ALL
            if data.name in WITH_PARAMETERS and data.kind in (*COSTS, "regression")
        ),
    ],
)
def test_every_curve(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, data.frame)
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    problems: list[str] = []
    for name in list_macros(console, data.kind, data.weight is not None):
        relation = builtin().get(name)
        if relation.kind == "metric" or (data.outside and relation.header.get("domain")):
            continue
        params = choose_parameters(name, data.kind, other=other)
        if other and not params:
            continue  # asked with the defaults
        if name in request.TABLES:
            shares = {"normalize": "all"} if name == "confusion_shares" else {}
            known = bound.confusion(**{**shares, **params})
        else:
            known = bound.curve(name, **params)
        want: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in known.collect().iter_rows():
            want.setdefault(row[: len(data.by)], []).append(row[len(data.by) :])
        with optimizer(console, data):
            rows = fetch_rows(console, write_call(name, data, params))
        slices = [row["slice"] for row in rows]
        got: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in rows:
            got.setdefault(read_key(data, row), []).append(tuple(row.values()))
        if got.keys() != want.keys():
            problems.append(f"{name}: slices {[*got]} instead of {[*want]}")
        if slices != sorted(slices, key=ascending):
            problems.append(f"{name}: the slices are in another order")
        for key in got.keys() & want.keys():
            # The library sorts by the columns in the header, and a confusion table not at all.
            a, b = (sorted(p[key]) if name in request.TABLES else p[key] for p in (got, want))
            if len(a) != len(b) or not all(map(alike, a, b)):
                off = [pair for pair in zip(a, b, strict=False) if not alike(*pair)]
                problems.append(f"{name} {key}: {len(a)} rows for {len(b)}, {off[:2]}")
    assert not problems, "\n".join(problems)


def ascending(value: Any) -> Any:
    """Return a sort key that orders slices as DuckDB does: field by field, NULL last."""
    if isinstance(value, dict):
        return [ascending(each) for each in value.values()]
    return value is None, "" if value is None else value


def alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(is_equal, a, b))
