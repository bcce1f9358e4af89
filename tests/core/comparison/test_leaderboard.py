"""Models by rank: against `compare` with the best as baseline, ties, and undefined slices."""

from functools import cache
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from statsmodels.stats.multitest import multipletests

import sqleval
from sqleval import RequestError
from sqleval.cli.main import sqleval as command
from tests.support.comparison import assert_frame_equal

from .data import LONG, MODELS, ROWS, compare

METRICS = ["roc_auc", "log_loss", "f1"]


def rank(source: Any = ROWS, metrics: Any = METRICS, scan: Any = None, **options: Any) -> Any:
    roles = {"label": "y", "score": MODELS} | (scan or {})
    lazy = sqleval.scan(source, **roles).leaderboard(metrics, **{"replicates": 100} | options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    assert found["verdict"].null_count() == 0
    return found


def test_each_row_is_that_of_a_comparison_with_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", lambda: 0)  # statsmodels collects garbage at each call
    compare_slices = cache(
        lambda metric, best: compare(ROWS, metric, {"by": "g"}, baseline=best, adjust=None)
    )
    found = rank(scan={"by": "g"})
    values = sqleval.scan(ROWS, label="y", score=MODELS, by="g").evaluate(METRICS).collect()
    for (g, metric), part in found.group_by("g", "metric", maintain_order=True):
        expected = values.filter(pl.col("g").eq_missing(pl.lit(g)) & (pl.col("metric") == metric))
        expected = expected.sort("value", descending=metric != "log_loss")
        assert part["model"].to_list() == expected["model"].to_list()
        assert part["value"].to_list() == pytest.approx(expected["value"].to_list())
        assert part["rank"].to_list() == [1, 2, 3]
        best = part["model"][0]
        single = compare_slices(metric, best).filter(pl.col("g").eq_missing(pl.lit(g)))
        columns = ["model", "difference", "low", "high", "p_value", "method"]
        others = part.filter(pl.col("model") != best)
        assert_frame_equal(others.select(columns), single.select(columns), check_row_order=False)
        adjusted = multipletests(others["p_value"], method="holm")[1]
        assert others["p_adjusted"].to_list() == pytest.approx(adjusted.tolist())
        assert others["is_tied"].to_list() == (adjusted >= 0.05).tolist()
        assert part["is_tied"][0] is bool((adjusted >= 0.05).any())


def test_order_of_rows_and_equal_models() -> None:
    rows = ROWS.with_columns(c="a")
    found = rank(rows, "roc_auc")
    equal = found.filter(pl.col("model") != "b")
    assert equal["rank"].to_list() == [1, 1]
    assert equal["model"].to_list() == ["a", "c"]
    assert equal["is_tied"].to_list() == [True, True]
    assert equal["verdict"].to_list() == ["best, with ties", "equal to a"]
    assert equal["note"][1].startswith("no test")
    shuffled = rank(rows.sample(fraction=1, shuffle=True, seed=2), "roc_auc")
    assert_frame_equal(shuffled, found)
    assert found["metric"].to_list() == ["roc_auc"] * 3
    metrics = rank(rows)["metric"].to_list()
    assert metrics == ["roc_auc"] * 3 + ["log_loss"] * 3 + ["f1"] * 3


def test_long_tables_folds_and_undefined_slices() -> None:
    long = rank(LONG, "roc_auc", {"score": "p"}, model="m", key="k")
    assert_frame_equal(long, rank(ROWS, "roc_auc"))
    over = {"over": "fold"}
    folds = rank(ROWS, "roc_auc(average='macro')", over, test="corrected_t")
    assert folds["method"][1] == "corrected resampled t-test over folds"
    # Models are ranked by the value over all rows; the test compares means over folds.
    with pytest.raises(RequestError, match="name an average"):
        rank(ROWS, "roc_auc", over, test="corrected_t")
    pooled = rank(ROWS, "roc_auc", over)["note"].to_list()
    assert pooled == ["pooled over 6 folds"] * 3
    positive = ROWS.filter(pl.col("y") == 1).with_columns(g=pl.lit("one class"))
    found = rank(pl.concat([ROWS, positive]), "roc_auc", {"by": "g"})
    one = found.filter(pl.col("g") == "one class")
    assert one["verdict"].to_list() == ["no value"] * 3
    assert one["note"].to_list() == ["no negative labels"] * 3
    assert one["rank"].null_count() == 3
    assert rank(ROWS.clear(), "roc_auc")["note"].to_list() == ["no rows"] * 3


@pytest.mark.parametrize(("metrics", "scan", "message"), [
    ("prevalence", {}, "prevalence: neither higher nor lower is better"),
    ("roc_auc", {"score": "a"}, "two models are needed"),
    ("roc_auc", {"by": "rank"}, "by='rank': a comparison has a column of that name"),
])  # fmt: skip
def test_wrong_input(metrics: str, scan: dict[str, Any], message: str) -> None:
    roles = {"label": "y", "score": MODELS} | scan
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS.with_columns(rank="y"), **roles).leaderboard(metrics)


def test_the_command_ranks(tmp_path: Any) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.write_parquet(path)
    call = ["compare", str(path), "--label", "y", "--score", "a=a", "--score", "b=b"]
    result = CliRunner().invoke(command, [*call, "--leaderboard", "-m", "roc_auc"])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[1].split()[:3] == ["roc_auc", "1", "a"]
    result = CliRunner().invoke(command, [*call, "--leaderboard", "--baseline", "a"])
    assert result.exit_code == 2
    assert "--leaderboard compares with the best; leave out --baseline" in result.output


def test_models_are_ranked_by_the_default_metrics_with_a_direction() -> None:
    found = rank(metrics=None, scan={"score": {"a": "a", "b": "b"}})
    default = sqleval.scan(ROWS, label="y", score="a").evaluate().collect()["metric"].to_list()
    assert "prevalence" in default
    expected = [name for name in default if name != "prevalence"]
    assert found["metric"].unique(maintain_order=True).to_list() == expected
    assert found["rank"].to_list() == [1, 2] * len(expected)
    with pytest.raises(RequestError, match="prevalence: neither higher nor lower"):
        rank(metrics="prevalence")
