"""Tests of all models at once, and exact ranks, from rows."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q

import sqleval
from sqleval import RequestError
from tests.support.references import compute_delong

from .data import MODELS, ROWS, compare, compare_one


@pytest.mark.parametrize("baseline", ["a", "b", "c"])
@pytest.mark.parametrize("metric", ["roc_auc", "gini"])
def test_several_areas(metric: str, baseline: str) -> None:
    found = compare(ROWS, metric, {"by": "g"}, test="delong_joint", baseline=baseline, adjust=None)
    for (g,), part in ROWS.group_by("g"):
        scores = np.array([part[name].to_numpy() for name in MODELS])
        areas, covariance = compute_delong(part["y"].to_numpy(), scores)
        contrasts = np.array([[1, -1, 0], [1, 0, -1]])
        away = contrasts @ areas
        chi_square = away @ np.linalg.solve(contrasts @ covariance @ contrasts.T, away)
        rows = found.filter(pl.col("g").eq_missing(g))
        assert rows["statistic"].to_list() == pytest.approx([chi_square] * 2)
        assert rows["p_value"].to_list() == pytest.approx([stats.chi2.sf(chi_square, 2)] * 2)
        assert rows["low"].null_count() == 2
        assert set(rows["note"]) == {"one test of all models: they have equal areas"}
        is_clear = rows["p_value"][0] < 0.05
        assert (rows["verdict"][0] == "the models differ") == is_clear
    two = compare_one(ROWS, metric, test="delong_joint")
    pair = compare_one(ROWS, metric)
    assert two["statistic"] == pytest.approx(pair["statistic"] ** 2)
    assert two["p_value"] == pytest.approx(pair["p_value"])


@pytest.mark.parametrize("metric", ["accuracy", "error_rate"])
def test_several_rates(metric: str) -> None:
    found = compare(ROWS, metric, test="cochran_q")
    right = [(ROWS[name] >= 0.5) == (ROWS["y"] == 1) for name in MODELS]
    expected = cochrans_q(np.array(right, dtype=int).T)
    assert found["statistic"].to_list() == pytest.approx([expected.statistic] * 2)
    assert found["p_value"].to_list() == pytest.approx([expected.pvalue] * 2)
    assert found["method"].to_list() == ["Cochran's Q"] * 2


def test_models_that_are_alike_and_empty_sources() -> None:
    same = ROWS.with_columns(b="a", c="a")
    (note,) = set(compare(same, "roc_auc", test="delong_joint")["note"])
    assert note == "no test: the differences of the areas do not vary from row to row"
    (note,) = set(compare(same, "accuracy", test="cochran_q")["note"])
    assert note == "no test: all models are right about the same rows"
    for metric, test in (("roc_auc", "delong_joint"), ("accuracy", "cochran_q")):
        assert set(compare(ROWS.clear(), metric, test=test)["note"]) == {"no rows"}
    bound = sqleval.scan(ROWS, label="y", score=MODELS)
    with pytest.raises(RequestError, match="asks whether any models differ"):
        bound.leaderboard("accuracy", test="cochran_q")
    with pytest.raises(RequestError, match="is two-sided"):
        bound.compare("roc_auc", test="delong_joint", alternative="greater")
    with pytest.raises(RequestError, match="has no margin="):
        bound.compare("roc_auc", test="delong_joint", margin=0.1)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_ranks_are_exact_up_to_50_pairs_without_ties_and_zeros(side: str) -> None:
    rng = np.random.default_rng(4)
    scan = {"score": None, "prediction": {"a": "a", "b": "b"}, "task": "regression"}
    for n, change, exact in ((12, None, True), (50, None, True), (51, None, False),
        (30, "zero", False), (30, "tie", False)):  # fmt: skip
        rows = pl.DataFrame({"y": np.zeros(n), "a": rng.gamma(2, 1, n), "b": rng.gamma(2.5, 1, n)})
        if change is not None:
            pair = {"zero": (4.0, 4.0), "tie": (4.0, 3.0)}[change]
            fixed = pl.DataFrame({"y": [0.0] * 2, "a": [pair[0]] * 2, "b": [pair[1]] * 2})
            rows = pl.concat([rows.tail(n - 2), fixed])
        row = compare(rows, "mae", scan, test="wilcoxon", alternative=side).row(0, named=True)
        expected = stats.wilcoxon(
            rows["b"], rows["a"], alternative=side, method="exact" if exact else "asymptotic"
        )
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
        ending = ", exact" if exact else ", normal"
        assert row["method"] == f"Wilcoxon signed-rank test of row losses{ending}"


def test_the_plain_interval_of_an_area_is_that_of_proc() -> None:
    """R's pROC 1.18.0: ``ci.auc(roc(y, p, direction="<", levels=c(0, 1)), method="delong")``."""
    first = pl.DataFrame({"y": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1],
        "p": [0.1, 0.3, 0.2, 0.6, 0.4, 0.4, 0.5, 0.7, 0.9, 0.4, 0.8, 0.7, 0.3, 0.6]})  # fmt: skip
    second = pl.DataFrame({"y": [0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1],
        "p": [0.2, 0.5, 0.4, 0.6, 0.6, 0.3, 0.7, 0.9, 0.5, 0.1, 0.8, 0.8]})  # fmt: skip
    for rows, ci, ends in (
        (first, 0.95, (0.50892570661212999, 1)),
        (second, 0.9, (0.29935739663810002, 0.89508704780633996)),
    ):
        bound = sqleval.scan(rows, label="y", score="p")
        found = bound.evaluate(["roc_auc", "gini", "accuracy"], ci=ci, ci_method="delong").collect()
        assert found.select("low", "high").row(0) == pytest.approx(ends)
        assert found["low"][1] == pytest.approx(2 * ends[0] - 1)
        assert found["method"].to_list() == ["rows; delong, normal"] * 2 + ["wilson"]
        assert found["note"][0] == "few rows: interval may be too narrow"
