"""Each group of rows compared with all other rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, score_test_proportions_2indep

import sqleval
from sqleval.errors import DataError, RequestError
from tests.support.commands import run
from tests.support.rankings import RANKED, list_values

from .data import draw_models

ROWS = draw_models(900).with_columns(area=pl.col("g").fill_null("none"))
AREAS = ["none", "s", "t"]


def compare(metrics: Any = "accuracy", rows: pl.DataFrame = ROWS, **options: Any) -> pl.DataFrame:
    roles = {"label": "y", "score": "a"} | options.pop("roles", {})
    lazy = sqleval.scan(rows, **roles).compare(metrics, **{"groups": "area"} | options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    return found


def divide(rows: pl.DataFrame, area: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    return rows.filter(area=area), rows.filter(pl.col("area") != area)


def test_rates_have_the_score_test_and_holms_correction() -> None:
    """Values equal statsmodels; the interval is Newcombe's for two independent rates."""
    found = compare()
    assert found.select("model", "baseline").rows() == [(e, "all other rows") for e in AREAS]
    p_values: list[float] = []
    for area, row in zip(AREAS, found.iter_rows(named=True), strict=True):
        hits = [((e["a"] >= 0.5) == (e["y"] == 1)).sum() for e in divide(ROWS, area)]
        sizes = [e.height for e in divide(ROWS, area)]
        test = score_test_proportions_2indep(hits[0], sizes[0], hits[1], sizes[1], correction=False)
        p_values.append(test.pvalue)
        assert row["p_value"] == pytest.approx(test.pvalue, rel=1e-6)
        ends = confint_proportions_2indep(hits[0], sizes[0], hits[1], sizes[1], method="newcomb")
        assert [row["low"], row["high"]] == pytest.approx([*ends], rel=1e-6)
        values = [accuracy_score(e["y"], e["a"] >= 0.5) for e in divide(ROWS, area)]
        assert [row["value"], row["baseline_value"]] == pytest.approx(values)
        assert row["n"] == 900
    for method, name in (
        ("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini_hochberg", "fdr_bh"),
    ):  # fmt: skip
        adjusted = compare(adjust=method)["p_adjusted"].to_list()
        assert adjusted == pytest.approx(multipletests(p_values, method=name)[1])
    assert compare(adjust="none")["p_adjusted"].to_list() == found["p_value"].to_list()


def test_other_metrics_have_tests_of_different_rows() -> None:
    found = compare(["log_loss", "roc_auc", "f1"], replicates=2000)
    for area in AREAS:
        own, rest = divide(ROWS, area)
        rows = {row["metric"]: row for row in found.filter(model=area).iter_rows(named=True)}
        losses = [
            -np.log(np.where(e["y"] == 1, e["a"], 1 - e["a"].to_numpy())) for e in (own, rest)
        ]
        expected = stats.ttest_ind(*losses, equal_var=False)
        assert rows["log_loss"]["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
        assert rows["log_loss"]["value"] == pytest.approx(log_loss(own["y"], own["a"]))
        areas = [roc_auc_score(e["y"], e["a"]) for e in (own, rest)]
        assert rows["roc_auc"]["difference"] == pytest.approx(areas[0] - areas[1])
        assert rows["roc_auc"]["method"] == "DeLong, different rows"
        assert rows["f1"]["method"] == "bootstrap of different rows, 2,000 replicates"
        assert rows["f1"]["low"] < rows["f1"]["difference"] < rows["f1"]["high"]


def test_slices_are_adjusted_with_the_groups() -> None:
    rows = ROWS.with_columns(half=pl.col("k") % 2)
    found = compare(rows=rows, roles={"by": "half"}).sort("half", "model")
    alone = [compare(rows=rows.filter(half=half)) for half in (0, 1)]
    p_values = pl.concat(alone)["p_value"]
    assert found["p_value"].to_list() == pytest.approx(p_values.to_list())
    holm = multipletests(p_values, method="holm")[1]
    assert found["p_adjusted"].to_list() == pytest.approx(holm)


def test_weights_clusters_conditions_and_rankings() -> None:
    weighted = compare(roles={"weight": "w"})
    own, _ = divide(ROWS, "s")
    rate = np.average((own["a"] >= 0.5) == (own["y"] == 1), weights=own["w"])
    assert weighted.filter(model="s")["value"].item() == pytest.approx(rate)
    clustered = compare(cluster="user")
    assert clustered["method"].str.starts_with("jackknife of different rows").all()
    where = compare(roles={"where": "area <> 'none'"})
    assert where["model"].to_list() == ["s"]  # of two groups, one comparison
    assert where["p_adjusted"].to_list() == where["p_value"].to_list()
    ranking = {"score": "a", "qid": "q"}
    found = compare("ndcg", RANKED, groups="g", roles=ranking)
    values = [[*list_values(RANKED.filter(g=g), "a").values()] for g in "st"]
    expected = stats.ttest_ind(*values, equal_var=False)
    assert found["p_value"].to_list() == pytest.approx([expected.pvalue], rel=1e-8)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"baseline": "s"}, RequestError, r"leave out baseline= \(--baseline\), which is for"),
    ({"model": "g"}, RequestError, r"leave out model= \(--model\), which is for"),
    ({"groups": "are"}, RequestError, "groups='are': no such column .*did you mean 'area'"),
    ({"groups": "k"}, RequestError, "groups='k' has 900 values; up to 50 groups are compared"),
    ({"groups": "g"}, DataError, "groups='g' is NULL in some rows, and each row needs one"),
    ({"roles": {"by": "area"}}, RequestError, "by='area' is the column of groups=, whose rows"),
    ({"roles": {"by": "fold", "sets": "overall"}}, RequestError, "groups= goes with plain slice"),
    ({"roles": {"score": {"a": "a", "b": "b"}}}, RequestError, "groups= is for one score"),
    ({"roles": {"where": "area = 's'"}}, DataError, "no value but 's'; two groups are compared"),
    ({"test": "mcnemar"}, RequestError, "does not fit accuracy of different rows"),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG, ids=[str(e[0]) for e in WRONG])
