"""Calibration: published and foreign values, edges, intervals, states, other engines."""

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.special import logit

import sqleval
from sqleval import RequestError

#: Scores and labels that are not calibrated, without ties of scores.
RNG = np.random.default_rng(57)
P = np.round(RNG.permutation(np.linspace(0.02, 0.98, 240)), 4)
Y = (RNG.random(240) < P**2).astype(int)
ROWS = pl.DataFrame({"y": Y, "p": P, "w": RNG.random(240) + 0.5, "g": np.arange(240) % 3})
FITTED = ["logistic_calibration_slope", "logistic_calibration_intercept"]


def evaluate(rows: pl.DataFrame, metric: str, **options: object) -> dict[str, object]:
    scan = sqleval.scan(rows, label="y", score="p", **options)
    (row,) = scan.evaluate(metric).collect().to_dicts()
    return row


def fit(rows: pl.DataFrame, metric: str) -> tuple[float, float]:
    """Return the value and the standard error of statsmodels."""
    x = logit(rows["p"].to_numpy())
    has_slope = metric == FITTED[0]
    model = sm.GLM(
        rows["y"].to_numpy(),
        sm.add_constant(x) if has_slope else np.ones(len(x)),
        family=sm.families.Binomial(),
        offset=None if has_slope else x,
    ).fit(tol=1e-14, cov_type="HC0")
    return model.params[-1], model.bse[-1]


@pytest.mark.parametrize("metric", FITTED)
def test_intervals_of_a_fit_are_those_of_statsmodels(metric: str) -> None:
    scan = sqleval.scan(ROWS, label="y", score="p", by="g")
    for row in scan.evaluate(metric, ci=0.95).collect().to_dicts():
        value, error = fit(ROWS.filter(g=row["g"]), metric)
        expected = value, value - 1.959963984540054 * error, value + 1.959963984540054 * error
        assert (row["value"], row["low"], row["high"]) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("metric", FITTED)
def test_counts_are_rows_and_a_factor_of_the_weights_does_not_matter(metric: str) -> None:
    counted = ROWS.with_columns(n=pl.int_range(pl.len()) % 4)
    lists = counted.select(pl.all().repeat_by("n"))
    repeated = lists.explode("y", "p", "n", empty_as_null=False)
    by_count = sqleval.scan(counted, label="y", score="p", counts="n")
    by_row = sqleval.scan(repeated, label="y", score="p")
    ends = pl.col("value", "low", "high")
    found, expected = (
        s.evaluate(metric, ci=0.9).collect().select(ends) for s in (by_count, by_row)
    )
    assert found.row(0) == pytest.approx(expected.row(0), rel=1e-9)
    once, tenfold = (
        sqleval.scan(rows, label="y", score="p", weight="w").evaluate(metric, ci=0.9).collect()
        for rows in (ROWS, ROWS.with_columns(pl.col("w") * 10))
    )
    assert once.select(ends).row(0) == pytest.approx(tenfold.select(ends).row(0), rel=1e-9)


@pytest.mark.parametrize("sharpness", [0.01, 0.2, 5.0, 40.0])
def test_a_fit_converges_from_far_away(sharpness: float) -> None:
    """Probabilities whose slope is 1 / sharpness; the most extreme ones differ from 1 by 1e-15."""
    x = np.clip(sharpness * logit(P), -34, 34)
    rows = ROWS.with_columns(p=1 / (1 + np.exp(-x)))
    for metric in FITTED:
        assert evaluate(rows, metric)["value"] == pytest.approx(fit(rows, metric)[0], rel=1e-6)


