"""Score bins: their bounds contain the exact value and are as narrow as promised."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import DataError, RequestError
from sqleval.catalog import builtin
from sqleval.sources.source import Source

#: Every metric that depends on the order of the scores, and some that do not.
RANKED = [
    "roc_auc", "average_precision", "ks", "gini", "rank_loss", "roc_auc_trapezoid",
    "roc_auc_rank_sum", "partial_roc_auc(max_fpr=0.3)", "pr_auc_trapezoid", "pr_auc_interpolated",
    "break_even_point", "best_accuracy", "best_f_beta", "best_youden_j", "precision_at_recall",
    "recall_at_precision", "best_expected_cost(cost_fn=3.0)", "best_expected_cost(prior=0.2)",
    "cost_curve_area", "equal_error_rate",
]  # fmt: skip
PLACES = [
    "best_accuracy_threshold", "best_f_beta_threshold", "best_youden_j_threshold",
    "break_even_threshold", "precision_at_recall_threshold", "recall_at_precision_threshold",
    "best_expected_cost_threshold(cost_fn=3.0)",
]  # fmt: skip
EXACT = [
    "log_loss", "brier_score", "prevalence", "precision(threshold=0.4)", "f1(threshold=0.6)",
    "matthews_corrcoef(threshold=0.4)", "cohen_kappa", "normalized_entropy", "pcoc",
    "brier_uncertainty", "expected_calibration_error", "expected_calibration_error(bins=7)",
    "no_information_brier_score", "no_information_error_rate", "balanced_accuracy",
    "expected_cost(cost_fn=2.0)",
]  # fmt: skip


def close(found: float | None, expected: float | None, tolerance: float) -> None:
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


def drawn(rng: np.random.Generator, kind: int, n: int) -> np.ndarray[Any, Any]:
    """Return scores with ties or skew, or subnormal, negative, zero (+0, -0) or huge scores."""
    return (
        lambda: rng.normal(20, 2, size=n),
        lambda: np.round(rng.random(n) + 0.4, 1),
        lambda: rng.integers(17, 40, n) * 5e-324,
        lambda: rng.choice([-1, 1], n) * 10.0 ** rng.uniform(307, 308, n),
        lambda: 0.5 + rng.random(n) * 1e-3,
        lambda: rng.choice([0.0, -0.0, 1e-310, -1.1e-310, 0.1, 0.11, -0.1, -0.12], n),
        lambda: 0.3 + rng.random(n) ** 4,
    )[kind]()


def sets(seed: int, count: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frames: list[pl.DataFrame] = []
    for number in range(count):
        n = int(rng.choice([2, 5, 40, 80, 80]))
        frames.append(
            pl.DataFrame(
                {
                    "set": np.full(n, number),
                    "y": (rng.random(n) < rng.choice([0.2, 0.5, 0.9])).astype(int),
                    "p": drawn(rng, int(rng.integers(7)), n),
                    "w": rng.choice([0.0, 0.5, 1.0, 2.5], n),
                }
            )
        )
    return pl.concat(frames)


def beside(exact: pl.DataFrame, binned: pl.DataFrame) -> pl.DataFrame:
    keys = [name for name in exact.columns if name in ("set", "metric")]
    return exact.select(*keys, exact="value").join(binned, on=keys, validate="1:1")


@pytest.mark.parametrize(("weight", "bits"), [(None, 1), ("w", 3)])
def test_the_exact_value_is_inside_every_bound(weight: str | None, bits: int) -> None:
    frame = sets(7, 160)
    bound = sqleval.scan(frame, label="y", score="p", by="set", weight=weight)
    metrics = [*RANKED, *PLACES]
    exact = bound.evaluate(metrics).collect()
    # Half of the bins hold several scores with both classes.
    kept = frame.with_columns(bin=veltkamp(frame["p"].to_numpy(), 1)).group_by("set", "bin")
    mixed = kept.agg(mixed=(pl.col("y").n_unique() == 2) & (pl.col("p").n_unique() > 1))
    assert mixed["mixed"].mean() > 0.5  # type: ignore[operator]
    # The statement holds the width of bins, which weights do not change.
    both = beside(exact, bound.evaluate(metrics, bins=bits).collect())
    outside = (pl.col("exact") < pl.col("low")) | (pl.col("exact") > pl.col("high"))
    unknown = pl.col("exact").is_not_null() & (pl.col("low").is_null() | pl.col("high").is_null())
    wrong = both.filter(outside | unknown)
    assert wrong.is_empty(), wrong
    assert both.height == 160 * len(metrics)
    open_ = both.filter(pl.col("high") - pl.col("low") > 1e-9)
    assert open_["metric"].n_unique() == len(metrics)


def veltkamp(scores: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Round to significant bits in another way: by mantissa and exponent."""
    mantissa, exponent = np.frexp(scores)
    return np.ldexp(np.round(mantissa * 2**bits), exponent - bits)


