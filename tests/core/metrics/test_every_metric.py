"""Properties of every metric, including a user's own: states, comparisons, intervals."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.catalog import Catalogue, find_sql_folder
from sqleval.catalog.request import format_request
from sqleval.frontend.bound import parse_requests

HEADER = """/*
summary: {name}
formula: see the SQL
direction: none
range: "-inf .. inf"
reference: numpy.mean
task: {task}
weights: {weights}
since: 0.1.0
*/
"""
#: Metrics of a user: the task, whether it takes weights, and the SQL.
OWN = {
    "bias": ("regression", "none", """\
SELECT
    slice,
    AVG(prediction - label) AS value,
    SQRT(COVAR_POP(prediction - label, prediction - label)) / SQRT(COUNT(*)) AS stderr
FROM predictions
GROUP BY slice
"""),
    "bias_of_rows": ("regression", "none", """\
SELECT
    slice,
    AVG(prediction - label) AS value
FROM predictions
GROUP BY slice
"""),
    "weighted_bias": ("regression", "frequency", """\
SELECT
    slice,
    CAST(SUM(weight * (prediction - label)) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value
FROM predictions
GROUP BY slice
"""),
    "mean_score": ("two classes", "none", """\
SELECT
    slice,
    AVG(score) AS value
FROM predictions
GROUP BY slice
"""),
    "mean_decision": ("two classes", "none", """\
SELECT
    slice,
    AVG(CAST(prediction AS DOUBLE)) AS value
FROM decisions
GROUP BY slice
"""),
    "matches": ("classes", "none", """\
SELECT
    slice,
    AVG(CASE WHEN label = prediction THEN 1e0 ELSE 0e0 END) AS value
FROM predictions
GROUP BY slice
"""),
    "surprise": ("two classes", "frequency", """\
SELECT
    slice,
    CAST(SUM(weight * loss) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value
FROM log_losses
GROUP BY slice
"""),
}  # fmt: skip

RNG = np.random.default_rng(7)
N = 300
Y = RNG.integers(0, 2, N)
ROWS = pl.DataFrame(
    {
        "y": Y,
        "a": np.round(np.clip(RNG.normal(0.4 + 0.2 * Y, 0.2), 0.01, 0.99), 2),
        "b": np.round(np.clip(RNG.normal(0.4 + 0.1 * Y, 0.2), 0.01, 0.99), 2),
        "c": RNG.integers(0, 3, N), "p": RNG.integers(0, 3, N), "q": RNG.integers(0, 3, N),
        "t": RNG.normal(9, 1, N), "u": RNG.normal(9, 1, N), "v": RNG.normal(9, 1, N),
    }
)  # fmt: skip
#: By task: the roles of one model, and of two.
ROLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "binary": ({"label": "y", "score": "a"}, {"label": "y", "score": {"a": "a", "b": "b"}}),
    "decided": (
        {"label": "y", "prediction": "p", "where": "p < 2", "task": "binary"},
        {"label": "y", "prediction": {"a": "p", "b": "q"}, "where": "p < 2 AND q < 2",
         "task": "binary"},
    ),
    "multiclass": (
        {"label": "c", "prediction": "p", "task": "multiclass"},
        {"label": "c", "prediction": {"a": "p", "b": "q"}, "task": "multiclass"},
    ),
    "regression": (
        {"label": "t", "prediction": "u", "task": "regression"},
        {"label": "t", "prediction": {"a": "u", "b": "v"}, "task": "regression"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    folder = tmp_path_factory.mktemp("own")
    (folder / "ours").mkdir()
    for name, (task, weights, query) in OWN.items():
        text = HEADER.format(name=name, task=task, weights=weights) + query
        (folder / "ours" / f"{name}.sql").write_text(text, encoding="utf-8")
    return Catalogue(find_sql_folder(), folder)


def list_metrics(bound: Any) -> list[str]:
    """Return the metrics that fit an input."""
    names = [each.name for each in bound.catalogue.relations("metric")]
    fitting: list[str] = []
    for name in names:
        try:
            (request,) = parse_requests(bound, name, None)
            bound.evaluate(name)
        except RequestError:
            continue
        fitting.append(format_request(request))
    return fitting


def bind(task: str, which: int, catalogue: Catalogue) -> Any:
    return sqleval.scan(ROWS, catalogue=catalogue, **ROLES[task][which])


@pytest.mark.parametrize("task", ROLES)
def test_a_state_gives_the_metric_back_or_is_refused(task: str, catalogue: Catalogue) -> None:
    bound = bind(task, 0, catalogue)
    metrics = list_metrics(bound)
    assert {"bias", "mean_score", "mean_decision", "matches"} & {*metrics}
    held: list[str] = []
    for name in metrics:
        try:
            bound.state(name)
        except RequestError:
            continue
        held.append(name)
    assert {"rmse", "accuracy"} & {*held}
    assert not {"bias", "weighted_bias", "mean_score", "mean_decision", "matches"} & {*held}
    state = bound.state(held).collect()
    back = sqleval.from_state(state, catalogue=catalogue).evaluate(held).collect()
    exact = bound.evaluate(held).collect()
    for row, expected in zip(back.to_dicts(), exact.to_dicts(), strict=True):
        if row["low"] is None or row["low"] == row["high"]:
            assert row["value"] == pytest.approx(expected["value"], rel=1e-12), row["metric"]
        elif expected["value"] is not None:
            assert row["low"] - 1e-12 <= expected["value"] <= row["high"] + 1e-12, row["metric"]


@pytest.mark.parametrize("task", ROLES)
def test_models_are_compared_by_every_metric_or_it_is_refused(
    task: str, catalogue: Catalogue
) -> None:
    bound = bind(task, 1, catalogue)
    compared: list[str] = []
    for name in list_metrics(bound):
        try:
            bound.compare(name, replicates=100)
        except RequestError:
            continue
        compared.append(name)
    assert {"bias", "mean_score", "mean_decision", "matches"} & {*compared}
    found = bound.compare(compared, replicates=100).collect()
    values = bound.evaluate(compared).collect().filter(model="b")["value"]
    assert found["metric"].to_list() == compared
    assert found["value"].to_list() == pytest.approx(values.to_list(), rel=1e-12, nan_ok=True)
    assert found.filter(pl.col("p_value").is_null())["note"].null_count() == 0


@pytest.mark.parametrize("task", ROLES)
def test_every_metric_has_an_interval_or_says_why_not(task: str, catalogue: Catalogue) -> None:
    bound = bind(task, 0, catalogue)
    metrics = list_metrics(bound)
    found = bound.evaluate(metrics, ci=0.95, replicates=100).collect()
    for row in found.iter_rows(named=True):
        if row["low"] is None and row["value"] is not None:
            assert row["note"] is not None, row["metric"]
        elif row["value"] is not None:
            assert row["low"] <= row["value"] <= row["high"], row["metric"]


def test_rows_are_drawn_for_a_metric_that_takes_no_weights(catalogue: Catalogue) -> None:
    """The metric equals its weighted form: a row that is drawn twice counts as two rows."""
    metrics = ["bias_of_rows", "weighted_bias"]
    options: dict[str, Any] = {"ci": 0.95, "ci_method": "bootstrap", "replicates": 200}
    found = bind("regression", 0, catalogue).evaluate(metrics, **options).collect()
    for end in ("value", "low", "high"):
        assert found[end][0] == pytest.approx(found[end][1], rel=1e-9)
    two = bind("regression", 1, catalogue).compare(metrics, replicates=200).collect()
    assert two["p_value"][0] == pytest.approx(two["p_value"][1], rel=1e-9)
    # The metric has its own standard error beside the bootstrap's.
    row = bind("regression", 0, catalogue).evaluate("bias", ci=0.95).collect().row(0, named=True)
    errors = (ROWS["u"] - ROWS["t"]).to_numpy()
    half = 1.959963984540054 * errors.std() / np.sqrt(N)
    assert (row["low"], row["high"]) == pytest.approx((errors.mean() - half, errors.mean() + half))


@pytest.mark.parametrize("way", ["bins", "tolerance", "state"])
def test_equal_rows_are_not_one_row_of_a_metric_without_weights(
    way: str, catalogue: Catalogue
) -> None:
    bound = bind("binary", 0, catalogue)
    calls = {
        "bins": lambda: bound.evaluate("mean_decision", bins=5),
        "tolerance": lambda: bound.evaluate("mean_decision", tolerance=0.1),
        "state": lambda: bound.state("mean_decision"),
    }
    with pytest.raises(RequestError, match="mean_decision: this metric cannot use weights"):
        calls[way]()
