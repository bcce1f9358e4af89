"""A catalogue of the package's files and a folder of a user's own, evaluated side by side."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import somersd
from sklearn.metrics import accuracy_score, roc_auc_score

import sqleval
from sqleval import LoadError, RequestError
from sqleval.catalog import Catalogue, find_sql_folder

HEADER = """/*
summary: {summary}
formula: {formula}
direction: higher
range: {range}
reference: {reference}
task: {task}
weights: frequency
since: 0.1.0
*/
"""
SOMERS_D = HEADER.format(
    summary="share of concordant pairs less that of discordant ones",
    formula="2 AUC - 1", range="-1 .. 1", reference="scipy.stats.somersd", task="two classes",
) + """\
SELECT
    slice,
    CAST(SUM(negatives * tp - positives * fp) AS DOUBLE)
        / NULLIF(CAST(SUM(positives) AS DOUBLE) * SUM(negatives), 0) AS value,
    CASE
        WHEN SUM(positives) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
"""  # fmt: skip
MATCHES = HEADER.format(
    summary="share of rows whose prediction is the label", formula="matches / n",
    range="0 .. 1", reference="sklearn.metrics.accuracy_score", task="classes",
) + """\
SELECT
    slice,
    CAST(SUM(CASE WHEN label = prediction THEN n ELSE 0 END) AS DOUBLE)
        / NULLIF(SUM(n), 0) AS value,
    SUM(CASE WHEN label = prediction THEN n ELSE 0 END) AS successes,
    SUM(n) AS trials
FROM confusion
GROUP BY slice
"""  # fmt: skip
LARGEST_CLASS = HEADER.format(
    summary="share of the class that is predicted most often", formula="max n / n",
    range="0 .. 1", reference="the class counts", task="classes",
) + """\
SELECT
    slice,
    CAST(MAX(predicted) AS DOUBLE) / NULLIF(SUM(predicted), 0) AS value
