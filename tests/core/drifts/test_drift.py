"""`sqleval.drift` against SciPy, NumPy and values worked by hand."""

import json
from math import inf, log, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance

import sqleval
from sqleval.errors import DataError, RequestError, SourceError
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal

RNG = np.random.default_rng(22)
#: Rounded, so that many scores are equal within and between the samples.
JUNE = RNG.beta(2, 5, 400).round(2)
JULY = RNG.beta(2.6, 5, 300).round(2)
MEASURES = ["psi", "ks", "jensen_shannon", "wasserstein", "hellinger"]


def frame(scores: Any, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"p": scores, **columns}, strict=False)


def drift(reference: Any, current: Any, metrics: Any = None, **options: Any) -> dict[str, float]:
    """Return the drift of the score by measure."""
    found = sqleval.drift(reference, current, metrics, **{"score": "p", **options})
    return dict(found.filter(distribution="score").select("metric", "value").rows())


def cut_shares(
    reference: np.ndarray, current: np.ndarray, bins: int, weights: Any = (None, None)
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares in bins between quantiles of the reference, by NumPy."""
    quantiles = np.quantile(
        reference, np.arange(1, bins) / bins, method="inverted_cdf", weights=weights[0]
    )
    edges = np.unique(quantiles)
    edges = edges[edges < reference.max()]  # no bin without reference rows
    places = [np.searchsorted(edges, side, side="left") for side in (reference, current)]
    counts = [
        np.bincount(place, weight, len(edges) + 1)
        for place, weight in zip(places, weights, strict=True)
    ]
    return counts[0] / counts[0].sum(), counts[1] / counts[1].sum()


def index(p: np.ndarray, q: np.ndarray, empty: float = 1e-4) -> float:
    p, q = (np.where(share == 0, empty, share) for share in (p, q))
    return float(np.sum((q - p) * np.log(q / p)))


def test_measures_are_those_of_scipy() -> None:
    found = drift(frame(JUNE), frame(JULY))
    assert list(found) == MEASURES
    p, q = cut_shares(JUNE, JULY, 10)
    expected = {
        "psi": index(p, q),
        "ks": ks_2samp(JUNE, JULY).statistic,
        "jensen_shannon": jensenshannon(p, q, base=2),
        "wasserstein": wasserstein_distance(JUNE, JULY),
        "hellinger": sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2),
    }
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_score_without_ties_and_one_of_few_values() -> None:
    for low, high in ((RNG.normal(size=200), RNG.normal(0.3, 2, 150)), ([1, 1, 2], [2, 2, 3])):
        found = drift(frame(low), frame(high), ["ks", "wasserstein"])
        assert found["ks"] == pytest.approx(ks_2samp(low, high).statistic)
        assert found["wasserstein"] == pytest.approx(wasserstein_distance(low, high))


@pytest.mark.parametrize("bins", [2, 7, 1000])
def test_bins_of_equal_shares(bins: int) -> None:
    names = [f"psi(bins={bins})", f"jensen_shannon(bins={bins})"]
    p, q = cut_shares(JUNE, JULY, bins)
    expected = {names[0]: index(p, q), names[1]: jensenshannon(p, q, base=2)}
    assert drift(frame(JUNE), frame(JULY), names) == pytest.approx(expected, rel=1e-12)


def test_index_worked_by_hand() -> None:
    # Two bins at the median, with shares 1/2, 1/2 and 1/4, 3/4.
    found = drift(frame([1, 2, 3, 4]), frame([1, 3, 4, 4]), "psi(bins=2)")
    expected = (0.25 - 0.5) * log(0.25 / 0.5) + (0.75 - 0.5) * log(0.75 / 0.5)
    assert found["psi(bins=2)"] == pytest.approx(expected)
    assert expected == pytest.approx(0.27465307)


def test_index_of_classes_worked_by_hand() -> None:
    # 20, 50 and 30 % against 30, 40 and 30 %.
    grades = ["a"] * 20 + ["b"] * 50 + ["c"] * 30
    later = ["a"] * 30 + ["b"] * 40 + ["c"] * 30
    found = sqleval.drift(pl.DataFrame({"y": grades}), pl.DataFrame({"y": later}), "psi", label="y")
    assert found["value"].item() == pytest.approx(0.1 * log(1.5) - 0.1 * log(0.8))
    assert found["method"].item() == "3 categories"


def test_classes_as_evidently_measures_them() -> None:
    # evidently 0.7.23, legacy.calculations.stattests: psi_stat_test, hellinger_stat_test and
    # jensenshannon_stat_test (whose logarithm is natural) of these columns.
    old = pl.DataFrame({"y": ["a"] * 20 + ["b"] * 50 + ["c"] * 30})
    new = pl.DataFrame({"y": ["a"] * 30 + ["b"] * 40 + ["d"] * 5 + ["c"] * 25})
    found = sqleval.drift(old, new, ["psi", "hellinger", "jensen_shannon"], label="y")
    psi, hellinger, jensen_shannon = found["value"]
    assert psi == pytest.approx(0.3820858878932024, rel=1e-12)
    assert hellinger == pytest.approx(0.18432620939286207, rel=1e-12)
    assert jensen_shannon * sqrt(log(2)) == pytest.approx(0.1621234522139057, rel=1e-12)


def test_an_empty_bin_counts_as_a_small_share_and_is_noted() -> None:
    old, new = frame([1, 2, 3, 4]), frame([3, 4, 3, 4])
    found = sqleval.drift(old, new, ["psi(bins=2)", "psi(empty=0.01, bins=2)"], score="p")
    expected = [index(np.array([0.5, 0.5]), np.array([0, 1]), empty) for empty in (1e-4, 0.01)]
    assert found["value"].to_list() == pytest.approx(expected)
    assert found["metric"].to_list() == ["psi(bins=2)", "psi(empty=0.01, bins=2)"]
    assert found["note"][0] == (
        "1 of 2 bins is empty in one sample; an empty one counts as a share of 0.0001"
    )
    assert found["note"][1].endswith("0.01")


def test_scores_beyond_the_reference_belong_to_its_outer_bins() -> None:
    # Half of the reference has the highest score: no bin lies above it.
    found = sqleval.drift(frame([1, 2, 3, 3]), frame([-5, 2, 3, 99]), "psi(bins=4)", score="p")
    assert found["method"].item() == "3 quantile bins of the reference"
    assert found["value"].item() == 0
    assert found["note"].item() is None


def test_weights() -> None:
    own = RNG.integers(0, 4, 400), RNG.integers(1, 3, 300)
    old, new = frame(JUNE, w=own[0]), frame(JULY, w=own[1])
    found = drift(old, new, weight="w")
    repeated = drift(frame(np.repeat(JUNE, own[0])), frame(np.repeat(JULY, own[1])))
    assert found == pytest.approx(repeated, rel=1e-12)
    assert found["wasserstein"] == pytest.approx(wasserstein_distance(JUNE, JULY, *own))
    halves = drift(frame(JUNE, w=own[0] / 2), frame(JULY, w=own[1] * 3.0), weight="w")
    assert halves == pytest.approx(found, rel=1e-12)
    assert sqleval.drift(old, new, score="p", weight="w")["noise"].to_list() == [None] * 5


@pytest.mark.parametrize("weight", [-1.0, nan, inf, None])
def test_wrong_weights_are_an_error(weight: float | None) -> None:
    wrong = frame([0.1, 0.2], w=[1.0, weight])
    with pytest.raises(DataError, match="current: 1 row with a weight that is NULL, NaN"):
        sqleval.drift(frame([0.1, 0.2], w=[1.0, 1.0]), wrong, score="p", weight="w")


def test_missing_scores_are_counted() -> None:
    old, new = frame([0.1, None, 0.3, nan]), frame([0.1, 0.3, nan])
    found = sqleval.drift(old, new, score="p")
    assert found.select("n_reference", "n_current", "missing_reference", "missing_current").row(
        0
    ) == (2, 2, 2, 1)
    assert found["value"].to_list() == [0] * 5


def test_sides_without_rows() -> None:
    some, none = frame([0.1, 0.2]), frame([0.1, 0.2]).clear()
    for pair, note in (
        ((none, some), "no rows in the reference"),
        ((some, none), "no rows in the current sample"),
        ((none, none), "no rows in the reference"),
    ):
        found = sqleval.drift(*pair, score="p")
        assert found["value"].null_count() == found["noise"].null_count() == 5
        assert found["note"].to_list() == [note] * 5
    zero = sqleval.drift(some.with_columns(w=0), some.with_columns(w=1), score="p", weight="w")
    assert zero["value"].null_count() == 5
    assert zero["note"][0] == "all weights are 0"


def test_infinite_scores_rank_and_have_no_distance() -> None:
    old, new = frame([0.0, 1.0, inf]), frame([-inf, 1.0, inf])
    found = sqleval.drift(old, new, ["ks", "wasserstein"], score="p")
    assert found["value"].to_list() == [pytest.approx(1 / 3), None]
    assert found["note"][1].startswith("infinite scores have no distance")


def test_equal_samples_have_no_drift() -> None:
    assert set(drift(frame(JUNE), frame(JUNE)).values()) == {0.0}
    apart = drift(frame([0.0, 0.1]), frame([0.8, 0.9]), ["ks", "wasserstein"])
    assert apart == pytest.approx({"ks": 1, "wasserstein": 0.8})


def test_classes_without_shared_rows_are_at_distance_one() -> None:
    old, new = (pl.DataFrame({"y": [each] * 3}) for each in "ab")
    found = sqleval.drift(old, new, ["jensen_shannon", "hellinger"], label="y")
    assert found["value"].to_list() == pytest.approx([1, 1])


def test_slices_and_their_mix() -> None:
    old = frame(JUNE, g=["x", "y"] * 200)
    new = frame(JULY, g=["x", "x", None] * 100)
    found = sqleval.drift(old, new, ["ks", "psi"], score="p", by="g", sets="overall")
    x = old.filter(g="x")["p"], new.filter(g="x")["p"]
    values = {(row[0], row[1], *row[2:4]): row[4] for row in found.rows()}
    assert values["x", "g", "score", "ks"] == pytest.approx(ks_2samp(*x).statistic)
    assert values[None, "overall", "score", "ks"] == pytest.approx(ks_2samp(JUNE, JULY).statistic)
    mix = found.filter(distribution="mix")
    # NULL is a slice of its own; y and NULL are in one sample only.
    shares = np.array([0.5, 0.5, 0]), np.array([2 / 3, 0, 1 / 3])
    assert mix["value"].to_list() == pytest.approx([index(*shares)])
    assert mix.select("n_reference", "n_current", "method").row(0) == (400, 300, "3 slices")
    only = found.filter(pl.col("g") == "y", distribution="score")
    assert only["note"].to_list() == ["no rows in the current sample"] * 2


def test_the_mix_counts_rows_whose_score_is_missing() -> None:
    old, new = frame([0.1, None], g=["a", "b"]), frame([0.1, 0.2], g=["a", "b"])
    found = sqleval.drift(old, new, "psi", score="p", by="g")
    mix = found.filter(distribution="mix")
    assert mix.select("value", "n_reference").row(0) == (0, 2)


def test_labels_of_several_types() -> None:
    old, new = [0, 0, 1, 1], [0, 1, 1, 1]
    expected = index(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    for kind in (pl.Int64, pl.Boolean, pl.String, pl.Float64, pl.Decimal(4, 1)):
        pair = (pl.DataFrame({"y": pl.Series(side).cast(kind)}) for side in (old, new))
        found = sqleval.drift(*pair, "psi", label="y")
        assert found["value"].item() == pytest.approx(expected)
    mixed = pl.DataFrame({"y": old}), pl.DataFrame({"y": [bool(each) for each in new]})
    assert sqleval.drift(*mixed, "psi", label="y")["value"].item() == pytest.approx(expected)
    mixed = pl.DataFrame({"y": old}), pl.DataFrame({"y": [float(each) for each in new]})
    assert sqleval.drift(*mixed, "psi", label="y")["value"].item() == pytest.approx(expected)
    real = (pl.DataFrame({"y": [each + 0.5 for each in side]}) for side in (old, new))
    assert sqleval.drift(*real, "ks", label="y")["value"].item() == 0.25


def test_noise_is_about_the_mean_without_drift() -> None:
    runs, rng = 150, np.random.default_rng(3)
    old, new = (frame(rng.random(n * runs), g=np.repeat(range(runs), n)) for n in (300, 480))
    found = sqleval.drift(old, new, score="p", by="g").filter(distribution="score")
    values = pl.col("value")
    # The noise level of both distances of shares is the root of their mean square.
    is_root = pl.col("metric").is_in(["jensen_shannon", "hellinger"])
    mean = pl.when(is_root).then((values**2).mean().sqrt()).otherwise(values.mean())
    rows = found.group_by("metric").agg(mean.first(), pl.col("noise").first())
    noises = {metric: noise for metric, _, noise in rows.rows()}
    assert noises["psi"] == pytest.approx(9 * (1 / 300 + 1 / 480))
    assert noises.pop("wasserstein") is None
    means = {metric: value for metric, value, _ in rows.rows() if metric in noises}
    assert means == pytest.approx(noises, rel=0.09)


def rows_with_labels(scores: np.ndarray, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return frame(
        scores + rng.normal(0, 1e-3, len(scores)),
        y=(rng.random(len(scores)) < scores).astype(int),
        g=rng.choice(["x", "y"], len(scores)),
    )


@pytest.mark.parametrize("bins", [3, 11])
def test_states_have_bounds_that_hold(bins: int) -> None:
    old, new = rows_with_labels(JUNE, 1), rows_with_labels(JULY, 2)
    states = [
        sqleval.scan(each, label="y", score="p", by="g").state("roc_auc", bins=bins).collect()
        for each in (old, new)
    ]
    exact = sqleval.drift(old, new, ["ks", "wasserstein"], score="p", by="g")
    for pair, options in (
        (states, {}),
        ([states[0], new], {"score": "p"}),
        ([old, new], {"score": "p", "bins": bins}),
    ):
        found = sqleval.drift(*pair, ["ks", "wasserstein"], by="g", **options)
        assert found["method"].unique().to_list() == [f"score bins of {bins} bits"]
        for row, true in zip(found.rows(named=True), exact["value"], strict=True):
            assert row["low"] - 1e-12 <= true <= row["high"] + 1e-12
            assert row["low"] <= row["value"] <= row["high"]
        assert (found["high"] - found["low"]).max() <= 2.0 ** (2 - bins)


def test_the_label_and_the_mix_of_states_are_exact() -> None:
    old, new = rows_with_labels(JUNE, 1), rows_with_labels(JULY, 2)
    new = new.with_columns(y=pl.when(pl.col("p") > 0.1).then("y"))  # the others are late
    bound = [sqleval.scan(each, label="y", score="p", by="g", nulls="drop") for each in (old, new)]
    held = sqleval.drift(*(each.state("roc_auc").collect() for each in bound), "psi", by="g")
    exact = sqleval.drift(old, new, "psi", label="y", by="g")
    names = ["g", "distribution", "value", "n_reference", "n_current"]
    assert (
        held.filter(pl.col("distribution") != "score")
        .select(names)
        .sort(names[:2])
        .equals(exact.select(names).sort(names[:2]))
    )
    assert exact["n_current"].sum() < 2 * new.height
    same = sqleval.drift(bound[0], bound[1], "psi")
    label = pl.col("distribution") == "label"
    assert same.filter(label)["value"].to_list() == exact.filter(label)["value"].to_list()


def test_predictions_bring_their_columns() -> None:
    old, new = rows_with_labels(JUNE, 1), rows_with_labels(JULY, 2)
    models = {"a": "p", "b": "q"}
    pair = [
        sqleval.scan(each.with_columns(q=-pl.col("p")), label="y", score=models, where="p > 0.2")
        for each in (old, new)
    ]
    found = sqleval.drift(*pair, "ks")
    expected = ks_2samp(*(each.filter(pl.col("p") > 0.2)["p"] for each in (old, new))).statistic
    assert found["model"].to_list() == ["a", "b"]
    assert found["value"].to_list() == pytest.approx([expected, expected])


def test_two_samples_in_one_file(tmp_path: Path) -> None:
    both = pl.concat([frame(JUNE, day=[6] * 400), frame(JULY, day=[7] * 300)])
    path = str(tmp_path / "preds.csv")
    both.write_csv(path)
    found = sqleval.drift(path, path, score="p", reference_where="day = 6", current_where="day = 7")
    assert found["value"].to_list() == pytest.approx([*drift(frame(JUNE), frame(JULY)).values()])
    call = ["drift", path, "--score", "p", "--reference-where", "day = 6"]
    done = run(*call, "--current-where", "day = 7", "-m", "ks", "--format", "json")
    (row,) = json.loads(done.stdout)
    assert row["value"] == pytest.approx(ks_2samp(JUNE, JULY).statistic)
    table = run(*call, "--current-where", "day = 7", "--by", "day").stdout
    assert "mix" in table
    assert "method" not in table
    assert "give CURRENT, or both" in run(*call, code=2).stderr


def test_numbers_of_a_csv_file_that_begins_with_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "preds.csv"
    path.write_text("p\n" + "1\n" * 30_000 + "0.7\n")
    found = sqleval.drift(str(path), frame([1.0]), "wasserstein", score="p")
    assert found["value"].item() == pytest.approx(0.3 / 30_001)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "pzi"}, "no measure of drift called 'pzi'; did you mean 'psi'"),
        ({"metrics": "ks(bins=5)"}, "drift_ks has no parameter 'bins'"),
        ({"metrics": "psi(bins=1)"}, "must be in"),
        ({"score": None}, "give score=, label= or prediction="),
        ({"score": "q"}, "'q'"),
        ({"score": "g"}, "reference: score='g' must be a number and is VARCHAR"),
        ({"weight": "g"}, "reference: weight='g' must be a number and is VARCHAR"),
        ({"score": None, "label": "g", "metrics": "ks"}, "needs values with an order"),
        ({"by": {"part": "qcut(p, 4)"}}, "give the ends with cut()"),
        ({"by": {"part": "qcut (p, 4)"}}, "give the ends with cut()"),
        ({"by": {"value": "g"}}, "the result has a column of that name"),
        ({"bins": 40}, "significant bits"),
        ({"metrics": []}, "no measure is named"),
    ],
)
def test_wrong_requests(options: dict[str, Any], message: str) -> None:
    rows = frame([0.1, 0.2], g=["a", "b"])
    with pytest.raises(RequestError) as raised:
        sqleval.drift(rows, rows, **{"score": "p", **options})
    assert message in str(raised.value)


def test_a_text_of_a_slice_key_may_look_like_quantiles() -> None:
    rows = frame([0.1, 0.2], g=["a", "qcut("])
    found = sqleval.drift(rows, rows, "ks", score="p", by={"is_call": "g = 'qcut('"})
    assert found["is_call"].to_list() == [False, True]
    assert found["value"].to_list() == [0, 0]


def test_samples_that_cannot_be_compared() -> None:
    rows = rows_with_labels(JUNE, 1)
    scan = sqleval.scan(rows, label="y", score="p")
    bytes_ = rows.with_columns(k=pl.lit(b"\xff"))
    lists = rows.with_columns(k=pl.concat_list("p"))
    coarse, fine = (scan.state("roc_auc", bins=bins).collect() for bins in (5, 11))
    for pair, options, message in (
        ((coarse, fine), {}, "bins of 5 bits and 11 bits"),
        ((coarse, rows), {"score": "p", "label": "y"}, "say with positive="),
        ((scan, rows), {"score": "p"}, "leave out score=, and open the other sample"),
        ((fine, fine), {"score": "p"}, "both samples are states.*leave out score="),
        ((rows, rows), {"score": "p", "metrics": "psi(bins=1)"}, r"^psi\(bins=\) must be in"),
        ((bytes_, bytes_), {"score": "p", "by": "k"}, "slice key 'k' is BLOB; use a number"),
        ((lists, lists), {"score": "p", "by": "k"}, "slice key 'k' is DOUBLE.*; use a number"),
        ((rows, rows.cast({"y": pl.String})), {"label": "y"}, "cast one of them"),
        ((sqleval.scan(rows, label="y", score="p", by="g"), scan), {}, "give both the same by="),
    ):
        with pytest.raises(RequestError, match=message):
            sqleval.drift(*pair, **options)


@pytest.mark.parametrize(("one", "other"), [
    (pl.Int64, pl.Float64), (pl.Int32, pl.Int64), (pl.Boolean, pl.Int64), (pl.Date, pl.Datetime),
    (pl.UInt64, pl.Int64), (pl.Datetime("ms"), pl.Datetime("us")),
])  # fmt: skip
def test_keys_of_two_types_are_the_same_slices(one: Any, other: Any) -> None:
    keys = pl.Series([0, 1, None] * 40)
    old = pl.DataFrame({"p": [0.1, 0.2, 0.4] * 40, "g": keys.cast(one)})
    found = sqleval.drift(
        old, old.with_columns(g=keys.cast(one).cast(other)), "psi", score="p", by="g"
    )
    assert found.height == 4
    assert found["value"].to_list() == [0] * 4
    assert found["note"].null_count() == 4


def test_keys_of_two_kinds_are_refused() -> None:
    rows = pl.DataFrame({"p": [0.1, 0.2], "g": [1, 2]})
    other = rows.with_columns(g=pl.lit("a"))
    with pytest.raises(RequestError, match="by='g' is of type Int64 in the reference and String"):
        sqleval.drift(rows, other, "psi", score="p", by="g")


def test_a_stream_may_be_both_samples() -> None:
    rows = pl.DataFrame({"p": [0.1, 0.2, 0.3, 0.4], "g": ["a", "a", "b", "b"]})
    where = {"reference_where": "g = 'a'", "current_where": "g = 'b'"}
    reader = rows.to_arrow().to_reader()
    found = sqleval.drift(reader, reader, "ks", score="p", **where)
    assert_frame_equal(found, sqleval.drift(rows, rows, "ks", score="p", **where))
    assert found["value"].to_list() == [1]


def test_a_positive_value_that_no_row_has_is_an_error() -> None:
    rows = pl.DataFrame({"y": ["a", "b", "b"]})
    assert sqleval.drift(rows, rows, "psi", label="y", positive="b")["value"].to_list() == [0]
    with pytest.raises(DataError, match="no row has it in label=; is that spelled"):
        sqleval.drift(rows, rows, "psi", label="y", positive="c")
    bound = sqleval.scan(rows, label="y", prediction="y", positive="b")
    with pytest.raises(RequestError, match=r"reference is predictions.*leave out positive="):
        sqleval.drift(bound, bound, "psi", positive=0)


def test_wrong_columns_and_empty_files_are_named(tmp_path: Path) -> None:
    rows = pl.DataFrame({"p": [0.1, 0.2]})
    with pytest.raises(RequestError, match="score='q': no such column"):
        sqleval.drift(rows, rows, score="q")
    path = tmp_path / "empty.csv"
    path.write_text("p,y\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"empty.csv has a header and no rows"):
        sqleval.drift(path, rows, score="p")


def test_scores_that_leave_a_constant_reference_are_drift() -> None:
    reference, current = [0.5] * 100, [0.7] * 40 + [0.1] * 10
    found = sqleval.drift(frame(reference), frame(current), score="p")
    # The bins are the scores below 0.5, at it and above it.
    before, now = [1e-4, 1, 1e-4], [0.2, 1e-4, 0.8]
    psi = sum((q - p) * log(q / p) for p, q in zip(before, now, strict=True))
    assert dict(found.select("metric", "value").rows()) == {
        "psi": pytest.approx(psi),
        "ks": 0.8,
        "jensen_shannon": pytest.approx(jensenshannon([0, 1, 0], [0.2, 0, 0.8], base=2)),
        "wasserstein": pytest.approx(wasserstein_distance(reference, current)),
        "hellinger": pytest.approx(1.0),
    }
    same = sqleval.drift(frame(reference), frame([0.5] * 50), score="p")
    assert same["value"].to_list() == [0] * 5
    assert same["note"].to_list() == [None] * 5


def test_rows_that_leave_the_largest_score_are_drift() -> None:
    """All 10 quantiles of this reference equal 0.9."""
    reference, current = frame([0.2] * 2 + [0.9] * 98), frame([0.2] * 49 + [0.9])
    found = sqleval.drift(reference, current, "psi", score="p")
    psi = (0.98 - 0.02) * log(0.98 / 0.02) + (0.02 - 0.98) * log(0.02 / 0.98)
    assert found["value"].item() == pytest.approx(psi)
    assert found["method"].item() == "2 quantile bins of the reference"
