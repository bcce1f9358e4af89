"""Sample sizes from rows and states, against statsmodels, formulas and a simulation."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import samplesize_proportions_2indep_onetail

import sqleval
from sqleval import RequestError
from sqleval.cli.main import sqleval as command
from tests.support.references import compute_delong

from .data import ROWS

TWO = {"a": "a", "b": "b"}


def plan(source: Any = ROWS, metrics: Any = "roc_auc", scan: Any = None, **options: Any) -> Any:
    roles = {"label": "y", "score": TWO} | (scan or {})
    call = {"replicates": 100, "difference": 0.02} | options
    lazy = sqleval.scan(source, **roles).sample_size(metrics, **call)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    return found


def find_rows(deviation: float, difference: float, power: float, alternative: str) -> int:
    solved = NormalIndPower(ddof=0).solve_power(
        difference / deviation, alpha=0.05, power=power, ratio=0,
        alternative={"two-sided": "two-sided", "greater": "larger"}[alternative],
    )  # fmt: skip
    return int(np.ceil(solved))


@pytest.mark.parametrize(("power", "alternative"), [(0.8, "two-sided"), (0.9, "greater")])
def test_rows_follow_from_the_standard_error(power: float, alternative: str) -> None:
    metrics = ["roc_auc", "log_loss", "accuracy"]
    found = plan(metrics=metrics, power=power, alternative=alternative)
    label, a, b = (ROWS[name].to_numpy() for name in ("y", "a", "b"))
    _, covariance = compute_delong(label, np.array([b, a]))
    n = len(label)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    losses = [-np.log(np.where(label == 1, p, 1 - p)) for p in (b, a)]
    right = [((p >= 0.5) == label).astype(float) for p in (b, a)]
    deviations = [
        np.sqrt(variance * n), np.std(losses[0] - losses[1], ddof=1), np.std(right[0] - right[1])
    ]  # fmt: skip
    expected = [find_rows(each, 0.02, power, alternative) for each in deviations]
    assert found["rows_needed"].to_list() == expected
    tail = 0.05 if alternative == "greater" else 0.025
    quantiles = stats.norm.isf(tail) + stats.norm.ppf(power)
    detectable = [quantiles * each / np.sqrt(n) for each in deviations]
    assert found["detectable_difference"].to_list() == pytest.approx(detectable)
    assert found["n"].to_list() == [n] * 3


def test_the_rows_needed_have_the_power() -> None:
    rng = np.random.default_rng(0)

    def draw(n: int) -> pl.DataFrame:
        label = rng.random(n) < 0.3
        right = rng.random((n, 2)) < [0.80, 0.77]
        return pl.DataFrame(
            {"y": label, "a": np.where(right[:, 1], label, ~label),
             "b": np.where(right[:, 0], label, ~label)}
        )  # fmt: skip

    roles: dict[str, Any] = {"label": "y", "prediction": TWO}
    pilot = sqleval.scan(draw(20_000), **roles)
    (needed,) = pilot.sample_size("accuracy", difference=0.03).collect()["rows_needed"]
    runs = 400
    rows = draw(needed * runs).with_columns(run=pl.int_range(pl.len()) // needed)
    tests = sqleval.scan(rows, **roles, by="run").compare("accuracy", adjust=None).collect()
    assert tests.height == runs
    # McNemar's correction costs a little power.
    assert 0.72 < (tests["p_value"] < 0.05).mean() < 0.86


def test_one_model_and_a_like_one_of_different_rows() -> None:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 4000)
    rows = pl.DataFrame({"y": label, "p": np.where(rng.random(4000) < 0.8, label, 1 - label)})
    scan = {"score": None, "prediction": "p"}
    found = plan(rows, "accuracy", scan, replicates=1000)
    accuracy = float((rows["p"] == rows["y"]).mean())
    expected = samplesize_proportions_2indep_onetail(0.02, accuracy, 0.8)
    assert found["method"].item() == "binomial; two models alike, different rows"
    # The formula uses the rates of both hypotheses; the code uses one.
    assert found["rows_needed"].item() == pytest.approx(expected, rel=0.05)
    by_hand = find_rows(np.sqrt(2 * accuracy * (1 - accuracy)), 0.02, 0.8, "two-sided")
    assert found["rows_needed"].item() == by_hand
    assert found["model"].item() is None
    correlated = plan(rows, "accuracy", scan, replicates=1000, correlation=0.75)
    ratio = correlated["rows_needed"].item() / found["rows_needed"].item()
    assert ratio == pytest.approx(0.25, abs=1e-3)
    state = sqleval.scan(rows, label="y", prediction="p").state("accuracy").collect()
    of_state = sqleval.from_state(state).sample_size("accuracy", difference=0.02).collect()
    assert of_state["rows_needed"].item() == pytest.approx(expected, rel=0.2)


def test_one_model_by_formula_and_by_replicates() -> None:
    metrics = ["ks", "roc_auc", "log_loss", "f1"]
    found = plan(ROWS, metrics, {"score": "a", "by": "g"}, difference=0.05)
    assert found["metric"].to_list() == metrics * 3
    assert found["method"].to_list()[:4] == [
        f"{how}; two models alike, different rows"
        for how in ("bootstrap, 100 replicates", "delong", "normal", "delta method")
    ]  # fmt: skip
    part = ROWS.filter(g="s")
    label, score = part["y"].to_numpy(), part["a"].to_numpy()
    _, covariance = compute_delong(label, score[np.newaxis])
    losses = -np.log(np.where(label == 1, score, 1 - score))
    deviations = [np.sqrt(2 * np.ravel(covariance)[0] * part.height),
        np.sqrt(2) * np.std(losses, ddof=1)]  # fmt: skip
    rows = found.filter(g="s")["rows_needed"].to_list()
    assert rows[1:3] == [find_rows(each, 0.05, 0.8, "two-sided") for each in deviations]
    # With weights, the bootstrap.
    weighted = plan(ROWS, "roc_auc", {"score": "a", "weight": "w"})
    assert weighted["method"].item().startswith("bootstrap")


def test_auc_of_a_state() -> None:
    state = sqleval.scan(ROWS, label="y", score="a").state("roc_auc").collect()
    found = sqleval.from_state(state).sample_size("roc_auc", difference=0.02).collect()
    _, covariance = compute_delong(ROWS["y"].to_numpy(), ROWS["a"].to_numpy()[np.newaxis])
    stderr = np.sqrt(2 * np.ravel(covariance)[0])
    expected = (stats.norm.isf(0.025) + stats.norm.ppf(0.8)) * stderr
    assert found["detectable_difference"].item() == pytest.approx(expected, rel=0.1)


def test_undefined_slices_and_tests_without_a_standard_error() -> None:
    positive = ROWS.filter(pl.col("y") == 1).with_columns(g=pl.lit("one class"))
    found = plan(pl.concat([ROWS, positive]), "roc_auc", {"by": "g"})
    one = found.filter(pl.col("g") == "one class")
    assert one.select("rows_needed", "detectable_difference", "note").row(0) == (
        None, None, "no negative labels",
    )  # fmt: skip
    assert found["rows_needed"].null_count() == 1
    ranks = plan(metrics="log_loss", test="wilcoxon")
    assert ranks["note"].item() == "no sample size: the difference has no standard error"
    assert plan(difference=None)["rows_needed"].item() is None
    many = plan(difference=1e-9)
    assert (many["rows_needed"].item(), many["note"].item()) == (
        None, "more than 1e+15 rows are needed",
    )  # fmt: skip
    assert plan(ROWS.clear())["note"].item() == "no rows"
    single = plan(positive, "roc_auc", {"score": "a"})
    assert single["note"].item() == "no negative labels"


@pytest.mark.parametrize(("scan", "options", "message"), [
    ({}, {"power": 80}, "power=80"),
    ({}, {"difference": 0}, "difference=0 must be a number above 0"),
    ({}, {"difference": "0.01"}, "difference='0.01' must be a number above 0"),
    ({}, {"difference": True}, "difference=True must be a number above 0"),
    ({}, {"power": "0.8"}, "power='0.8'"),
    ({}, {"ci": None}, "ci=None: a comparison needs a level"),
    ({}, {"correlation": 0.5}, "correlation= is for one model"),
    ({"score": "a"}, {"correlation": 1}, "correlation=1 must lie between -1 and 1"),
    ({"score": "a"}, {"correlation": "a"}, "correlation='a' must lie between -1 and 1"),
    ({"score": "a"}, {"baseline": "a"}, "baseline= and test= are for several models"),
    ({"score": "a"}, {"metrics": "ks", "replicates": 0}, "ks: the standard error of one model"),
    ({"by": "method"}, {}, "by='method'"),
    ({}, {"power": 0.03}, r"power=0.03 must be above 0.05, the share of tests"),
])  # fmt: skip
def test_wrong_options(scan: dict[str, Any], options: dict[str, Any], message: str) -> None:
    roles = {"label": "y", "score": TWO} | scan
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS.with_columns(method="g"), **roles).sample_size(
            **{"metrics": "roc_auc"} | options
        )


def test_a_stream_of_labels_is_refused() -> None:
    labels = ROWS.select("k", "y").to_arrow().to_reader()
    bound = sqleval.scan(ROWS.drop("y"), label="y", score="a", labels=labels, on="k")
    with pytest.raises(RequestError, match="collect the stream first"):
        bound.sample_size("roc_auc")


def test_the_command(tmp_path: Any) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.write_parquet(path)
    call = ["sample-size", str(path), "--label", "y", "--score", "a=a", "--score", "b=b"]
    result = CliRunner().invoke(
        command, [*call, "-m", "roc_auc", "--difference", "0.02", "--format", "json"]
    )
    assert result.exit_code == 0, result.output
    assert f'"rows_needed":{plan()["rows_needed"].item()}' in result.output.replace(" ", "")
