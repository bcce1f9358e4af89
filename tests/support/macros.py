"""Calls macros in a console and compares their rows with the library's."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import polars as pl

import sqleval
from sqleval.catalog import builtin, request
from tests.support.cases import DATA, ROLES, Data, Kind, drawn

#: Metrics of a column without a label have no macros, because SQL has functions of their names; and
#: metrics of many labels have none, because a macro reads one label of each row.
FILES = [
    *(
        each
        for each in builtin().relations("metric", "curve")
        if each.family not in ("value", "multilabel")
    ),
    *map(builtin().get, request.TABLES),
]
BY_HAND = {
    "auc",
    "auc_binned",
    "auc_low",
    "auc_high",
    "normal_cdf",
    "roc_auc_difference",
    "evaluate",
    "evaluate_wide",
    "confusion_counts",
    "help",
}
#: A value that is not the default, by parameter.
GIVEN: dict[str, Any] = {
    "threshold": 0.3, "beta": 2.0, "max_fpr": 0.35, "bins": 4, "strategy": "quantile",
    "eps": 0.001, "normalize": False, "cost_fn": 5.0, "cost_fp": 0.5, "prior": 0.3,
    "recall": 0.5, "precision": 0.6, "drop_intermediate": True, "start": "origin", "k": 3,
    "weights": "linear", "z": 1.0, "reach": 2.0, "norm": "l2", "q": 0.3, "features": 3,
    "alpha": 0.2, "power": 1.5, "delta": 0.5, "normalization": "std",
    "min_relevance": 2.0, "gain": "exponential", "p": 0.6, "largest": 3, "map.normalize": "k",
    "confusion_shares.normalize": "true", "max_rows": 40,
}  # fmt: skip
#: Costs of predicting one class for another.
COSTS = {
    "binary": {0: {1: 1.0}, 1: {0: 4.0}},
    "multiclass": {"a": {"b": 1.0, "c": 4.0}, "b": {"a": 2.0, "c": 0.5}, "c": {"a": 0.0, "b": 3.0}},
}  # fmt: skip


def create_table(con: duckdb.DuckDBPyConnection, frame: pl.DataFrame, name: str = "data") -> None:
    con.register("frame", frame)
    con.execute(f'CREATE OR REPLACE TABLE "{name}" AS FROM frame')


def write_value(value: object) -> str:
    if isinstance(value, dict):
        cells = [(a, b, cost) for a, row in value.items() for b, cost in row.items()]
        return str([{"label": a, "prediction": b, "cost": cost} for a, b, cost in cells])
    return repr(value)


def choose_parameters(name: str, kind: str, *, other: bool) -> dict[str, Any]:
    """Return a metric's parameters: values other than the defaults, or only the required ones."""
    expected: dict[str, Any] = {}
    for param in list_parameters(name):
        if param == "cost_matrix":
            expected[param] = COSTS[kind]
        elif other and (param != "threshold" or kind == "binary"):
            whole = f"{name}.{param}"
            expected[param] = GIVEN[whole if whole in GIVEN else param]
    return expected


def list_parameters(name: str) -> list[str]:
    return list(builtin().parameters(name))


@cache
def list_macros(con: duckdb.DuckDBPyConnection, kind: str, weighted: bool = False) -> list[str]:
    """Return the macros of files that take a kind of data, with weights or without."""
    found = con.execute(
        "SELECT DISTINCT function_name, parameters FROM duckdb_functions() "
        "WHERE schema_name = 'sqleval' AND function_name[1] <> '_' "
        "AND comment NOT LIKE 'another name of %'"
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
        and "item" not in arguments  # these raise an error that names the command
        and (kind == "regression") == ("regression" in builtin().get(name).tasks)
    })  # fmt: skip


def write_arguments(data: Data) -> str:
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


def write_call(name: str, data: Data, more: dict[str, Any]) -> str:
    more = dict(more)
    if "threshold" in data.options and (name == "evaluate" or "threshold" in list_parameters(name)):
        more.setdefault("threshold", data.options["threshold"])
    listed = "".join(f', "{key}" := {write_value(value)}' for key, value in more.items())
    return f"FROM sqleval.\"{name}\"('data'{write_arguments(data)}{listed})"