FROM (
    SELECT
        slice,
        prediction,
        SUM(n) AS predicted
    FROM confusion
    GROUP BY
        slice,
        prediction
) AS counts
GROUP BY slice
"""  # fmt: skip
TOP_SCORES = """/*
summary: the highest thresholds
formula: score, tp
reference: the cutoffs
task: two classes
types: {rows: count}
order: threshold DESC
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    score_low AS threshold,
    MAX(tp + fp) AS rows
FROM cutoffs
GROUP BY
    slice,
    score_low
"""

MEAN_SCORE = """/*
summary: the mean probability
formula: mean(p)
direction: higher
range: 0 .. 1
reference: numpy.mean
task: two classes
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    CAST(SUM(weight * p) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    SQRT(SUM(weight * p_squared)) / NULLIF(SUM(weight), 0) AS stderr
FROM probabilities
GROUP BY slice
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    files = {
        "ours/somers_d.sql": SOMERS_D,
        "ours/matches.sql": MATCHES,
        "ours/mean_score.sql": MEAN_SCORE,
        "more/largest_class.sql": LARGEST_CLASS,
        "more/top_scores.sql": TOP_SCORES,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Catalogue(find_sql_folder(), tmp_path)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 400)
    score = np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 2)
    return pl.DataFrame({"y": label, "p": score, "g": rng.choice(["a", "b"], 400)})


def test_foreign_metrics_beside_built_in_ones(catalogue: Catalogue, rows: pl.DataFrame) -> None:
    names = ["somers_d", "roc_auc", "matches", "accuracy", "largest_class"]
    scan = sqleval.scan(rows, label="y", score="p", by="g", catalogue=catalogue)
    found = scan.evaluate(names, ci=0.95).collect()
    for (group,), part in rows.group_by("g"):
        here = {row["metric"]: row for row in found.filter(g=group).iter_rows(named=True)}
        y, p = part["y"].to_numpy(), part["p"].to_numpy()
        assert here["somers_d"]["value"] == pytest.approx(somersd(y, p).statistic, abs=1e-12)
        assert here["roc_auc"]["value"] == pytest.approx(roc_auc_score(y, p), abs=1e-12)
        assert here["matches"]["value"] == pytest.approx(accuracy_score(y, p >= 0.5), abs=1e-12)
        # Its counts give it Wilson's interval, as accuracy has it.
        for column in ("low", "high", "method"):
            assert here["matches"][column] == here["accuracy"][column]
        shares = (part["p"] >= 0.5).value_counts(normalize=True)["proportion"]
        assert here["largest_class"]["value"] == pytest.approx(shares.max(), abs=1e-12)


def test_a_mean_that_should_be_high_is_not_inferior_from_below(
    catalogue: Catalogue, rows: pl.DataFrame
) -> None:
    both = rows.with_columns(q=pl.col("p") - 0.1 + 0.01 * pl.col("y"))
    scan = sqleval.scan(both, label="y", score={"a": "p", "b": "q"}, catalogue=catalogue)
    found = scan.compare("mean_score", margin=0.05, alternative="greater").collect()
    row = found.row(0, named=True)
    assert (row["method"], row["high"]) == ("paired t-test of row losses", np.inf)
    assert "b is not shown non-inferior to a within 0.05" in row["verdict"]


@pytest.mark.parametrize(("header", "like"), [
    ("test: delong\nscale: 2\n", "gini"), ("test: mcnemar\n", "accuracy"),
])  # fmt: skip
def test_a_foreign_metric_has_the_test_that_its_header_names(
    tmp_path: Path, rows: pl.DataFrame, header: str, like: str
) -> None:
    text = SOMERS_D if like == "gini" else MATCHES
    (tmp_path / "ours").mkdir()
    path = tmp_path / "ours" / "mine.sql"
    path.write_text(text.replace("weights: frequency\n", f"weights: frequency\n{header}"))
    both = rows.with_columns(q=pl.col("p") * 0.5 + 0.3 * pl.col("y") * pl.col("p"))
    catalogue = Catalogue(find_sql_folder(), tmp_path)
    scan = sqleval.scan(both, label="y", score={"a": "p", "b": "q"}, catalogue=catalogue)
    own, built_in = scan.compare(["mine", like]).collect().to_dicts()
    for name in ("value", "baseline_value", "low", "high", "p_value"):
        assert own[name] == pytest.approx(built_in[name], abs=1e-12)
    assert own["method"] == built_in["method"]


@pytest.mark.parametrize(("key", "message"), [
    ("test: welch", "test must be one of delong, mcnemar, not 'welch'"),
    ("scale: 0", "scale must be a number above 0, not 0"),
    ("expectation: maybe", "expectation must be one of exact, none"),
])  # fmt: skip
def test_a_wrong_fact_of_a_header_is_named(tmp_path: Path, key: str, message: str) -> None:
    (tmp_path / "ours").mkdir()
    path = tmp_path / "ours" / "mine.sql"
    path.write_text(MATCHES.replace("weights: frequency\n", f"weights: frequency\n{key}\n"))
    with pytest.raises(LoadError, match=message):
        Catalogue(find_sql_folder(), tmp_path).get("mine")


def test_a_foreign_metric_has_bins_and_states(catalogue: Catalogue, rows: pl.DataFrame) -> None:
    scan = sqleval.scan(rows, label="y", score="p", catalogue=catalogue)
    exact = somersd(rows["y"].to_numpy(), rows["p"].to_numpy()).statistic
    (row,) = scan.evaluate("somers_d", bins=4).collect().to_dicts()
    assert row["low"] <= exact <= row["high"]


def test_a_foreign_curve_has_the_types_of_its_header(
    catalogue: Catalogue, rows: pl.DataFrame
) -> None:
    frame = sqleval.scan(rows, label="y", score="p", catalogue=catalogue).curve("top_scores")
    assert frame.collect_schema() == {"threshold": pl.Float64, "rows": pl.Int64}
    found = frame.collect()
    assert found["threshold"].to_list() == sorted(set(rows["p"]), reverse=True)
    assert found["rows"].max() == rows.height


def test_the_built_in_catalogue_stays_as_it_is(catalogue: Catalogue, rows: pl.DataFrame) -> None:
    assert "somers_d" in catalogue.names
    with pytest.raises(RequestError, match="no metric called 'somers_d'"):
        sqleval.scan(rows, label="y", score="p").evaluate("somers_d")


def test_a_name_of_the_package_cannot_be_taken(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "roc_auc.sql").write_text(SOMERS_D, encoding="utf-8")
    with pytest.raises(LoadError, match=r"'roc_auc' is the name of a file of the package; rename "):
        Catalogue(find_sql_folder(), tmp_path)


def test_a_file_of_another_kind_is_named(tmp_path: Path, rows: pl.DataFrame) -> None:
    (tmp_path / "ours").mkdir()
    text = MEAN_SCORE.replace("AS value", "AS val").replace("range: 0 .. 1\n", "")
    (tmp_path / "ours" / "somers_d.sql").write_text(text, encoding="utf-8")
    catalogue = Catalogue(find_sql_folder(), tmp_path)
    scan = sqleval.scan(rows, label="y", score="p", catalogue=catalogue)
    message = r"\('somers_d' is a curve: ours/somers_d\.sql returns no column 'value'\)"
    with pytest.raises(RequestError, match=message):
        scan.evaluate("somers_d")
    with pytest.raises(RequestError, match=r"no curve called 'f1' \('f1' is a metric\)"):
        scan.curve("f1")
    with pytest.raises(RequestError, match=r"must be a Catalogue: Catalogue\(find_sql_folder\(\)"):
        sqleval.scan(rows, label="y", score="p", catalogue=tmp_path)  # pyright: ignore[reportArgumentType]


def test_a_foreign_curve_is_drawn_as_its_header_says(tmp_path: Path, rows: pl.DataFrame) -> None:
    text = (find_sql_folder() / "curve" / "roc_curve.sql").read_text("utf-8")
    (tmp_path / "ours").mkdir()
    path = tmp_path / "ours" / "my_curve.sql"
    path.write_text(text.replace("title: ROC curve", "title: My curve"), encoding="utf-8")
    scan = sqleval.scan(
        rows, label="y", score="p", catalogue=Catalogue(find_sql_folder(), tmp_path)
    )
    picture = scan.plot("my_curve").to_dict()
    assert picture["title"]["text"] == "My curve: y"
    assert picture["title"]["subtitle"].startswith("AUC ")
    for old, new, message in (
        ("diagonal:", "diagonl:", "unknown key 'diagonl' of chart; did you mean 'diagonal'"),
        ("diagonal: chance", "draw: roc", "draw must be one of line, calibration"),
        ("x: [fpr", "x: [fprr", "chart: no column 'fprr'; did you mean 'fpr'"),
    ):
        wrong = text.replace("title: ROC", "title: My").replace(old, new)
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(LoadError, match=message):
            Catalogue(find_sql_folder(), tmp_path).get("my_curve")
