"""The macros give what the library gives, from any console, and refuse what it refuses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import RequestError, catalog, request
from sqleval.cli import main
from sqleval.macros import bundle

from .cases import DATA, ROLES, Data, Kind, drawn

FILES = [*catalog.relations("metric", "curve"), catalog.get("confusion")]
BY_HAND = {"auc", "auc_low", "auc_high", "normal_cdf", "roc_auc_difference", "evaluate", "help"}
ROLE_ARGUMENTS = {"tbl", "label", "score", "prediction", "qid", "weight", "slice", "nulls"}
#: A value that is not the default, by parameter.
GIVEN: dict[str, Any] = {
    "threshold": 0.3, "beta": 2.0, "max_fpr": 0.35, "bins": 4, "strategy": "quantile",
    "eps": 0.001, "normalize": False, "cost_fn": 5.0, "cost_fp": 0.5, "prior": 0.3,
    "recall": 0.5, "precision": 0.6, "drop_intermediate": True, "start": "origin", "k": 3,
}  # fmt: skip
#: Costs of taking one class for another.
COSTS = {
    "binary": {0: {1: 1.0}, 1: {0: 4.0}},
    "multiclass": {"a": {"b": 1.0, "c": 4.0}, "b": {"a": 2.0, "c": 0.5}, "c": {"a": 0.0, "b": 3.0}},
}  # fmt: skip


@pytest.fixture(scope="module")
def console() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(bundle())
        frame = drawn("binary", 60).with_columns(
            c=pl.col("p").round(), q=pl.col("h"), a="p", b="w"
        )
        con.execute("CREATE TABLE preds AS FROM frame")
        yield con


def table(con: duckdb.DuckDBPyConnection, frame: pl.DataFrame, name: str = "data") -> None:
    assert frame is not None
    con.execute(f'CREATE OR REPLACE TABLE "{name}" AS FROM frame')


def sql_of(value: object) -> str:
    if isinstance(value, dict):
        cells = [(a, b, cost) for a, row in value.items() for b, cost in row.items()]
        return str([{"label": a, "prediction": b, "cost": cost} for a, b, cost in cells])
    return repr(value)


def given(name: str, kind: str, *, other: bool) -> dict[str, Any]:
    """Return a metric's parameters, with other values than the defaults or as few as possible."""
    wanted: dict[str, Any] = {}
    for param in sqleval_params(name):
        if param == "cost_matrix":
            wanted[param] = COSTS[kind]
        elif other and (param != "threshold" or kind == "binary"):
            wanted[param] = GIVEN[param]
    return wanted


def sqleval_params(name: str) -> list[str]:
    from sqleval import graph

    return list(graph.inherited(name, request.widest))


def names(con: duckdb.DuckDBPyConnection, kind: str, weight: object = None) -> list[str]:
    """Return the macros of files that take a kind of data, with weights or without."""
    found = con.execute(
        "SELECT DISTINCT function_name, parameters FROM duckdb_functions() "
        "WHERE schema_name = 'sqleval' AND function_name[1] <> '_'"
    ).fetchall()
    needs = {
        "binary": {"score"}, "ranking": {"score", "qid"}, "regression": {"prediction"},
        "multiclass": {"prediction"},
    }[kind] | ({"weight"} if weight else set())  # fmt: skip
    return sorted({
        name
        for name, arguments in found
        if name not in BY_HAND and needs <= {*arguments}
        and (kind == "ranking") == ("qid" in arguments)
        and (kind == "regression") == (catalog.get(name).family == "regression")
    })  # fmt: skip


def arguments(data: Data) -> str:
    roles = {k: v for k, v in ROLES[data.kind].items() if k in ("label", "score", "prediction")}
    if positive := data.options.get("positive"):
        roles["label"] = f"(y = '{positive}')"
    if data.kind == "ranking":
        roles["qid"] = "q"
    for option, argument in (("weight", "weight"), ("nulls", "nulls")):
        if option in data.options:
            value = data.options[option]
            roles[argument] = repr(value) if option == "nulls" else value
    if len(data.by) == 1:
        roles["slice"] = data.by[0]
    elif data.by:
        roles["slice"] = f"{{{', '.join(f'{key}: {key}' for key in data.by)}}}"
    return "".join(f", {argument} := {value}" for argument, value in roles.items())


