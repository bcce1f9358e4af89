"""The macros give what the library gives, from any console, and refuse what it refuses."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import RequestError, catalog
from sqleval.catalog import graph, request
from sqleval.export.macro_script import bundle
from tests.support.cases import DATA, ROLES, Data, Kind, drawn

FILES = [*catalog.relations("metric", "curve"), catalog.get("confusion")]
BY_HAND = {"auc", "auc_low", "auc_high", "normal_cdf", "roc_auc_difference", "evaluate", "help"}
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
        frame = drawn("binary", 60).with_columns(c=pl.col("p").round(), q=pl.col("h"), a="p", b="w")
        table(con, frame, "preds")
        yield con


def table(con: duckdb.DuckDBPyConnection, frame: pl.DataFrame, name: str = "data") -> None:
    con.register("frame", frame)
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
    return list(graph.inherited(name, request.widest))


@cache
def names(con: duckdb.DuckDBPyConnection, kind: str, weighted: bool = False) -> list[str]:
    """Return the macros of files that take a kind of data, with weights or without."""
    found = con.execute(
        "SELECT DISTINCT function_name, parameters FROM duckdb_functions() "
        "WHERE schema_name = 'sqleval' AND function_name[1] <> '_'"
    ).fetchall()
    needs = {
        "binary": {"score"}, "ranking": {"score", "qid"}, "regression": {"prediction"},
        "multiclass": {"prediction"},
    }[kind] | ({"weight"} if weighted else set())  # fmt: skip
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
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-12 * max(1.0, abs(b))
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
    for i, name in enumerate(names(con, data.kind, data.weight is not None)):
        relation = catalog.get(name)
        if relation.kind != "metric" or (data.outside and relation.header.get("domain")):
            continue
        if "cost_matrix" in sqleval_params(name) and data.kind == "multiclass" and not data.letters:
            continue
        average = data.kind == "multiclass" and relation.family in request.TWO_CLASSES
        turn = [*request.AVERAGES, *request.AVERAGES][i % 3 : i % 3 + averages]
        for each in turn if average else (None,):
            yield name, each, given(name, data.kind, other=other)


#: What the library said, by data and metric: the macros are asked for it in more than one way.
_SAID: dict[tuple[Data, str], pl.DataFrame] = {}


def library(data: Data, wanted: dict[Any, str]) -> dict[Any, pl.DataFrame]:
    """Return what the library says of each metric."""
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    task = ROLES[data.kind].get("task", data.kind)
    new = [text for text in dict.fromkeys(wanted.values()) if (data, text) not in _SAID]
    for start in range(0, len(new), 35):  # few at once are planned in less time
        some = new[start : start + 35]
        parts = bound.evaluate(some).collect().partition_by("metric", as_dict=True)
        none = pl.DataFrame(schema=bound.evaluate(some).collect_schema())
        for text in some:
            label = request.label(request.parse(text, task))
            _SAID[data, text] = parts.get((label,), none)
    return {key: _SAID[data, text] for key, text in wanted.items()}


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
        yield Data(
            "NULL and NaN, weights", kind, holes.with_columns(lacking), {**options, "weight": "w"}
        )


#: To a macro rows without a slice are one slice: what differs in its rows alone is asked at once.
STACKED = [
    data
    for data in DATA
    if data.kind == "binary" and data.frame.height and not data.options and not data.outside
    if data.frame["y"].dtype.is_integer() and data.frame["p"].dtype == pl.Float64
    if data.name not in ("plain", "one row", "heavy ties", "labels -1 and 1")
]


def _cases_as_slices() -> Data:
    frames = [data.frame.with_columns(data=pl.lit(data.name)) for data in STACKED]
    rows = pl.concat(frames, how="vertical_relaxed")
    return Data("cases as slices", "binary", rows, {"by": ["data"]})


ALL = [
    data
    for data in [
        *DATA,
        _cases_as_slices(),
        *(
            each
            for kind in ("binary", "multiclass", "regression", "ranking")
            for each in _gaps(kind)
        ),
    ]
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
            "weights and keys", "no rows", "FLOAT tenths", "NULL and NaN",
        }),
        "multiclass": {"plain"} if other else {"weights and keys"},
    }.get(data.kind, {data.name})
]  # fmt: skip


@pytest.mark.slow
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


#: What the oldest engines see: keys, weights, ties, gaps, a class or none, and no row.
OLDEST = {
    "plain", "no rows", "weights and keys", "heavy ties and weights", "NULL and NaN",
    "NULL and NaN, weights", "one class", "cases as slices", "FLOAT tenths", "labels as words",
    "infinite scores", "no weight at all",
}  # fmt: skip
TOGETHER = [
    pytest.param(
        data,
        other,
        id=f"{data}-{'parameters' if other else 'defaults'}",
        marks=[] if data.name in OLDEST else [pytest.mark.slow],
    )
    for data in ALL
    for other in (False, True)
    if data not in STACKED
    if (data.kind == "binary" and (not other or data.name in ("weights and keys", "heavy ties")))
    or (data.kind == "multiclass" and data.name in (
        {"weights and keys"} if other else {
            "plain", "one row", "no rows", "NULL and NaN, weights", "one class",
            "integer classes", "no weight at all",
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


@cache
def five_rows(kind: Kind) -> sqleval.Predictions:
    return sqleval.scan(drawn(kind, 5), **ROLES[kind])


@pytest.mark.slow
@pytest.mark.parametrize("relation", FILES, ids=lambda relation: relation.name)
def test_every_file_has_the_macros_that_the_library_allows(
    relation: catalog.Relation, console: duckdb.DuckDBPyConnection
) -> None:
    across_models = relation.header.get("across") == "model"
    kinds: tuple[Kind, ...] = ("binary", "multiclass", "regression", "ranking")
    for kind in kinds:
        bound = five_rows(kind)
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


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(False, id="defaults"),
        pytest.param(True, id="parameters", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("data", CURVES, ids=str)
def test_every_curve(data: Data, other: bool, console: duckdb.DuckDBPyConnection) -> None:
    table(console, data.frame)
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    problems: list[str] = []
    for name in names(console, data.kind, data.weight is not None):
        relation = catalog.get(name)
        if relation.kind == "metric" or (data.outside and relation.header.get("domain")):
            continue
        params = given(name, data.kind, other=other)
        known = bound.confusion(**params) if name == "confusion" else bound.curve(name, **params)
        want: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in known.collect().iter_rows():
            want.setdefault(row[: len(data.by)], []).append(row[len(data.by) :])
        rows = fetched(console, called(name, data, params))
        slices = [row["slice"] for row in rows]
        got: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in rows:
            got.setdefault(key_of(data, row), []).append(tuple(row.values()))
        if got.keys() != want.keys():
            problems.append(f"{name}: slices {[*got]} instead of {[*want]}")
        if slices != sorted(slices, key=ascending):
            problems.append(f"{name}: the slices are in another order")
        for key in got.keys() & want.keys():
            # The library orders what its header says, and a confusion table not at all.
            a, b = (sorted(p[key]) if name == "confusion" else p[key] for p in (got, want))
            if len(a) != len(b) or not all(map(alike, a, b)):
                off = [pair for pair in zip(a, b, strict=False) if not alike(*pair)]
                problems.append(f"{name} {key}: {len(a)} rows for {len(b)}, {off[:2]}")
    assert not problems, "\n".join(problems)


def ascending(value: Any) -> Any:
    """Return what sorts slices as DuckDB does: field by field, NULL last."""
    if isinstance(value, dict):
        return [ascending(each) for each in value.values()]
    return value is None, "" if value is None else value


def alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


# -- any name and any input ----------------------------------------------------------------------

NAMES = [
    "label", "score", "weight", "slice", "value", "threshold", "metrics", "n", "tbl", "nulls", "y",
    "_sqleval_source", "slice_1", "a", "s", "prediction", "note", "precision",
]  # fmt: skip


@pytest.fixture
def own(console: duckdb.DuckDBPyConnection, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with three right rows and two wrong, under names that could clash."""
    rows = "(VALUES (0, 0.1, 'u'), (0, 0.6, 'u'), (1, 0.7, 'v'), (1, 0.4, 'v'), (1, 0.9, 'u'))"
    con = console.cursor()
    con.execute(f"CREATE OR REPLACE TABLE t AS FROM {rows} AS v(y, p, g)")
    con.execute("CREATE SCHEMA IF NOT EXISTS other")
    con.execute("CREATE OR REPLACE TABLE other.t AS FROM t")
    con.execute("CREATE OR REPLACE VIEW seen AS FROM t")
    con.execute('CREATE OR REPLACE TABLE "odd name" AS SELECT y, p AS "the score" FROM t')
    con.execute(f"COPY t TO '{tmp_path}/one.parquet'")
    con.execute(f"COPY t TO '{tmp_path}/two.parquet'")
    for name in ("predictions", "_sqleval_source", "_sqleval_predictions", "evaluate"):
        con.execute(f"CREATE OR REPLACE TABLE {name} AS FROM t")
    yield con
    for name in ("predictions", "_sqleval_source", "_sqleval_predictions", "evaluate"):
        con.execute(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    "call",
    [
        "FROM sqleval.roc_auc('t', label := y, score := p)",
        "FROM sqleval.roc_auc('t', y, p)",
        "FROM sqleval.roc_auc(t, label := y, score := p)",
        "FROM sqleval.roc_auc('other.t', label := y, score := p)",
        "FROM sqleval.roc_auc('seen', label := y, score := p)",
        "WITH cte AS (FROM t) FROM sqleval.roc_auc('cte', label := y, score := p)",
        "WITH predictions AS (FROM t) FROM sqleval.roc_auc('predictions', label := y, score := p)",
        "FROM sqleval.roc_auc('predictions', label := y, score := p)",
        "FROM sqleval.roc_auc('_sqleval_predictions', label := y, score := p)",
        "FROM sqleval.roc_auc('_sqleval_source', label := y, score := p)",
        "FROM sqleval.roc_auc('evaluate', label := y, score := p)",
        'FROM sqleval.roc_auc(\'"odd name"\', label := y, score := "the score")',
        "FROM sqleval.roc_auc('{folder}/one.parquet', label := y, score := p)",
        "FROM sqleval.roc_auc('{folder}/*.parquet', label := y, score := p)",
        "FROM sqleval.roc_auc('t', label := (y = 1), score := 2 * p)",
        "FROM sqleval.roc_auc('t', label := y > 0, score := p - 7)",
        "FROM sqleval.roc_auc('t', label := 1 - y, score := -p)",
        "FROM sqleval.roc_auc('t', label := CAST(y AS VARCHAR), score := p)",
        "FROM sqleval.roc_auc('t', label := y, score := p, weight := 1)",
        "FROM sqleval.roc_auc('t', label := y, score := p, weight := 2 * y + 1)",
        "FROM (FROM sqleval.evaluate('t', label := y, score := p)) WHERE metric = 'roc_auc'",
        "SELECT e.* FROM sqleval.evaluate('t', label := y, score := p, metrics := ['roc_auc']) e",
    ],
)
def test_inputs(call: str, own: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (row,) = fetched(own, call.format(folder=tmp_path))
    assert row["value"] == pytest.approx(5 / 6)
    assert list(row) == ["slice", "metric", "value", "n", "n_dropped", "note"]


@pytest.mark.slow
@pytest.mark.parametrize("label", NAMES)
def test_columns_of_any_name(label: str, own: duckdb.DuckDBPyConnection) -> None:
    # Also swapped: the label in a column called score. Each label ends with another score.
    place = NAMES.index(label)
    for score in NAMES[place + 1 :] + NAMES[:place]:
        others = "".join(f', 1000 AS "{name}"' for name in {*NAMES} - {label, score})
        own.execute(
            f'CREATE OR REPLACE TABLE odd AS SELECT y AS "{label}", p AS "{score}"{others} FROM t'
        )
        roles = f'label := "{label}", score := "{score}"'
        # A pair of names meets one of two metrics, and each name both, in either role.
        if (place + NAMES.index(score)) % 2:
            (row,) = fetched(own, f"FROM sqleval.f1('odd', {roles}, threshold := 0.5)")
            assert (row["slice"], row["value"], row["n"]) == ("all", pytest.approx(2 / 3), 5)
        else:
            (row,) = fetched(own, f"FROM sqleval.roc_auc('odd', {roles})")
            assert row["value"] == pytest.approx(5 / 6)
    slices = f'slice := {{"{label}": "{label}"}}'
    rows = fetched(own, f"FROM sqleval.evaluate('odd', {roles}, {slices})")
    assert [*{row["slice"][label]: 0 for row in rows}] == [0, 1]
    rows = fetched(own, f"FROM sqleval.roc_curve('odd', {roles}, {slices})")
    assert [*{row["slice"][label]: 0 for row in rows}] == [0, 1]


# -- what is refused -----------------------------------------------------------------------------

ROWS = {"y": [1, 0, 1], "p": [0.2, 0.4, 0.9], "w": [1.0, 2.0, 1.0], "c": [1, 0, 0]}
OUTSIDE, NO_SCORE = {"p": [0.2, 1.5, -2.0]}, {"p": [None] * 3}
WORDS, NO_CLASS = {"y": ["yes", "no", "yes"]}, {"c": [None] * 3}
#: A call (``*`` stands for the table, the label and the score), columns, what is said.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("roc_auc(*)", WORDS, "label must hold 0 and 1.*not no"),
    ("roc_auc(*)", {"y": [0, 1, 2]}, "label must hold 0 and 1"),
    ("roc_auc(*)", {"y": [-1, 0, 1]}, "label must hold 0 and 1"),
    ("roc_auc(*, slice := w)", {"y": [-1, 0, 1]}, "label must hold 0 and 1"),
    ("roc_auc(*)", {"y": [0.5, 0.0, 1.0]}, "label must hold 0 and 1"),
    ("roc_auc(*)", {"y": [1, None, 0]}, "label is NULL.*in 1 of 3 rows"),
    ("roc_auc(*)", {"p": [None, None, 0.5]}, "score is NULL.*in 2 of 3 rows"),
    ("roc_auc(*)", {"p": [np.nan, 0.1, 0.5]}, "score is NULL or NaN.*in 1 of 3"),
    ("roc_auc(*, weight := w)", {"w": [1.0, -1.0, 1.0]}, "weight is negative in 1 of 3"),
    ("roc_auc(*, weight := w)", {"w": [1.0, np.nan, 1.0]}, "weight is NULL.*in 1 of 3"),
    ("f1(*, weight := w)", {"w": [-1.0, -1.0, 1.0]}, "weight is negative in 2 of 3"),
    ("log_loss(*)", OUTSIDE, "log_loss: scores must lie in 0 .. 1.*in 2 of 3 rows"),
    ("evaluate(*, metrics := ['ks', 'log_loss'])", OUTSIDE, "log_loss: scores must lie"),
    ("evaluate(*, metrics := ['f1'])", OUTSIDE, "default threshold 0.5"),
    ("f1(*)", OUTSIDE, "default threshold 0.5 is for scores in 0 .. 1"),
    ("calibration_curve(*)", OUTSIDE, "must lie in 0 .. 1"),
    ("confusion(*)", OUTSIDE, "default threshold"),
    ("classification_report(*)", OUTSIDE, "default threshold"),
    ("f_beta(*, beta := 0)", {}, r"beta must be in \(0, inf\), not 0"),
    ("f_beta(*, beta := 'nan'::DOUBLE)", {}, "beta must be in"),
    ("f_beta(*, beta := 'inf'::DOUBLE)", {}, "beta must be in"),
    ("f_beta(*, beta := NULL)", {}, "beta must be"),
    ("partial_roc_auc(*, max_fpr := 1.5)", {}, r"max_fpr must be in \(0, 1\]"),
    ("evaluate(*, max_fpr := 0)", {}, "max_fpr must be in"),
    ('recall_at_precision(*, "precision" := 2)', {}, r"precision must be in \[0, 1\], not 2"),
    ("expected_calibration_error(*, strategy := 'even')", {}, "strategy must be in"),
    ("expected_calibration_error(*, bins := 0)", {}, "bins must be in"),
    ("gain_table(*, bins := 0)", {}, "bins must be"),
    ("ndcg(*, qid := w, k := 0)", {}, "k must be in"),
    ("evaluate(*, metrics := ['roc_auk'])", {}, "called 'roc_auk', did you mean 'roc_auc'"),
    ("evaluate(*, metrics := [])", {}, "no metric"),
    ("f1('t', label := y, prediction := c, average := 'makro')", {}, "macro"),
    ("f1('t', label := y, prediction := c)", {}, "average"),
    ("accuracy('t', label := y, prediction := c)", {"c": [None, 1, 1]}, "prediction.*in 1 of 3"),
    ("mae('t', label := y, prediction := p)", {"p": [np.inf, 1, 1]}, "prediction.*in 1 of 3"),
    ("roc_auc(*, treshold := 1)", {}, "(?s)Candidate.*roc_auc"),
    ("roc_auc('t', label := nope, score := p)", {}, "nope"),
    ("roc_auc('none', label := y, score := p)", {}, "none"),
    ("roc_auc(*, nulls := 'x')", {}, "nulls must be 'error' or 'drop', not x"),
    ("roc_auc(*, nulls := NULL)", {}, "nulls must be"),
    ("roc_auc_difference(*, baseline := w)", {"w": [1.0, None, 2.0]}, "baseline is NULL.*1 of 3"),
    # The result has no rows, and is refused all the same.
    ("roc_auc(*)", NO_SCORE, "score is NULL.*in 3 of 3 rows"),
    ("evaluate(*, metrics := ['ks'])", NO_SCORE, "score is NULL"),
    ("roc_curve(*)", NO_SCORE, "score is NULL.*in 3 of 3 rows"),
    ("roc_curve(*, nulls := 'x')", NO_SCORE, "nulls must be"),
    ("roc_curve(*)", WORDS, "label must hold"),
    ("confusion('t', label := y, prediction := c)", NO_CLASS, "prediction is NULL.*in 3 of 3"),
]