def arranged(
    frame: pl.DataFrame, bits: int, orders: dict[float, int]
) -> Iterator[tuple[int, float]]:
    """Yield label and score with a bin's positives (1) or negatives (0) put on top of it."""
    scores = frame["p"].to_numpy()
    bins = veltkamp(scores, bits)
    for label, score, bin_ in zip(frame["y"], scores, bins, strict=True):
        inside = scores[bins == bin_]
        first = orders.get(float(bin_))
        if first is None or inside.min() == inside.max():
            yield label, score
        else:
            yield label, inside.max() if label == first else inside.min()


def test_auc_and_ks_attain_their_bounds() -> None:
    rng = np.random.default_rng(3)
    frames: list[pl.DataFrame] = []
    expected: list[tuple[int, str, str]] = []
    originals: list[pl.DataFrame] = []
    for number in range(40):
        n = int(rng.integers(4, 20))
        frame = pl.DataFrame({"y": rng.integers(0, 2, n), "p": drawn(rng, number % 2, n)})
        if frame["y"].n_unique() < 2:
            continue
        originals.append(frame.with_columns(set=pl.lit(number)))
        bins = {float(each) for each in veltkamp(frame["p"].to_numpy(), 2)}
        arrangements = [dict.fromkeys(bins, 1), dict.fromkeys(bins, 0)]
        arrangements += [{each: first} for each in bins for first in (0, 1)]
        for orders in arrangements:
            rows = list(arranged(frame, 2, orders))
            made = pl.DataFrame(rows, schema={"y": pl.Int64, "p": pl.Float64}, orient="row")
            frames.append(made.with_columns(set=pl.lit(number), way=pl.lit(len(expected))))
            expected.append((number, "", ""))
    found = sqleval.scan(pl.concat(originals), label="y", score="p", by="set")
    bounds = found.evaluate(["roc_auc", "ks"], bins=2).collect()
    ways = sqleval.scan(pl.concat(frames), label="y", score="p", by=["set", "way"])
    best = (
        ways.evaluate(["roc_auc", "ks"])
        .collect()
        .group_by("set", "metric")
        .agg(least=pl.min("value"), most=pl.max("value"))
    )
    both = bounds.join(best, on=["set", "metric"], validate="1:1")
    assert both.filter(pl.col("high") - pl.col("low") > 0.01).height > 20
    assert (both["high"] - both["most"]).abs().max() < 1e-9  # type: ignore[operator]
    auc = both.filter(metric="roc_auc")
    assert (auc["low"] - auc["least"]).abs().max() < 1e-9  # type: ignore[operator]


SCORED = pl.DataFrame(
    {
        "y": np.random.default_rng(1).integers(0, 2, 3000),
        "p": np.clip(np.random.default_rng(2).normal(0.5, 0.25, 3000), 0, 1),
        "w": np.random.default_rng(3).choice([0.0, 0.5, 2.0], 3000),
        "g": np.arange(3000) % 7,
    }
)


@pytest.mark.parametrize(("by", "weight"), [((), None), ("g", "w")])
def test_sums_and_decisions_stay_exact(weight: str | None, by: Any) -> None:
    bound = sqleval.scan(SCORED, label="y", score="p", weight=weight, by=by)
    exact, binned = bound.evaluate(EXACT).collect(), bound.evaluate(EXACT, bins=2).collect()
    assert exact.select("metric", "n", "note").equals(binned.select("metric", "n", "note"))
    for one, other in zip(exact["value"], binned["value"], strict=True):
        close(other, one, 1e-12)
    # Sums are added in another order, and the bounds contain both values.
    for low, one, high in zip(binned["low"], exact["value"], binned["high"], strict=True):
        if one is not None:
            assert low <= one <= high <= low + 1e-11 * max(1, abs(one))


def test_an_interval_becomes_wider_by_the_bound() -> None:
    bound = sqleval.scan(SCORED, label="y", score="p")
    metrics = ["roc_auc", "precision", "brier_score", "log_loss"]
    plain, binned = (bound.evaluate(metrics, ci=0.95, bins=bits).collect() for bits in (None, 9))
    for one, other in zip(plain.iter_rows(named=True), binned.iter_rows(named=True), strict=True):
        ranked = one["metric"] == "roc_auc"
        assert (other["low"] < one["low"] - 1e-9) == ranked
        assert (other["high"] > one["high"] + 1e-9) == ranked
        close(other["low"], one["low"], 1e-2 if ranked else 1e-12)