@pytest.mark.parametrize(
    ("labels", "scores", "slope", "intercept"),
    [
        ([0, 1, 1], [0.2, 0.0, 0.7], "a probability is 0 or 1", "a probability is 0 or 1"),
        ([1, 1, 1], [0.2, 0.3, 0.7], "no negative labels", "no negative labels"),
        ([0, 0, 0], [0.2, 0.3, 0.7], "no positive labels", "no positive labels"),
        ([0, 1, 1], [0.2, 0.2, 0.2], "all probabilities are equal", None),
        ([0, 0, 1], [0.2, 0.3, 0.7], "the probabilities separate the classes", None),
        ([0, 1, 1], [0.3, 0.3, 0.7], "the probabilities separate the classes", None),
        ([1, 1, 0], [0.2, 0.3, 0.7], "the probabilities separate the classes", None),
    ],
)
def test_an_undefined_fit_says_why(
    labels: list[int], scores: list[float], slope: str, intercept: str | None
) -> None:
    rows = pl.DataFrame({"y": labels, "p": scores})
    for metric, note in zip(FITTED, (slope, intercept), strict=True):
        row = evaluate(rows, metric)
        assert (row["value"] is None) == (note is not None)
        assert str(row["note"] or "").startswith(note or "")


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        # pycaleva 0.8
        ("spiegelhalter_z", -0.5095931610713079),
        ("hosmer_lemeshow", 31.13259139589566),
        ("maximum_calibration_error(strategy='quantile')", 0.33986666666666665),
        ("expected_calibration_error(strategy='quantile')", 0.13464000000000004),
        # uncertainty-calibration 0.1.4, the package of Kumar, Liang and Ma
        ("debiased_calibration_error", 0.13516326004235685),
    ],
)
def test_values_of_other_packages(metric: str, value: float) -> None:
    assert evaluate(ROWS, metric)["value"] == pytest.approx(value, rel=1e-12)


def test_z_is_standard_normal_if_the_probabilities_are_right() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    rows = pl.DataFrame({"y": (rng.random(200_000) < p).astype(int), "p": p})
    rows = rows.with_columns(g=pl.int_range(pl.len()) % 1000)
    scan = sqleval.scan(rows, label="y", score="p", by="g")
    z = scan.evaluate("spiegelhalter_z").collect()["value"].to_numpy()
    assert abs(z.mean()) < 0.12
    assert z.std() == pytest.approx(1, abs=0.08)
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.05, abs=0.025)


def test_the_debiased_error_of_right_probabilities_is_smaller() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(50_000)
    rows = pl.DataFrame({"y": (rng.random(50_000) < p).astype(int), "p": p})
    rows = rows.with_columns(g=pl.int_range(pl.len()) % 100)
    scan = sqleval.scan(rows, label="y", score="p", by="g")
    found = scan.evaluate(["debiased_calibration_error", "expected_calibration_error"]).collect()
    debiased, biased = (part["value"].mean() for part in found.partition_by("metric"))
    assert debiased < 0.5 * biased


def test_sums_of_bins_are_kept_in_states_and_a_fit_is_not() -> None:
    scan = sqleval.scan(ROWS, label="y", score="p")
    metrics = ["spiegelhalter_z", "maximum_calibration_error", "debiased_calibration_error"]
    back = sqleval.from_state(scan.state(metrics).collect()).evaluate(metrics).collect()
    exact = scan.evaluate(metrics).collect()
    assert back["value"].to_list() == pytest.approx(exact["value"].to_list(), rel=1e-12)
    for metric in (*FITTED, "hosmer_lemeshow"):
        with pytest.raises(RequestError, match="needs every score"):
            scan.state(metric)


def test_expected_over_observed_by_decile() -> None:
    curve = sqleval.scan(ROWS, label="y", score="p").curve("expected_observed").collect()
    assert curve["bin"].to_list() == [*range(1, 11)]
    assert curve["n"].sum() == 240
    assert curve["observed"].sum() == Y.sum()
    assert curve["expected"].sum() == pytest.approx(P.sum())
    inside = (curve["ratio_low"] <= curve["ratio"]) & (curve["ratio"] <= curve["ratio_high"])
    assert inside.drop_nulls().all()