def call_of(text: str) -> str:
    return f"FROM sqleval.{text}".replace("*", "'t', label := y, score := p")


@pytest.mark.parametrize(("call", "columns", "message"), REFUSED)
def test_refused(
    call: str, columns: dict[str, Any], message: str, console: duckdb.DuckDBPyConnection
) -> None:
    types = {"p": pl.Float64, "w": pl.Float64, "c": pl.Int64}
    table(console, pl.DataFrame({**ROWS, **columns}, schema_overrides=types), "t")
    with pytest.raises(duckdb.Error, match=message):
        console.execute(call_of(call)).fetchall()


@pytest.mark.parametrize("call", [
    "roc_auc(*)", "f1(*, threshold := 3)", "confusion(*, threshold := 3)",
    "evaluate(*, metrics := ['f1', 'roc_auc'], threshold := 3)",
])  # fmt: skip
def test_scores_outside_that_are_taken(call: str, console: duckdb.DuckDBPyConnection) -> None:
    table(console, pl.DataFrame({"y": [1, 0, 1], "p": [4.0, 0.4, 0.9]}), "t")
    assert console.execute(call_of(call)).fetchall()


def test_defaults_that_scores_outside_leave_out(console: duckdb.DuckDBPyConnection) -> None:
    table(console, pl.DataFrame({"y": [1, 0, 1], "p": [4.0, 0.4, 0.9]}), "t")
    rows = fetched(console, "FROM sqleval.evaluate('t', label := y, score := p)")
    notes = {row["metric"]: row["note"] for row in rows}
    assert notes["roc_auc"] is None
    assert notes["log_loss"] == notes["f1"] == "scores are outside 0 .. 1"