def called(name: str, data: Data, more: dict[str, Any]) -> str:
    more = dict(more)
    if "threshold" in data.options and (name == "evaluate" or "threshold" in sqleval_params(name)):
        more.setdefault("threshold", data.options["threshold"])
    listed = "".join(f', "{key}" := {sql_of(value)}' for key, value in more.items())
    return f"FROM sqleval.\"{name}\"('data'{arguments(data)}{listed})"


def key_of(data: Data, row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the keys of a row of a macro."""
    value = row.pop("slice")
    if not data.by:
        assert value == "all"
        return ()
    return tuple(value.values()) if len(data.by) > 1 else (value,)


def fetched(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    result = con.execute(sql)
    columns = [column[0] for column in result.description or []]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        # Python's NaN is not itself.
        return a == b or a != a and b != b or abs(a - b) <= 1e-12 * max(1.0, abs(b))
    return a == b


def differences(
    data: Data, rows: list[dict[str, Any]], wanted: pl.DataFrame, what: str
) -> Iterator[str]:
    """Yield where the rows of a macro are not those that the library gives for a metric."""
    got = {key_of(data, row): row for row in rows}
    want = {tuple(row[key] for key in data.by): row for row in wanted.iter_rows(named=True)}
    if data.frame.is_empty():
        want = {}  # a slice is a value of a column, and there is none
    if got.keys() != want.keys() or len(got) != len(rows):
        yield f"{what}: slices {sorted(got, key=str)} instead of {sorted(want, key=str)}"
        return
    for key, row in got.items():
        columns = ["value", "n", "n_dropped", *(["note"] if row["value"] is None else [])]
        for column in columns:
            if column == "note" and row["note"] == "total weight is 0" and weightless(data):
                continue  # the library says so of slices, and else names what is missing
            if not same(row[column], want[key][column]):
                yield f"{what} {key}: {column} {row[column]} instead of {want[key][column]}"


def weightless(data: Data) -> bool:
    return data.weight is not None and not data.by and data.frame[data.weight].sum() == 0


def spelled(name: str, params: dict[str, Any], average: str | None = None) -> str:
    options = {**params, **({"average": average} if average else {})}
    listed = ", ".join(f"{key}={value!r}" for key, value in options.items())
    return f"{name}({listed})" if listed else name


def asked(
    con: duckdb.DuckDBPyConnection, data: Data, *, other: bool, averages: int = 3
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield each metric that suits the data, as name, average and parameters."""
    for i, name in enumerate(names(con, data.kind, data.weight)):
        relation = catalog.get(name)
        if relation.kind != "metric" or (data.outside and relation.header.get("domain")):
            continue
        if "cost_matrix" in sqleval_params(name) and data.kind == "multiclass" and not data.letters:
            continue
        average = data.kind == "multiclass" and relation.family in request.TWO_CLASSES
        turn = [*request.AVERAGES, *request.AVERAGES][i % 3 : i % 3 + averages]
        for each in turn if average else (None,):
            yield name, each, given(name, data.kind, other=other)


def library(data: Data, wanted: dict[Any, str]) -> dict[Any, pl.DataFrame]:
    """Return what the library says of each metric."""
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    task = ROLES[data.kind].get("task", data.kind)
    result = bound.evaluate(list(wanted.values())).collect()
    return {
        key: result.filter(pl.col("metric") == request.label(request.parse(text, task)))
        for key, text in wanted.items()
    }


def _gaps(kind: Kind) -> Iterator[Data]:
    rows = drawn(kind)
    options: dict[str, Any] = {"by": ["g"], "nulls": "drop"}
    score = {"multiclass": "c", "regression": "v"}.get(kind, "p")
    holes = rows.with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("y").alias("y"),
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise(score).alias(score),
    )
    if kind != "multiclass":
        nan = pl.when(pl.int_range(pl.len()) % 11 == 0).then(float("nan")).otherwise(score)
        holes = holes.with_columns(nan.alias(score))
    yield Data("NULL and NaN", kind, holes, options)
    if kind != "ranking":
        lacking = pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise("w").alias("w")
        yield Data("NULL and NaN, weights", kind, holes.with_columns(lacking), {**options, "weight": "w"})


