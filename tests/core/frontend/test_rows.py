"""The rows where a model is wrong: the largest losses, a cell, or the nearest to a threshold."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, log_loss

import sqleval
from sqleval import DataError, RequestError
from tests.support.commands import run

RNG = np.random.default_rng(3)
N = 400
FRAME = pl.DataFrame(
    {
        "id": np.arange(N),
        "y": RNG.integers(0, 2, N),
        "p": RNG.random(N),
        "q": RNG.random(N),
        "g": RNG.choice(["a", "b", None], N).tolist(),
        "w": RNG.choice([0.0, 1.0, 2.5], N),
    }
)
CLASSES = pl.DataFrame(
    {"id": np.arange(60), "y": RNG.choice(["a", "b", "c"], 60)}
    | dict(zip("abc", RNG.dirichlet([1, 1, 1], 60).T, strict=True))
)
NUMBERS = FRAME.select("id", y=pl.col("p") * 10 + 1, f=pl.col("q") * 10 + 1)


def scan_classes() -> sqleval.Predictions:
    score = {name: name for name in "abc"}
    return sqleval.scan(CLASSES, label="y", score=score, task="multiclass")


def take_worst(frame: pl.DataFrame, loss: np.ndarray, n: int) -> list[int]:
    order = np.argsort(-loss, kind="stable")[:n]
    return frame["id"].to_numpy()[order].tolist()


def compute_log_losses(frame: pl.DataFrame, score: str = "p") -> np.ndarray:
    pairs = frame.select("y", score).iter_rows()
    return np.array([log_loss([y], [p], labels=[0, 1]) for y, p in pairs])


LOSSES: dict[str, Any] = {
    "log_loss": compute_log_losses,
    "brier_score": lambda frame: ((frame["p"] - frame["y"]) ** 2).to_numpy(),
}
NUMBER_LOSSES: dict[str, Any] = {
    "mae": lambda y, f: np.abs(y - f),
    "mse": lambda y, f: (y - f) ** 2,
    "mape": lambda y, f: np.abs(y - f) / y,
    "msle": lambda y, f: (np.log1p(y) - np.log1p(f)) ** 2,
    "pinball_loss(alpha=0.9)": lambda y, f: np.where(y >= f, 0.9 * (y - f), 0.1 * (f - y)),
}


@pytest.mark.parametrize("by", LOSSES)
def test_the_largest_losses_of_classes(by: str) -> None:
    found = sqleval.scan(FRAME, label="y", score="p").rows(15, by=by).collect()
    losses = LOSSES[by](FRAME)
    assert found["id"].to_list() == take_worst(FRAME, losses, 15)
    np.testing.assert_allclose(found[by], np.sort(losses)[::-1][:15], rtol=1e-12)
    assert found.columns == [by, *FRAME.columns]
    assert found.drop(by).equals(FRAME[found["id"].to_list()])


@pytest.mark.parametrize("by", NUMBER_LOSSES)
def test_the_largest_losses_of_numbers(by: str) -> None:
    rows = sqleval.scan(NUMBERS, label="y", prediction="f").rows(9, by=by).collect()
    losses = NUMBER_LOSSES[by](NUMBERS["y"].to_numpy(), NUMBERS["f"].to_numpy())
    assert rows["id"].to_list() == take_worst(NUMBERS, losses, 9)
    np.testing.assert_allclose(rows[:, 0], np.sort(losses)[::-1][:9], rtol=1e-12)


def test_the_largest_losses_of_several_classes() -> None:
    scan = scan_classes()
    rows = scan.rows(CLASSES.height).collect()
    truth = [-np.log(row[row["y"]]) for row in CLASSES.iter_rows(named=True)]
    assert rows["id"].to_list() == take_worst(CLASSES, np.array(truth), 60)
    value = scan.evaluate("log_loss").collect()["value"].item()
    assert rows["log_loss"].mean() == pytest.approx(value, rel=1e-12)
    wrong = scan.rows(60, by="error_rate").collect()["error_rate"].mean()
    assert wrong == pytest.approx(scan.evaluate("error_rate").collect()["value"].item())


def test_every_loss_has_its_metric_as_the_mean() -> None:
    scan = sqleval.scan(NUMBERS, label="y", prediction="f")
    with pytest.raises(RequestError, match="rmse is no mean") as error:
        scan.rows(by="rmse")
    names = str(error.value).split(": ")[-1].split(", ")
    assert {"mae", "mse", "huber", "poisson_deviance"} <= {*names}
    for name in names:
        rows = scan.rows(N, by=name).collect()
        value = scan.evaluate(name).collect()["value"].item()
        assert rows[name].mean() == pytest.approx(value, rel=1e-12), name


def test_rows_of_each_slice_and_of_each_model() -> None:
    rows = sqleval.scan(FRAME, label="y", score="p", by="g").rows(3).collect()
    assert rows["g"].to_list() == ["a"] * 3 + ["b"] * 3 + [None] * 3
    for key in ("a", "b", None):
        part = FRAME.filter(pl.col("g").eq_missing(pl.lit(key)))
        ids = rows.filter(pl.col("g").eq_missing(pl.lit(key)))["id"].to_list()
        assert ids == take_worst(part, compute_log_losses(part), 3)
    both = sqleval.scan(FRAME, label="y", score={"A": "p", "B": "q"}).rows(4).collect()
    for model, score in (("A", "p"), ("B", "q")):
        ids = both.filter(model=model)["id"].to_list()
        assert ids == take_worst(FRAME, compute_log_losses(FRAME, score), 4)


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("cell", ["tp", "fp", "fn", "tn"])
def test_the_rows_of_a_cell(cell: str, threshold: float | None) -> None:
    scan = sqleval.scan(FRAME, label="y", score="p", threshold=threshold)
    rows = scan.rows(N, cell=cell).collect()
    decided = FRAME["p"].to_numpy() >= (threshold or 0.5)
    (tn, fp), (fn, tp) = confusion_matrix(FRAME["y"], decided)
    assert rows.height == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}[cell]
    assert rows["y"].unique().to_list() == [int(cell in ("tp", "fn"))]


def test_the_rows_of_a_cell_of_predictions() -> None:
    yes, no = pl.lit("yes"), pl.lit("no")
    frame = FRAME.select(
        "id",
        y=pl.when(pl.col("y") == 1).then(yes).otherwise(no),
        d=pl.when(pl.col("p") > 0.5).then(yes).otherwise(no),
    )
    scan = sqleval.scan(frame, label="y", prediction="d", positive="yes")
    rows = scan.rows(N, cell="fp").collect()
    assert rows.select("y", "d").unique().rows() == [("no", "yes")]
    assert rows["error_rate"].unique().to_list() == [1.0]


def test_the_rows_nearest_to_a_score() -> None:
    scan = sqleval.scan(FRAME, label="y", score="p", threshold=0.4)
    distance = np.abs(FRAME["p"].to_numpy() - 0.4)
    rows = scan.rows(nearest=7).collect()
    assert rows["id"].to_list() == np.argsort(distance)[:7].tolist()
    np.testing.assert_array_equal(rows["distance"], np.sort(distance)[:7])
    at_one = scan.rows(nearest=1, to=1).collect()["id"].item()
    assert at_one == FRAME["p"].arg_max()


def test_rows_without_weight_are_no_rows() -> None:
    rows = sqleval.scan(FRAME, label="y", score="p", weight="w").rows(N).collect()
    assert rows.height == FRAME.filter(pl.col("w") > 0).height


def test_late_labels_are_shown() -> None:
    labels = FRAME.select("id", truth="y")
    scan = sqleval.scan(FRAME.drop("y"), score="p", label="truth", labels=labels, on="id")
    rows = scan.rows(5).collect()
    assert rows["id"].to_list() == take_worst(FRAME, compute_log_losses(FRAME), 5)
    assert rows["truth"].to_list() == FRAME["y"][rows["id"].to_list()].to_list()


def test_late_labels_of_another_type_than_a_column_of_their_name() -> None:
    labels = FRAME.select("id", y=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(
        pl.lit("no")))  # fmt: skip
    scan = sqleval.scan(FRAME, label="y", score="p", positive="yes", labels=labels, on="id")
    rows = scan.rows(5).collect()
    assert rows["id"].to_list() == take_worst(FRAME, compute_log_losses(FRAME), 5)
    assert rows["y"].dtype == pl.String


def test_types_that_polars_lacks_are_texts() -> None:
    query = "SELECT 0 AS y, 0.2 AS p, INTERVAL 3 DAY AS v UNION ALL SELECT 1, 0.3, INTERVAL 4 DAY"
    rows = sqleval.scan(query=query, con=duckdb.connect(), label="y", score="p").rows().collect()
    assert rows["v"].to_list() == ["4 days", "3 days"]


def test_a_cell_has_the_threshold_of_its_loss() -> None:
    scan = sqleval.scan(FRAME, label="y", score="p")
    rows = scan.rows(N, cell="fn", by="error_rate(threshold=0.15)").collect()
    assert rows["error_rate"].unique().to_list() == [1.0]
    assert rows["p"].max() < 0.15


def test_a_column_called_like_the_metric_stays() -> None:
    frame = FRAME.with_columns(log_loss=pl.lit("mine"))
    rows = sqleval.scan(frame, label="y", score="p").rows(2).collect()
    assert rows.columns[0] == "log_loss_"
    assert rows["log_loss"].to_list() == ["mine"] * 2


def test_rows_of_a_lake_and_all_types(tmp_path: Path) -> None:
    nested = FRAME.with_columns(
        t=pl.lit("2026-01-01").str.to_date(), s=pl.struct("id", "g"), many=pl.concat_list("p", "q")
    )
    for i, part in enumerate(nested.iter_slices(100)):
        folder = tmp_path / f"day={i}"
        folder.mkdir()
        part.write_parquet(folder / "part.parquet")
    scan = sqleval.scan(tmp_path, label="y", score="p")
    rows = scan.rows(6).collect()
    ids = take_worst(FRAME, compute_log_losses(FRAME), 6)
    assert rows["id"].to_list() == ids
    assert rows["day"].to_list() == [str(each // 100) for each in ids]
    assert rows.select(nested.columns).equals(nested[ids])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "roc_auc"}, "roc_auc is no mean of a loss of each row"),
        ({"by": "mse"}, "regression metric"),
        ({"worst": 0}, "worst=0 must be a whole number"),
        ({"worst": True}, "worst=True"),
        ({"cell": "FP"}, "one of tp, fp, fn, tn"),
        ({"nearest": 2, "worst": 2}, "leave out worst="),
        ({"to": 0.5}, "needs nearest="),
        ({"nearest": 2, "to": float("nan")}, "finite number"),
    ],
)
def test_wrong_options(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(FRAME, label="y", score="p").rows(**arguments)


def test_inputs_without_rows_of_their_own() -> None:
    counts = pl.DataFrame({"tp": [1], "fp": [2], "fn": [3], "tn": [4]})
    with pytest.raises(RequestError, match="a table of counts holds no rows"):
        sqleval.scan(counts).rows()
    state = sqleval.scan(FRAME, label="y", score="p").state().collect()
    with pytest.raises(RequestError, match="a state holds no rows"):
        sqleval.from_state(state).rows()
    with pytest.raises(RequestError, match="cell= is for two classes"):
        scan_classes().rows(cell="fp")
    with pytest.raises(RequestError, match="nearest= needs one score"):
        sqleval.scan(NUMBERS, label="y", prediction="f").rows(nearest=2)


def test_rows_that_cannot_be_used_are_an_error() -> None:
    frame = FRAME.with_columns(p=pl.when(pl.col("id") > 2).then("p"))
    with pytest.raises(DataError, match="NULL or NaN in 3 of 400 rows"):
        sqleval.scan(frame, label="y", score="p").rows().collect()
    kept = sqleval.scan(frame, label="y", score="p", nulls="drop").rows(N).collect()
    assert kept.height == N - 3
    with pytest.raises(DataError, match=r"needs scores in 0 \.\. 1"):
        sqleval.scan(FRAME, label="y", score="p * 2").rows(by="log_loss").collect()
    nothing = sqleval.scan(FRAME.clear(), label="y", score="p").rows()
    assert nothing.collect().is_empty()


def test_the_command(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "x.csv")
    source = [str(tmp_path / "x.csv"), "--label", "y", "--score", "p"]
    done = run("rows", *source, "--worst", "3", "--cell", "fn", "--format", "csv")
    wanted = sqleval.scan(FRAME, label="y", score="p").rows(3, cell="fn").collect()
    assert pl.read_csv(done.stdout.encode())["id"].to_list() == wanted["id"].to_list()
    done = run("rows", *source, "--by", "g", "--nearest", "1", "--to", "0.2")
    assert done.stdout.startswith("g")
    assert "distance" in done.stdout
