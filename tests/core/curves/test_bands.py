"""Bands of curves against a bootstrap in NumPy and exact intervals, and refused requests."""

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import precision_recall_curve, roc_curve

import sqleval
from sqleval import DataError, RequestError
from sqleval.curves.bands import ENDS
from tests.support.comparison import assert_frame_equal


def draw_rows(n: int = 600, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    score = 1 / (1 + np.exp(-rng.normal(1.5 * label - 0.7, 1)))
    return pl.DataFrame(
        {"y": label, "p": score, "g": rng.choice(["a", "b", None], n), "u": np.arange(n) // 6}
    )


ROWS = draw_rows()
#: For properties of any rows: the time of replicates is proportional to their number.
FEW = ROWS.head(240)


def band(source: Any = ROWS, curve: str = "roc", **options: Any) -> pl.DataFrame:
    scan = {"label": "y", "score": "p"} | options.pop("scan", {})
    lazy = sqleval.scan(source, **scan).curve(curve, **{"ci": 0.9, "replicates": 200} | options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    return found


def evaluate_roc(label: np.ndarray, score: np.ndarray, grid: np.ndarray) -> np.ndarray:
    fpr, tpr, _ = roc_curve(label, score, drop_intermediate=False)
    return tpr[np.searchsorted(fpr, grid + 1e-12, side="right") - 1]


def evaluate_pr(label: np.ndarray, score: np.ndarray, grid: np.ndarray) -> np.ndarray:
    precision, recall, _ = precision_recall_curve(label, score)
    # Scikit-learn's recall falls to 0; at equal recalls the highest precision counts.
    precision, recall = precision[recall > 0][::-1], recall[recall > 0][::-1]
    recall, starts = np.unique(recall, return_index=True)
    highest = np.maximum.reduceat(precision, starts)
    return highest[np.searchsorted(recall, grid - 1e-12)]


@pytest.mark.parametrize(("curve", "x", "evaluate"), [
    ("roc", "fpr", evaluate_roc), ("pr", "recall", evaluate_pr),
])  # fmt: skip
def test_bands_are_those_of_a_bootstrap_in_numpy(curve: str, x: str, evaluate: Any) -> None:
    found = band(curve=curve, replicates=300)
    grid = found[x].to_numpy()
    assert grid.tolist() == pytest.approx(np.linspace(0, 1, 201).tolist())
    label, score = ROWS["y"].to_numpy(), ROWS["p"].to_numpy()
    y = {"roc": "tpr", "pr": "precision"}[curve]
    # With distinct scores, lines and steps are equally high except where the curve rises.
    np.testing.assert_allclose(found[y], evaluate(label, score, grid), atol=1e-9)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(label), (200, len(label)))
    curves = np.stack([evaluate(label[rows], score[rows], grid) for rows in drawn])
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    # Near the ends a band is at least as wide as one positive.
    inner = slice(60, -10)
    own_low, own_high = found["low"].to_numpy(), found["high"].to_numpy()
    # With a few hundred replicates, the bounds are uncertain by a tenth of the width.
    width = (high - low)[inner]
    assert np.abs((own_low - low)[inner]).max() < 0.4 * width.max()
    varies = width > 0
    ratio = (own_high - own_low)[inner][varies] / width[varies]
    assert np.median(ratio) == pytest.approx(1, abs=0.1)
    wide = (found["simultaneous_high"] - found["simultaneous_low"]).to_numpy()[inner]
    assert np.median(wide[varies] / width[varies]) > 1.3


def test_bands_of_bins_are_exact_intervals() -> None:
    found = band(curve="calibration", ci=0.95)
    plain = sqleval.scan(ROWS, label="y", score="p").curve("calibration").collect()
    assert_frame_equal(found.drop(ENDS), plain)
    bins = found.height
    for row in found.iter_rows(named=True):
        hits, n = round(row["observed"] * row["n"]), row["n"]
        for level, prefix in ((0.95, ""), (0.95 ** (1 / bins), "simultaneous_")):
            expected = stats.binomtest(hits, n).proportion_ci(level, "exact")
            ends = (row[f"{prefix}low"], row[f"{prefix}high"])
            assert ends == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("curve", ["roc", "calibration"])
def test_clusters_widen_a_band(curve: str) -> None:
    # Each row is repeated six times, so that a cluster counts as one row.
    rows = FEW.select("y", "p").with_row_index("u")
    copies = pl.concat([rows] * 6)
    plain, clustered = band(copies, curve), band(copies, curve, cluster="u")
    single = band(rows, curve, scan={"weight": None})

    def measure(found: pl.DataFrame) -> float:
        return float((found["high"] - found["low"]).median())  # type: ignore[arg-type]

    assert measure(clustered) > 2 * measure(plain)
    assert measure(clustered) == pytest.approx(measure(single), rel=0.25)


@pytest.mark.parametrize("curve", ["roc", "calibration"])
def test_order_files_and_slices_change_nothing(curve: str, tmp_path: Any) -> None:
    # From replicates, like all other curves, and from exact intervals.
    call: dict[str, Any] = {"scan": {"by": "g", "weight": "w"}, "curve": curve, "replicates": 100}
    rows = FEW.with_columns(w=pl.lit(2))
    plain = band(rows, **call)
    assert plain.filter(pl.col("g").is_null())["low"].null_count() == 0
    # The files hold the rows in another order.
    shuffled = rows.sample(fraction=1, shuffle=True, seed=1)
    for i, part in enumerate(shuffled.iter_slices(60)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    files = str(tmp_path / "*.parquet")
    # A slice has the same band alone.
    alone = call | {"scan": call["scan"] | {"where": "g = 'a'"}}
    assert_frame_equal(band(files, **alone), plain.filter(pl.col("g") == "a"))
    assert_frame_equal(band(files, **call), plain)
    other = band(rows, **alone | {"seed": 1})
    assert not other["low"].equals(plain.filter(pl.col("g") == "a")["low"])


def test_models_have_bands_each_and_a_source_may_be_a_database() -> None:
    rows = FEW.with_columns(q=1 - pl.col("p"))
    both = band(rows, scan={"score": {"a": "p", "b": "q"}}, replicates=100)
    one = band(rows, replicates=100)
    assert_frame_equal(both.filter(pl.col("model") == "a").drop("model"), one)
    with duckdb.connect() as con:
        con.register("rows", rows.to_arrow())
        assert_frame_equal(band(con.sql("FROM rows"), replicates=100), one)


def test_a_state_has_bands() -> None:
    state = sqleval.scan(ROWS, label="y", score="p").state("roc_auc", bins=9).collect()
    found = sqleval.from_state(state).curve("roc", ci=0.9, replicates=200).collect()
    plain = band()
    apart = (found["high"] - found["low"]) / (plain["high"] - plain["low"])
    assert apart.drop_nans().median() == pytest.approx(1, abs=0.15)


def test_classes_have_bands_each() -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([1, 1, 1], 300)
    label = [rng.choice(["x", "y", "z"], p=row) for row in shares]
    rows = pl.DataFrame({"label": label, **{c: shares[:, i] for i, c in enumerate("xyz")}})
    bound = sqleval.scan(rows, label="label", score={c: c for c in "xyz"}, task="multiclass")
    found = bound.curve("roc", ci=0.9, replicates=100).collect()
    of_x = band(rows.select(p="x", y=pl.col("label") == "x"), replicates=100)
    part = found.filter(pl.col("class") == "x")
    assert (part["tpr"] - of_x["tpr"]).abs().max() < 1e-12
    apart = (part["high"] - part["low"]) / (of_x["high"] - of_x["low"])
    assert apart.drop_nans().median() == pytest.approx(1, abs=0.2)


def test_without_variance_there_is_no_band() -> None:
    rows = pl.DataFrame({"y": [0, 1] * 20 + [1] * 5, "p": [0.1, 0.9] * 20 + [0.5] * 5,
                         "g": ["apart"] * 40 + ["one class"] * 5})  # fmt: skip
    found = band(rows, scan={"by": "g"}, replicates=100)
    parts = {name: part for (name,), part in found.group_by("g")}
    assert parts["apart"]["tpr"].null_count() == 0
    assert parts["apart"]["low"].null_count() == 201
    assert parts["one class"]["low"].null_count() == 201
    empty = band(rows.clear())
    assert empty["low"].null_count() == empty.height


def test_filters_and_columns_of_a_lazy_band() -> None:
    lazy = sqleval.scan(FEW, label="y", score="p", by="g").curve("roc", ci=0.9, replicates=100)
    found = lazy.filter(pl.col("g") == "a").select("fpr", "low").collect()
    assert_frame_equal(found, lazy.collect().filter(pl.col("g") == "a").select("fpr", "low"))
    assert lazy.head(3).collect().height == 3


@pytest.mark.parametrize(("curve", "options", "message"), [
    ("ks", {}, "ks_curve has no bands; curves with bands: calibration_curve, cost_curve, gain_cur"),
    ("roc", {"ci": 95}, "ci=95"),
    ("roc", {"replicates": 0}, "bands of curves need replicates"),
    ("roc", {"replicates": 7}, "replicates=7 must be a whole number from 100 to 1,000"),
    ("roc", {"cluster": "uu"}, "cluster='uu'"),
])  # fmt: skip
def test_wrong_options(curve: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS, label="y", score="p").curve(curve, **{"ci": 0.9} | options)
    with pytest.raises(RequestError, match="a confusion matrix has no bands"):
        sqleval.scan(ROWS, label="y", score="p").plot("confusion", ci=0.9)
    with pytest.raises(DataError, match="label='y' is NULL or NaN in 1 of 601 rows"):
        band(pl.concat([ROWS, pl.DataFrame({"y": [None], "p": [0.5]})], how="diagonal_relaxed"))


def test_bands_of_the_lowest_cost_are_corrected_for_its_bias() -> None:
    # A minimum over thresholds is too low in a sample, and lower still in replicates.
    found = band(curve="cost", scan={"by": "g"}, replicates=100)
    x, value = pl.col("probability_cost"), pl.col("normalized_cost")
    inner = found.filter(x.is_between(0.3, 0.7))
    for prefix in ("", "simultaneous_"):
        middle = pl.mean_horizontal(f"{prefix}low", f"{prefix}high")
        assert inner.select((middle > value).mean()).item() > 0.9
    # Accepting all or none never costs more than this.
    most = pl.min_horizontal(x, 1 - x)
    ends = found.select("high", "simultaneous_high")
    assert (ends.max_horizontal() <= found.select(most + 1e-12).to_series()).all()
    assert found.filter(pl.col("simultaneous_high") >= most - 1e-12).height > 3 * 20
    # The curve itself is no higher, so cutting the band there loses no possible value.
    assert found.filter(value > most + 1e-12).is_empty()


def test_the_ends_of_curves_hold_the_true_one() -> None:
    """Scores that are calibrated and uniform: TPR = 1 - (1 - sqrt(FPR))^2, precision 0.85."""
    rng = np.random.default_rng(8)
    drawn = []
    for sample in range(20):
        score = rng.random(200)
        label = (rng.random(200) < score).astype(int)
        drawn.append(pl.DataFrame({"y": label, "p": score, "s": sample}))
    rows = pl.concat(drawn)
    found = band(rows, scan={"by": "s"}, replicates=100, ci=0.95)
    truth = 1 - (1 - pl.col("fpr").sqrt()) ** 2
    outside = (truth < pl.col("simultaneous_low")) | (truth > pl.col("simultaneous_high"))
    assert found.filter(outside)["s"].n_unique() <= 3
    first = found.filter(fpr=0)
    assert first["low"].to_list() == first["simultaneous_low"].to_list() == [0] * 20
    assert (first["high"] >= first["tpr"]).all()
    # The precision of the highest scores is about 1 in a sample, and 0.85 among all rows.
    capped = rows.with_columns(
        pl.col("p") * 0.85, y=(pl.Series(rng.random(4000)) < pl.col("p") * 0.85).cast(int)
    )
    found = band(capped, "pr", scan={"by": "s"}, replicates=100, ci=0.95).filter(recall=0)
    inside = (found["simultaneous_low"] <= 0.85) & (found["simultaneous_high"] >= 0.85)
    assert inside.sum() >= 18


def test_what_a_band_is_refused_for() -> None:
    named = ROWS.rename({"g": "low"})
    with pytest.raises(RequestError, match="by='low': a band has a column of that name"):
        band(named, scan={"by": "low"})
    with pytest.raises(RequestError, match="more than once; collect the stream first"):
        band(ROWS.to_arrow().to_reader())
    two = sqleval.scan(ROWS.to_arrow().to_reader(), label="y", score={"a": "p", "b": "u"})
    with pytest.raises(RequestError, match="more than once; collect the stream first"):
        two.compare_curves("roc")