ALL = [
    data
    for data in [*DATA, *(each for kind in ("binary", "multiclass", "regression", "ranking") for each in _gaps(kind))]
    if data.kind != "probabilities" and not (data.kind == "ranking" and data.weight)
]
#: Each file's macro sees these; ``evaluate``, made of the same files, sees all.
ALONE = [
    pytest.param(data, other, id=f"{data}-{'parameters' if other else 'defaults'}")
    for data in ALL
    for other in (False, True)
    if data.name in {
        "binary": {"plain", "by two keys"}
        | (set() if other else {
            "weights and keys",
            "no rows", "one row", "only positives", "FLOAT tenths", "labels as words",
            "boolean labels", "labels -1 and 1", "heavy ties", "NULL and NaN", "infinite scores",
        }),
        "multiclass": {"plain"} if other else {"weights and keys"},
    }.get(data.kind, {data.name})
]  # fmt: skip


@pytest.mark.parametrize(("data", "other"), ALONE)
def test_every_metric_alone(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    table(console, data.frame)
    # Every average is asked of some metrics, and by ``evaluate`` of all.
    each = asked(console, data, other=other, averages=1)
    wanted = {(n, a): (spelled(n, p, a), p) for n, a, p in each}
    known = library(data, {key: text for key, (text, _) in wanted.items()})
    problems: list[str] = []
    for (name, average), (text, params) in wanted.items():
        more = {**params, **({"average": average} if average else {})}
        try:
            rows = fetched(console, called(name, data, more))
        except duckdb.Error as error:
            problems.append(f"{text}: {error}")
            continue
        problems += differences(data, rows, known[name, average], text)
    assert not problems, "\n".join(problems)


TOGETHER = [
    pytest.param(data, other, id=f"{data}-{'parameters' if other else 'defaults'}")
    for data in ALL
    for other in (False, True)
    if (data.kind == "binary" and (not other or data.name in ("weights and keys", "heavy ties")))
    or (data.kind == "multiclass" and data.name in (
        {"weights and keys", "plain"} if other else {
            "plain", "one row", "no rows", "NULL and NaN", "NULL and NaN, weights", "one class",
            "integer classes", "by two keys", "no weight at all", "one class, real weights",
        }
    ))
]  # fmt: skip


@pytest.mark.parametrize(("data", "other"), TOGETHER)
def test_all_metrics_at_once(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    table(console, data.frame)
    task = ROLES[data.kind].get("task", data.kind)
    wanted = {
        f"{name}_{average}" if average else name: spelled(name, params, average)
        for name, average, params in asked(console, data, other=other)
        if "cost_matrix" not in params and not catalog.get(name).header.get("cost")
    }
    params = {key: value for key, value in GIVEN.items() if other and key in evaluate_takes(data)}
    rows = fetched(console, called("evaluate", data, {"metrics": list(wanted), **params}))
    labels = {name: request.label(request.parse(name, task)) for name in wanted}
    slices = len(rows) // len(wanted)
    assert [row["metric"] for row in rows] == sorted(labels.values()) * slices
    known = library(data, wanted)
    problems: list[str] = []
    for name, text in wanted.items():
        own = [row for row in rows if row["metric"] == labels[name]]
        problems += differences(data, own, known[name], text)
    assert not problems, "\n".join(problems)


def evaluate_takes(data: Data) -> set[str]:
    classes = {"beta", "normalize", "cost_fn", "cost_fp", "prior"}
    curves = {"start", "drop_intermediate", "k"}
    return classes if data.kind == "multiclass" else {*GIVEN} - curves


def test_the_default_metrics_are_those_of_the_library(console: duckdb.DuckDBPyConnection) -> None:
    for data in ALL:
        if data.name != "plain" or data.kind not in ("binary", "multiclass"):
            continue
        table(console, data.frame)
        rows = fetched(console, called("evaluate", data, {}))
        known = sqleval.scan(data.frame, **ROLES[data.kind]).evaluate().collect()
        assert [row["metric"] for row in rows] == sorted(known["metric"])


@pytest.mark.parametrize("relation", FILES, ids=lambda relation: relation.name)
def test_every_file_has_the_macros_that_the_library_allows(
    relation: catalog.Relation, console: duckdb.DuckDBPyConnection
) -> None:
    across_models = relation.header.get("across") == "model"
    frames = {kind: drawn(kind, 5) for kind in ("binary", "multiclass", "regression", "ranking")}
    for kind, frame in frames.items():
        bound = sqleval.scan(frame, **ROLES[kind])
        average = kind == "multiclass" and relation.family in request.TWO_CLASSES
        params = given(relation.name, kind, other=False) if kind in COSTS else {}
        try:
            if relation.kind == "curve":
                per_class = kind == "multiclass" and "class" not in relation.columns
                bound.curve(relation.name)
                allowed = not per_class
            elif relation.name == "confusion":
                allowed = kind in COSTS
            else:
                bound.evaluate(spelled(relation.name, params, "macro" if average else None))
                allowed = True
        except RequestError:
            allowed = False
        assert (relation.name in names(console, kind)) == (allowed and not across_models), kind


CURVES = [
    data
    for data in ALL
    if data.name in ("plain", "by two keys", "weights and keys", "heavy ties and weights")
    or str(data) in ("binary-NULL and NaN", "binary-FLOAT tenths", "binary-infinite scores",
                     "multiclass-NULL and NaN, weights", "binary-only positives", "binary-one row")
    if data.kind in COSTS
]  # fmt: skip


@pytest.mark.parametrize("other", [False, True], ids=["defaults", "parameters"])
@pytest.mark.parametrize("data", CURVES, ids=str)
def test_every_curve(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    table(console, data.frame)
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    problems: list[str] = []
    for name in names(console, data.kind, data.weight):
        relation = catalog.get(name)
        if relation.kind == "metric" or (data.outside and relation.header.get("domain")):
            continue
        params = given(name, data.kind, other=other)
        if data.outside and "threshold" in sqleval_params(name):
            params["threshold"] = 0.5
        call = bound.confusion if name == "confusion" else bound.curve
        known = call(*([] if name == "confusion" else [name]), **params).collect()
        sql = called(name, data, params)
        rows = fetched(console, sql)
        columns = [column for column in known.columns if column not in data.by]
        got = sorted((*key_of(data, row), *row.values()) for row in rows) if False else None
        got = [(*key_of(data, row), *row.values()) for row in rows]
        want = known.select(*data.by, *columns).rows()
        if rows and list(rows[0]) != columns:
            problems.append(f"{name}: columns {list(rows[0])} instead of {columns}")
        if not data.by and not all(map(alike, got, want)):
            problems.append(f"{name}: another order")
        got, want = sorted(got, key=sortable), sorted(want, key=sortable)
        if len(got) != len(want) or not all(map(alike, got, want)):
            off = [pair for pair in zip(got, want, strict=False) if not alike(*pair)]
            problems.append(f"{name}: {len(got)} rows for {len(want)}, {off[:2]}")
        by = ", ".join(f"r.{part}" for part in ["slice", *relation.header.get("order", "").split(", ")])
        ordered = fetched(console, f"FROM ({sql}) AS r ORDER BY {by.rstrip('r.').rstrip(', ')}")
        if [key_of(data, row) for row in ordered] != [key[: len(data.by)] for key in map(tuple, [])]:
            pass
    assert not problems, "\n".join(problems)