# -- the aggregates, the normal distribution and the comparison of two scores --------------------


def random_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    tiny, huge = 5e-324, 1.7976931348623157e308
    kinds = (
        lambda: rng.random(n), lambda: rng.integers(0, 4, n) / 3, lambda: rng.normal(size=n),
        lambda: 1 - rng.random(n) ** 8 * 1e-3, lambda: rng.lognormal(0, 50, n),
        lambda: rng.choice([-0.0, 0.0, tiny, -tiny, 3 * tiny, 2.3e-308], n),
        lambda: rng.choice([-1.0, 1.0], n) * rng.random(n) * 1e308 * 1.7,
        lambda: rng.choice([huge, np.nextafter(huge, 0), 9.99e289, 1.01e290, -huge, 0.1], n),
        lambda: np.where(rng.random(n) < 0.3, rng.choice([-np.inf, np.inf], n), rng.normal(size=n)),
    )  # fmt: skip
    return kinds[rng.integers(len(kinds))]()


def test_bounds_of_the_aggregate_hold_the_exact_area(console: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(3)
    columns: dict[str, list[Any]] = {"i": [], "bits": [], "y": [], "p": []}
    exact: dict[int, float] = {}
    for i in range(220):
        n = int(rng.integers(2, 60))
        y = np.r_[0, 1, rng.random(n - 2) < rng.random()].astype(int)
        p = random_scores(rng, n)
        exact[i] = float(roc_auc_score(y, np.unique(p, return_inverse=True)[1]))
        for key, values in zip(columns, ([i] * n, [3 + i % 11] * n, y, p), strict=True):
            columns[key] += list(values)
    table(console, pl.DataFrame(columns), "sets")
    mixed = 0
    for bits in range(3, 14):
        given = f"y, p, bits := {bits}"
        rows = console.execute(
            f"SELECT i, sqleval.auc({given}), sqleval.auc_low({given}), sqleval.auc_high({given}) "
            f"FROM sets WHERE bits = {bits} GROUP BY i"
        ).fetchall()
        assert len(rows) == 20
        for i, auc, low, high in rows:
            assert 0 <= low <= exact[i] <= high <= 1, (i, bits)
            assert low <= auc <= high
            mixed += high - low > 3e-15
    assert mixed > 110


def test_the_aggregate_as_part_of_queries(console: duckdb.DuckDBPyConnection) -> None:
    con = console
    sql = "SELECT g, sqleval.auc(y, p) AS a FROM preds GROUP BY g"
    rows = con.execute(f"{sql} ORDER BY sqleval.auc(y, p) DESC").fetchall()
    assert [a for _, a in rows] == sorted((a for _, a in rows), reverse=True)
    for g, a in rows:
        one = "SELECT sqleval.auc(y, p) FROM (FROM preds WHERE g IS NOT DISTINCT FROM $g)"
        assert con.execute(one, {"g": g}).fetchall() == [(a,)]
    assert con.execute(f"SELECT g FROM ({sql}) WHERE a > 2").fetchall() == []
    assert con.execute(
        "SELECT sqleval.auc(y = 1, p) = sqleval.auc(y, p) FROM preds"
    ).fetchone() == (True,)
    for where in ("y = 1", "y = 0", "FALSE"):
        each = (f"sqleval.{name}(y, p)" for name in ("auc", "auc_low", "auc_high"))
        assert (
            con.execute(f"SELECT {', '.join(each)} FROM preds WHERE {where}").fetchone()
            == (None,) * 3
        )
    for label, score, message in (
        ("2 * y", "p", "label must hold 0 and 1, or booleans, not 2"),
        ("y", "'nan'::DOUBLE", "score is NaN"),
        ("'yes'", "p", "yes"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            con.execute(f"SELECT sqleval.auc({label}, {score}) FROM preds").fetchall()


def test_normal_distribution_function(console: duckdb.DuckDBPyConnection) -> None:
    z = np.unique(
        np.r_[
            np.linspace(-40, 40, 20001),
            -7.0710678118655,
            7.0710678118655,
            np.linspace(-7.08, -7.06, 99),
        ]
    )
    table(console, pl.DataFrame({"z": z}), "z")
    got = console.execute("SELECT sqleval.normal_cdf(z) FROM z ORDER BY z").fetchnumpy()
    (values,) = got.values()
    want = norm.cdf(z)
    assert np.abs(values - want).max() <= 1e-15
    lower = (z < 0) & (want > 1e-300)
    assert (np.abs(values - want) / np.where(want > 0, want, 1))[lower].max() <= 1e-7
    sql = (
        "SELECT sqleval.normal_cdf(z) FROM (VALUES (NULL), ('inf'::DOUBLE), ('-inf'), (0)) AS t(z)"
    )
    assert console.execute(sql).fetchall() == [(None,), (1.0,), (0.0,), (0.5,)]


def components(label: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    one, other = score[label == 1][:, None], score[label == 0][None, :]
    beats = (one > other) + 0.5 * (one == other)
    return beats.mean(axis=1), beats.mean(axis=0)


def delong(label: np.ndarray, score: np.ndarray, baseline: np.ndarray) -> tuple[float, ...]:
    """Return the difference of two areas, its standard error and p-value, from all pairs."""
    (v10, v01), (w10, w01) = components(label, score), components(label, baseline)
    contrast = np.array([1.0, -1.0])
    cov = np.cov(v10, w10) / len(v10) + np.cov(v01, w01) / len(v01)
    error = float(np.sqrt(contrast @ cov @ contrast))
    difference = float(v10.mean() - w10.mean())
    return difference, error, float(2 * norm.sf(abs(difference / error)))


@pytest.mark.parametrize("digits", [17, 1, 0])
@pytest.mark.parametrize("by", [None, "g"])
def test_difference_of_two_areas(
    by: str | None, digits: int, console: duckdb.DuckDBPyConnection
) -> None:
    frame = drawn("binary", 200).with_columns(
        a=pl.col("p").round(digits), b=(pl.col("w") + pl.col("y") * 0.3).round(digits)
    )
    table(console, frame)
    slices = f", slice := {by}" if by else ""
    roles = f"label := y, score := b, baseline := a{slices}"
    rows = fetched(console, f"FROM sqleval.roc_auc_difference('data', {roles})")
    parts = frame.partition_by(by, as_dict=True) if by else {("all",): frame}
    assert [row["slice"] for row in rows] == sorted(
        (k for (k,) in parts), key=lambda k: (k is None, k)
    )
    for row in rows:
        part = parts[row["slice"],]
        want = delong(*(part[name].to_numpy() for name in ("y", "b", "a")))
        assert (row["value"], row["stderr"], row["p_value"]) == pytest.approx(want, rel=1e-9)
        assert row["z"] == pytest.approx(want[0] / want[1], rel=1e-9)
        assert (row["n"], row["n_dropped"], row["note"]) == (part.height, 0, None)


@pytest.mark.parametrize(
    ("frame", "note"),
    [
        ({"y": [0, 1, 0, 1], "a": [1, 2, 3, 4], "b": [2, 4, 6, 8]}, "rank the classes alike"),
        ({"y": [0, 0], "a": [1, 2], "b": [2, 1]}, "no positive labels"),
        ({"y": [1, 1], "a": [1, 2], "b": [2, 1]}, "no negative labels"),
        ({"y": [1, 0, 0], "a": [1, 2, 0], "b": [2, 1, 0]}, "one row of a class"),
        ({"y": [1, 0], "a": [None, None], "b": [2, 1]}, "no rows"),
    ],
)
def test_difference_that_is_undefined(
    frame: dict[str, list[Any]], note: str, console: duckdb.DuckDBPyConnection
) -> None:
    table(console, pl.DataFrame(frame, schema_overrides={"a": pl.Float64}))
    call = (
        "sqleval.roc_auc_difference('data', label := y, score := b, baseline := a, nulls := 'drop')"
    )
    (row,) = fetched(console, f"FROM {call}")
    assert row["p_value"] is None
    assert note in row["note"]


# -- the script ----------------------------------------------------------------------------------


def test_each_statement_ends_a_line_and_no_other_semicolon_stands() -> None:
    statements = bundle().split(";\n")
    assert statements.pop() == ""
    assert all(each.strip() and ";" not in each for each in statements)
    lines = bundle().splitlines()
    assert not [line for line in lines if line.startswith(".") or line.rstrip() != line]
    assert not re.search(r"\$\w|^/$", bundle(), re.MULTILINE)
    assert len(duckdb.extract_statements(bundle())) == len(statements)


def test_statements_one_by_one_and_twice(console: duckdb.DuckDBPyConnection) -> None:
    macros = (
        "SELECT function_name, macro_definition FROM duckdb_functions() "
        "WHERE schema_name = 'sqleval' ORDER BY ALL"
    )
    with duckdb.connect() as con:
        for statement in bundle().split(";\n"):
            con.execute(statement)
        assert con.execute(macros).fetchall() == console.execute(macros).fetchall()
        con.execute(bundle())
        assert con.execute(macros).fetchall() == console.execute(macros).fetchall()


def test_each_call_of_the_help_runs(console: duckdb.DuckDBPyConnection) -> None:
    rows = fetched(console, "FROM sqleval.help()")
    assert {row["name"] for row in rows} >= {relation.name for relation in FILES} - {
        "roc_dominance"
    }
    wrong: list[str] = []
    for row in rows:
        try:
            assert console.execute(row["call"]).fetchall()
        except (duckdb.Error, AssertionError) as error:
            wrong.append(f"{row['call']}: {error}")
    assert not wrong, "\n".join(wrong)


def test_every_macro_has_a_comment(console: duckdb.DuckDBPyConnection) -> None:
    sql = "FROM duckdb_functions() WHERE schema_name = 'sqleval' AND function_name[1] <> '_'"
    rows = console.execute(f"SELECT DISTINCT function_name, comment {sql}").fetchall()
    assert len(rows) > 60
    assert [name for name, comment in rows if not comment] == []


def cli(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("sqleval")), "macros", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.slow
def test_command_prints_the_script() -> None:
    assert cli().stdout == bundle()


def test_command_installs_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own's preds.duckdb"
    with duckdb.connect(file) as con:
        con.execute("CREATE TABLE t AS FROM (VALUES (0, 0.1), (1, 0.8)) AS v(y, p)")
    for path in (file, tmp_path / "new.duckdb", tmp_path / "new.duckdb"):
        cli("--install", str(path))
        with duckdb.connect(path, read_only=True) as con:
            assert con.execute("SELECT COUNT(*) > 60 FROM sqleval.help()").fetchone() == (True,)
    with duckdb.connect(file, read_only=True) as con:
        assert fetched(con, "FROM sqleval.roc_auc('t', label := y, score := p)")[0]["value"] == 1
    # The storage version, that of DuckDB 1.4: every DuckDB from there on opens the file.
    head = (tmp_path / "new.duckdb").read_bytes()[:200]
    assert head[8:12] == b"DUCK"
    assert int.from_bytes(head[12:20], "little") == 67


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "no folder", "folder"])
def test_command_refuses_what_is_no_database(kind: str, tmp_path: Path) -> None:
    path = {"text": tmp_path / "a.txt", "no folder": tmp_path / "none" / "a.duckdb"}.get(
        kind, tmp_path
    )
    if kind == "text":
        path.write_text("this is not a database\n" * 1000)
    done = cli("--install", str(path), code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr
    assert kind != "text" or path.read_text().startswith("this is not")


# -- plans ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    frame = drawn("binary", 500).with_columns(**{f"x{i}": pl.lit(i) for i in range(20)})
    frame.write_parquet(path)
    return str(path)


def plan(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    return con.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()[0][1]


@pytest.mark.parametrize("metric", ["roc_auc", "log_loss", "f1", "roc_curve", "evaluate"])
def test_only_the_named_columns_are_read(
    metric: str, wide: str, console: duckdb.DuckDBPyConnection
) -> None:
    text = plan(console, f"FROM sqleval.{metric}('{wide}', label := y, score := p)")
    scans = re.findall(
        r'"name": "(?:READ_PARQUET|PARQUET_SCAN)\s*".*?"Projections": (\[.*?\]|".*?")',
        text,
        re.DOTALL,
    )
    assert scans
    assert {column for scan in scans for column in re.findall(r"\w+", scan)} == {"y", "p"}


@pytest.mark.parametrize("metrics", ["NULL", "['roc_auc', 'ks', 'f1', 'log_loss']"])
@pytest.mark.parametrize("weight", ["", ", weight := w"])
def test_many_metrics_scan_once(
    metrics: str, weight: str, wide: str, console: duckdb.DuckDBPyConnection
) -> None:
    roles = f"label := y, score := p{weight}, metrics := {metrics}"
    text = plan(console, f"FROM sqleval.evaluate('{wide}', {roles})")
    assert len(re.findall(r'"name": "(?:READ_PARQUET|PARQUET_SCAN)\s*"', text)) == 1


@pytest.mark.parametrize("metric", ["log_loss", "f1", "brier_score"])
def test_what_is_not_asked_for_is_not_computed(
    metric: str, wide: str, console: duckdb.DuckDBPyConnection
) -> None:
    text = plan(
        console, f"FROM sqleval.evaluate('{wide}', label := y, score := p, metrics := ['{metric}'])"
    )
    assert "WINDOW" not in text
    sorted_ = plan(
        console, f"FROM sqleval.evaluate('{wide}', label := y, score := p, metrics := ['roc_auc'])"
    )
    assert "WINDOW" in sorted_