def test_the_points_of_a_curve_are_points_of_the_exact_curve() -> None:
    bound = sqleval.scan(SCORED, label="y", score="p", by="g")
    for name in ("roc", "pr", "ks", "gain", "cost_lines"):
        every, some = bound.curve(name).collect(), bound.curve(name, bins=5).collect()
        assert 7 * 10 < some.height < every.height
        assert some.join(every, on=every.columns, how="anti", nulls_equal=True).is_empty()


@pytest.mark.parametrize("kind", range(7))
def test_a_tolerance_holds(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Like a source of over 200,000 rows, whose first 65,536 scores decide the plan and the bins.
    monkeypatch.setattr(Source, "is_large", True)
    rng = np.random.default_rng(kind)
    n = 70_000
    y = (rng.random(n) < 0.2).astype(np.int8)
    p = drawn(rng, kind, n) + (0.0 if kind in (2, 3, 5) else 0.3 * y)
    frame = pl.DataFrame({"y": y, "p": p})
    metrics = ["roc_auc", "average_precision", "ks", "gini", "pr_auc_trapezoid", "best_youden_j"]
    bound = sqleval.scan(frame, label="y", score="p")
    exact = bound.evaluate(metrics).collect()
    # The first kind is tested with both, every other kind with one of them in turn.
    for tolerance in (1e-2, 1e-4) if kind == 0 else ((1e-4, 1e-2)[kind % 2],):
        found = bound.evaluate(metrics, tolerance=tolerance).collect()
        # Metrics without bounds are exact by another plan, which adds sums in another order.
        both = beside(exact, found).with_columns(
            low=pl.col("low").fill_null(pl.col("value") - 1e-12),
            high=pl.col("high").fill_null(pl.col("value") + 1e-12),
        )
        assert both.filter(pl.col("exact").is_between("low", "high")).height == len(metrics), both
        assert both.filter(pl.col("high") - pl.col("low") > tolerance).is_empty(), both
    # Alone with the last of them.
    alone = bound.evaluate("roc_auc", tolerance=tolerance).collect().row(0, named=True)
    if alone["method"] == "groups":
        close(alone["value"], exact["value"][0], 1e-12)
    else:
        assert alone["low"] <= exact["value"][0] <= alone["high"] <= alone["low"] + tolerance


@pytest.mark.parametrize("unit", [1e-6, 1e8, 1e17])
def test_a_tolerance_does_not_depend_on_the_unit_of_the_scores(unit: float) -> None:
    rng = np.random.default_rng(4)
    y = rng.random(201_000) < 0.5
    frame = pl.DataFrame({"y": y, "p": (rng.standard_normal(len(y)) + y) * unit})
    found = sqleval.scan(frame, label="y", score="p").evaluate("roc_auc", tolerance=1e-2).collect()
    row = found.row(0, named=True)
    assert "bins within" in row["method"]
    assert row["low"] <= roc_auc_score(y, frame["p"]) <= row["high"] <= row["low"] + 1e-2


def test_a_tolerance_holds_where_most_rows_are_left_out() -> None:
    rng = np.random.default_rng(3)
    n = 60_000
    y = (rng.random(n) < 0.1).astype(float)
    p = 1 / (1 + np.exp(-(y + rng.standard_normal(n) * 1.5 - 1)))
    known = [None if gone else int(v) for gone, v in zip(rng.random(n) < 0.9, y, strict=True)]
    bound = sqleval.scan(pl.DataFrame({"y": known, "p": p}), label="y", score="p", nulls="drop")
    for tolerance in (1e-3, 1e-4):
        found = bound.evaluate(["average_precision", "ks"], tolerance=tolerance).collect()
        assert ((found["high"] - found["low"]) <= tolerance).all()


def test_roles_have_bins_of_their_own() -> None:
    frame = SCORED.with_columns(role=pl.Series(["train", "test"] * 1500))
    bound = sqleval.scan(frame, label="y", score="p", role="role")
    exact, binned = (bound.evaluate("roc_auc", bins=bits).collect() for bits in (None, 25))
    for one, other in zip(exact["value"], binned["value"], strict=True):
        close(other, one, 1e-5)


def test_scores_beyond_the_first_ones_have_bins_too() -> None:
    rng = np.random.default_rng(0)
    n = 300_000
    y = (rng.random(n) < 0.2).astype(np.int8)
    p = rng.random(n)
    p[200_000:] += 5
    p[-3:] = [np.inf, -np.inf, 1e300]
    bound = sqleval.scan(pl.DataFrame({"y": y, "p": p}), label="y", score="p")
    found = bound.evaluate("roc_auc", tolerance=1e-3).collect().row(0, named=True)
    exact = bound.evaluate("roc_auc").collect()["value"].item()
    assert found["low"] <= exact <= found["high"] <= found["low"] + 1e-3


def test_a_tolerance_that_bins_cannot_keep_is_exact() -> None:
    bound = sqleval.scan(SCORED, label="y", score="p")
    for metrics, tolerance in ((["roc_auc", "best_f_beta"], 1e-3), (["roc_auc"], 1e-7)):
        found = bound.evaluate(metrics, tolerance=tolerance).collect()
        assert found.equals(bound.evaluate(metrics).collect())


def test_values_that_bins_cannot_decide_have_a_note() -> None:
    frame = pl.DataFrame({"y": [1, 0], "p": [0.50001, 0.5]})
    metrics = ["recall_at_precision", "recall_at_precision_threshold"]
    bound = sqleval.scan(frame, label="y", score="p")
    found = bound.evaluate(metrics, bins=2).collect()
    assert found.select("value", "low", "high", "note").rows() == [
        (None, 0, 1, "bins leave open whether it is defined"),
        (None, 0.5, 0.50001, "bins leave open whether it is defined"),
    ]
    assert bound.evaluate(metrics).collect()["value"].to_list() == [1, 0.50001]


FLAWED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"p": [0.1, None, 0.3, float("nan")]}, {}, "score='p' is NULL or NaN in 2 of 4 rows"),
    ({"y": [0, 1, 2, 1]}, {}, "label='y' must hold 0 and 1"),
    ({"y": [0, 1, None, 1]}, {}, "label='y' is NULL or NaN in 1 of 4 rows"),
    ({"w": [1.0, -1.0, 1.0, 1.0]}, {"weight": "w"}, "weight='w' is negative in 1 of 4 rows"),
    ({"w": [1e-200] * 4}, {"weight": "w"}, "it must be in 1e-100 .. 1e100"),
    ({"w": [1.0, None, 1.0, float("inf")]}, {"weight": "w"}, "infinite in 2 of 4 rows"),
    ({"p": [0.1, 1.0000001, 0.3, -1e-9]}, {}, "outside in 2 of 4 rows"),
]