def test_what_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compare(**options)


def test_the_command(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    ROWS.write_parquet(path)
    call = ["compare", path, "--label", "y", "--score", "a", "--groups", "area", "-m", "accuracy"]
    rows = json.loads(run(*call, "--format", "json").stdout)
    assert [row["p_adjusted"] for row in rows] == pytest.approx(compare()["p_adjusted"].to_list())
    sentences = run(*call).stdout.splitlines()[-3:]
    texts = [f"accuracy of {area}: no evidence of a difference" for area in AREAS]
    assert [sentence.partition(" [")[0] for sentence in sentences] == texts
    done = run(*call, "--leaderboard", code=2)
    assert "--groups" in done.stderr


def test_two_groups_are_one_comparison() -> None:
    rows = pl.DataFrame(
        {"y": [0, 1, 0, 1, 1, 1] * 20, "p": [0.1, 0.8, 0.6, 0.4, 0.9, 0.7] * 20}
    ).with_columns(g=pl.Series(["a", "a", "a", "a", "c", "c"] * 20))
    scan = sqleval.scan(rows, label="y", score="p", over="g")
    compared = sqleval.scan(rows, label="y", score="p").compare("recall", groups="g").collect()
    assert compared["model"].to_list() == ["a"]
    assert compared["p_adjusted"].to_list() == compared["p_value"].to_list()
    # Only one of the groups has negatives: its value alone is no difference of 0.
    for text in ("false_positive_rate(reduce='difference')", "specificity(reduce='ratio')"):
        alone = scan.evaluate(text).collect()
        assert alone["value"].item() is None
        assert alone["note"].item() == "defined for one group only"


def test_the_interval_of_a_difference_keeps_to_its_range() -> None:
    rows = pl.DataFrame({"y": [1] * 43, "p": ([0.9, 0.2] * 20) + [0.9, 0.1, 0.1]}).with_columns(
        g=pl.Series(["a"] * 40 + ["b", "c", "c"])
    )
    scan = sqleval.scan(rows, label="y", score="p", over="g")
    row = scan.evaluate("recall(reduce='difference')", ci=0.95).collect().row(0, named=True)
    assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1


def test_a_cluster_with_rows_of_two_groups_is_drawn_whole() -> None:
    rng = np.random.default_rng(5)
    effect = np.repeat(rng.normal(size=30), 16)
    rows = pl.DataFrame(
        {"u": np.repeat(np.arange(30), 16), "g": ["a", "b"] * 240, "y": [1] * 480}
    ).with_columns(p=pl.Series((effect + rng.normal(size=480) > 0).astype(int)))
    scan = sqleval.scan(rows, label="y", prediction="p")
    tests = ("jackknife", "bootstrap")
    widths: list[float] = []
    for test in tests:
        options: dict[str, Any] = {"groups": "g", "cluster": "u", "test": test}
        row = scan.compare("accuracy", **options).collect().row(0, named=True)
        widths.append(row["high"] - row["low"])
    # Drawn for each side by itself, clusters would give an interval more than twice as wide.
    assert widths[1] == pytest.approx(widths[0], rel=0.15)


def test_a_key_called_model_is_refused() -> None:
    scan = sqleval.scan(ROWS.with_columns(model="area"), label="y", score="a", by="model")
    with pytest.raises(RequestError, match="model"):
        scan.compare("accuracy", groups="g")