def read_key(data: Data, row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the keys of a row of a macro."""
    value = row.pop("slice")
    if data.frame.is_empty():
        assert value is None  # without rows there is no slice
        return ()
    if not data.by:
        assert value == "all"
        return ()
    return tuple(value.values()) if len(data.by) > 1 else (value,)


def fetch_rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    result = con.execute(sql)
    columns = [column[0] for column in result.description or []]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def is_equal(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        # Python's NaN does not equal itself.
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-12 * max(1.0, abs(b))
    return a == b


def find_differences(
    data: Data, rows: list[dict[str, Any]], expected: pl.DataFrame, what: str
) -> Iterator[str]:
    """Yield the differences between a macro's rows and the library's rows for a metric."""
    got = {read_key(data, row): row for row in rows}
    want = {tuple(row[key] for key in data.by): row for row in expected.iter_rows(named=True)}
    if data.frame.is_empty():
        want = {(): {"value": None, "n": 0, "n_dropped": 0, "note": "no rows"}}
    if got.keys() != want.keys() or len(got) != len(rows):
        yield f"{what}: slices {sorted(got, key=str)} instead of {sorted(want, key=str)}"
        return
    for key, row in got.items():
        columns = ["value", "n", "n_dropped", *(["note"] if row["value"] is None else [])]
        for column in columns:
            if column == "note" and row["note"] == "total weight is 0" and has_no_weight(data):
                continue  # the library has this note on slices only
            if not is_equal(row[column], want[key][column]):
                yield f"{what} {key}: {column} {row[column]} instead of {want[key][column]}"


def has_no_weight(data: Data) -> bool:
    return data.weight is not None and not data.by and data.frame[data.weight].sum() == 0


def format_metric(name: str, params: dict[str, Any], average: str | None = None) -> str:
    options = {**params, **({"average": average} if average else {})}
    listed = ", ".join(f"{key}={value!r}" for key, value in options.items())
    return f"{name}({listed})" if listed else name


def list_metrics(
    con: duckdb.DuckDBPyConnection, data: Data, *, other: bool, averages: int = 3
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield each metric that suits the data, as name, average and parameters."""
    for i, name in enumerate(list_macros(con, data.kind, data.weight is not None)):
        relation = builtin().get(name)
        if relation.kind != "metric" or (data.outside and relation.header.get("domain")):
            continue
        if (
            "cost_matrix" in list_parameters(name)
            and data.kind == "multiclass"
            and not data.letters
        ):
            continue
        average = data.kind == "multiclass" and relation.task == "two classes"
        turn = [*request.AVERAGES, *request.AVERAGES][i % 3 : i % 3 + averages]
        for each in turn if average else (None,):
            yield name, each, choose_parameters(name, data.kind, other=other)


#: The library's results by data and metric, because macros are called in several ways.
_RESULTS: dict[tuple[Data, str], pl.DataFrame] = {}


def evaluate_in_library(data: Data, expected: dict[Any, str]) -> dict[Any, pl.DataFrame]:
    """Return the library's result for each metric."""
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    task = ROLES[data.kind].get("task", data.kind)
    new = [text for text in dict.fromkeys(expected.values()) if (data, text) not in _RESULTS]
    for start in range(0, len(new), 35):  # short statements are planned faster
        some = new[start : start + 35]
        parts = bound.evaluate(some).collect().partition_by("metric", as_dict=True)
        none = pl.DataFrame(schema=bound.evaluate(some).collect_schema())
        for text in some:
            label = request.format_request(request.parse(text, task))
            _RESULTS[data, text] = parts.get((label,), none)
    return {key: _RESULTS[data, text] for key, text in expected.items()}


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


#: A macro treats rows without a slice as one slice, so that sets of rows can be slices of one call.
STACKED = [
    data
    for data in (*DATA, *_gaps("binary"), *_gaps("multiclass"))
    if data.frame.height and not data.outside and "positive" not in data.options
    if (
        data.kind == "binary" and data.frame["y"].dtype.is_integer()
        and data.frame["p"].dtype == pl.Float64
    ) or (data.kind == "multiclass" and data.letters)
    if len(data.by) < 2 and data.name not in (
        "heavy ties", "labels -1 and 1", "by one key", "one class a slice", "counts as weights",
        "real weights",
    )
]  # fmt: skip


def _cases_as_slices(kind: Kind, *, weighted: bool) -> Data:
    frames = [
        data.frame.with_columns(
            data=pl.lit(data.name),
            part=pl.col(data.by[0]).cast(pl.String) if data.by else pl.lit(None, pl.String),
            w=pl.col(data.weight or "w").cast(pl.Float64),
        )
        for data in STACKED
        if data.kind == kind and (data.weight is not None) == weighted
    ]
    rows = pl.concat(frames, how="vertical_relaxed")
    options: dict[str, Any] = {"by": ["data", "part"], "nulls": "drop"}
    if weighted:
        return Data("weighted cases as slices", kind, rows, {**options, "weight": "w"})
    return Data("cases as slices", kind, rows, options)


ALL = [
    data
    for data in [
        *DATA,
        *(
            _cases_as_slices(kind, weighted=weighted)
            for kind in ("binary", "multiclass")
            for weighted in (False, True)
        ),
        *(
            each
            for kind in ("binary", "multiclass", "regression", "ranking")
            for each in _gaps(kind)
        ),
    ]
    if data.kind != "probabilities" and not (data.kind == "ranking" and data.weight)
]