@pytest.mark.parametrize(
    ("columns", "roles", "message"), FLAWED, ids=[message for *_, message in FLAWED]
)
@pytest.mark.parametrize("how", [{"bins": 3}, {"tolerance": 1e-2}], ids=["bins", "tolerance"])
def test_the_audit_sees_every_row(
    columns: dict[str, Any], roles: dict[str, Any], message: str, how: dict[str, Any]
) -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.2, 0.3, 0.4], **columns})
    metrics = ["roc_auc", "log_loss"]
    bound = sqleval.scan(frame, label="y", score="p", **roles)
    with pytest.raises(DataError, match=message):
        bound.evaluate(metrics, **how).collect()
    if "NULL" in message:
        dropped = sqleval.scan(frame, label="y", score="p", nulls="drop", **roles)
        exact = dropped.evaluate(metrics).collect()
        binned = dropped.evaluate(metrics, **how).collect()
        assert binned.select("n", "n_dropped").equals(exact.select("n", "n_dropped"))
        close(binned["value"][1], exact["value"][1], 1e-12)


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one(rows: int) -> None:
    bound = sqleval.scan(SCORED.head(rows), label="y", score="p")
    metrics = [*RANKED, *PLACES, *EXACT]
    exact, binned = bound.evaluate(metrics).collect(), bound.evaluate(metrics, bins=4).collect()
    assert exact.select("metric", "value", "n", "note").equals(
        binned.select("metric", "value", "n", "note")
    )


class Counting:
    """A stream that counts how often it was opened."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.opened = table, 0

    def batches(self) -> pl.LazyFrame:
        def read(names: list[str] | None, *_: Any) -> Iterator[pl.DataFrame]:
            self.opened += 1
            yield pl.DataFrame(self.table).select(names or pl.all())

        schema = pl.DataFrame(self.table).schema
        return pl.io.plugins.register_io_source(read, schema=schema)


def test_a_stream_has_one_reader() -> None:
    stream = Counting(SCORED.to_arrow())
    bound = sqleval.scan(stream.batches(), label="y", score="p")
    # Two metrics sort the rows and two sum them; each reads the rows differently.
    metrics = ["ks", "average_precision", "log_loss", "expected_calibration_error"]
    found = bound.evaluate(metrics, bins=6).collect()
    assert stream.opened == 1
    assert "_source AS MATERIALIZED" not in bound.sql(metrics, bins=6)
    rows = sqleval.scan(SCORED, label="y", score="p").evaluate(metrics, bins=6).collect()
    for one, other in zip(found["value"], rows["value"], strict=True):
        close(one, other, 1e-12)


def test_late_labels_and_models_and_a_given_prediction(tmp_path: Path) -> None:
    frame = SCORED.with_row_index("id").with_columns(
        q=1 - pl.col("p"), d=(pl.col("p") > 0.3).cast(pl.Int8)
    )
    frame.drop("y").write_parquet(tmp_path / "preds.parquet")
    frame.select("id", "y").write_parquet(tmp_path / "labels.parquet")
    roles: list[dict[str, Any]] = [
        {"source": tmp_path / "preds.parquet", "labels": tmp_path / "labels.parquet", "on": "id",
         "score": "p"},
        {"source": frame, "score": {"one": "p", "other": "q"}},
        {"source": frame, "score": "p", "prediction": "d"},
    ]  # fmt: skip
    for each in roles:
        bound = sqleval.scan(label="y", **each)
        metrics = ["roc_auc", "average_precision", "accuracy", "log_loss"]
        exact, binned = (bound.evaluate(metrics, bins=bits).collect() for bits in (None, 30))
        for one, other in zip(exact["value"], binned["value"], strict=True):
            close(other, one, 1e-6)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"metrics": "roc_auc", "bins": 0}, {}, "bins=0 must be a whole number of significant bits"),
    ({"metrics": "roc_auc", "bins": True}, {}, "bins=True must be"),
    ({"metrics": "roc_auc", "bins": 5, "tolerance": 0.1}, {}, "bins= or tolerance=, not both"),
    ({"metrics": "roc_auc", "tolerance": 0}, {}, "from 1e-9 to below 1"),
    ({"metrics": "roc_auc", "tolerance": "1e-5"}, {}, "must be a number"),
    ({"metrics": "roc_auc_pairs", "bins": 5}, {}, "roc_auc_pairs needs every score"),
    ({"metrics": "brier_reliability", "bins": 5}, {}, "needs every score"),
    ({"metrics": "brier_resolution(bins=10)", "bins": 5}, {}, "needs every score"),
    ({"metrics": "expected_calibration_error(strategy='quantile')", "bins": 5}, {},
     "needs every score"),
    ({"metrics": "accuracy", "bins": 5}, {"score": None, "prediction": "d"}, "give score="),
    ({"metrics": "roc_auc", "bins": 5}, {"counts": "n"}, "counts= are given"),
    ({"metrics": "accuracy", "bins": 5}, {"over": "g"}, "over= tells several apart"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "roles", "message"), REFUSED, ids=[message for *_, message in REFUSED]
)
def test_requests_that_bins_cannot_answer_are_refused(
    asked: dict[str, Any], roles: dict[str, Any], message: str
) -> None:
    frame = SCORED.with_columns(d=pl.col("y"), n=pl.lit(1))
    bound = sqleval.scan(frame, **{"label": "y", "score": "p", **roles})
    with pytest.raises(RequestError, match=message):
        bound.evaluate(**asked)


def test_every_ranked_metric_is_here() -> None:
    listed = {each.partition("(")[0] for each in (*RANKED, *PLACES)}
    every = {
        metric.name
        for metric in builtin().relations("metric")
        if builtin().depends_on(metric.name, "score_counts")
    }
    # Calibration metrics use bins in a special way, or need every score.
    assert every - listed == {
        "brier_reliability", "brier_resolution", "expected_calibration_error",
        "maximum_calibration_error", "debiased_calibration_error", "hosmer_lemeshow",
        "logistic_calibration_slope", "logistic_calibration_intercept",
    }  # fmt: skip


def test_the_resolution_lies_between_its_bounds() -> None:
    bound = sqleval.scan(SCORED, label="y", score="p", by="g")
    exact = bound.evaluate("brier_resolution").collect()["value"]
    binned = bound.evaluate("brier_resolution", bins=3).collect()
    assert (binned["low"] < exact).all()
    assert (exact < binned["high"]).all()
