"""Wrong input raises one type of error with one sentence, before or at collect."""

import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import sqleval
from sqleval import DataError, RequestError, SourceError, SqlevalError
from tests.support.tried import check_tried
from tests.support.wrong_inputs import CASES, DROP, INF, NAN, ROWS, Wrong, instead, named


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of files, most of them broken in one way."""
    here = tmp_path_factory.mktemp("files")
    (here / "empty").mkdir()
    ROWS.write_parquet(here / "rows.parquet")
    ROWS.write_csv(here / "rows.csv")
    (here / "parts").mkdir()
    ROWS.write_parquet(here / "parts" / "1.parquet")
    ROWS.drop("p").write_parquet(here / "parts" / "2.parquet")
    (here / "texts").mkdir()
    ROWS.select("y", "p", "q", "w").write_csv(here / "texts" / "1.csv")
    ROWS.select("y", "q", "w").write_csv(here / "texts" / "2.csv")
    (here / "types").mkdir()
    ROWS.write_parquet(here / "types" / "1.parquet")
    ROWS.with_columns(p=pl.lit("high")).write_parquet(here / "types" / "2.parquet")
    whole = (here / "rows.parquet").read_bytes()
    (here / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    (here / "torn.parquet").write_bytes(whole[:4] + bytes(footer - 4) + whole[footer:])
    (here / "nothing.parquet").write_bytes(b"")
    (here / "text.parquet").write_text("these are no columns, these are words")
    (here / "rows.xlsx").write_bytes(b"PK")
    (here / "header.csv").write_text("y,p\n")
    (here / "nothing.csv").write_text("")
    (here / "latin.csv").write_bytes(b"y,p\n1,caf\xe9\n")
    ROWS.write_delta(here / "delta")
    (log,) = (here / "delta" / "_delta_log").glob("*.json")
    log.write_text("{")
    (here / "iceberg" / "metadata").mkdir(parents=True)
    (here / "iceberg" / "metadata" / "00000-1.metadata.json").write_text("{}")
    ROWS.write_parquet(here / "iceberg" / "1.parquet")
    return here


def attempt(given: dict[str, Any], folder: Path, reached: list[str]) -> pl.DataFrame:
    """Make the call step by step, and record each step that begins."""
    call = {"source": ROWS, "label": "y", "score": "p", "metrics": "roc_auc", "ci": None} | given
    metrics, ci, source = call.pop("metrics"), call.pop("ci"), call.pop("source")
    source = source(folder) if callable(source) else source
    reached.append("scan")
    bound = sqleval.scan(source, **call)
    reached.append("evaluate")
    result = bound.evaluate(metrics, ci=ci)
    reached.append("collect")
    return result.collect()


def test_the_page_counts_the_cases() -> None:
    check_tried("wrong calls and files", len(CASES))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_wrong_input(case: Wrong, folder: Path) -> None:
    reached: list[str] = []
    with pytest.raises(SqlevalError) as raised:
        attempt(case.given, folder, reached)
    assert case.message in str(raised.value)
    assert type(raised.value) is case.error
    assert reached[-1] == case.at


def test_right_input_is_not_refused(folder: Path) -> None:
    assert attempt({}, folder, [])["value"].item() == 1


HOLES = [
    [NAN, 0.1, 0.2, 0.3],
    [NAN, None, NAN, 0.5],
    [INF, -INF, NAN, 0.5],
    [NAN, NAN, NAN, NAN],
    [0.5, 0.5, NAN, 0.5],
    [0.5, NAN, NAN, None],
]


#: Alone, roc_auc ranks the rows; beside others it counts equal scores.
TOGETHER = ["roc_auc", "average_precision", "precision(threshold=0.5)"]
#: Every writer with all values, and both columns with either type in both ways.
WRITTEN = [
    (
        writer, (pl.Float64, pl.Float32)[(place + other) % 2],
        (["roc_auc"], TOGETHER)[(place + other // 2) % 2], values,
    )
    for place, writer in enumerate(("polars", "pyarrow", "duckdb"))
    for other, values in enumerate(HOLES)
]  # fmt: skip


@pytest.mark.parametrize(("writer", "kind", "metrics", "values"), WRITTEN, ids=str)
def test_missing_values_are_seen_in_files(
    writer: str, kind: Any, metrics: list[str], values: list[Any], tmp_path: Path
) -> None:
    # A file's statistics leave NaN out, so an engine that trusts them would not see it.
    bad = ROWS.with_columns(p=pl.Series(values, dtype=kind))
    path = tmp_path / "rows.parquet"
    if writer == "polars":
        bad.write_parquet(path)
    elif writer == "pyarrow":
        pq.write_table(bad.to_arrow(), path)
    else:
        duckdb.connect().from_arrow(bad.to_arrow()).write_parquet(str(path))
    kept = bad.filter(pl.col("p").is_not_nan())
    bound = sqleval.scan(path, label="y", score="p")
    with pytest.raises(DataError, match=f"score='p' is NULL or NaN in {4 - kept.height} of 4 rows"):
        bound.evaluate("roc_auc").collect()
    dropped = sqleval.scan(path, label="y", score="p", nulls="drop").evaluate(metrics).collect()
    clean = sqleval.scan(kept, label="y", score="p").evaluate(metrics).collect()
    assert dropped["value"].to_list() == clean["value"].to_list()
    assert dropped["n_dropped"].unique().to_list() == [4 - kept.height]


@pytest.mark.parametrize("role", ["label", "prediction"])
def test_a_class_that_is_nan_is_a_missing_one(role: str) -> None:
    clean = pl.DataFrame({"y": [0.0, 1.0, 1.0, 0.0], "z": [0.0, 1.0, 0.0, 0.0]})
    column = {"label": "y", "prediction": "z"}[role]
    rows = clean.vstack(clean[:1].with_columns(pl.lit(NAN).alias(column)))
    for options in ({}, {"positive": 1}):
        roles: dict[str, Any] = {"label": "y", "prediction": "z", "task": "binary"} | options
        expected = sqleval.scan(clean, **roles).evaluate("precision").collect()
        found = sqleval.scan(rows, **roles, nulls="drop").evaluate("precision").collect()
        assert found.drop("n_dropped").equals(expected.drop("n_dropped"))
        assert found["n_dropped"].item() == 1
        with pytest.raises(DataError, match=f"{role}='{column}' is NULL or NaN in 1 of 5 rows"):
            sqleval.scan(rows, **roles).evaluate("precision").collect()


def test_a_reader_cannot_be_read_twice() -> None:
    result = sqleval.scan(ROWS.to_arrow().to_reader(), label="y", score="p").evaluate("roc_auc")
    result.collect()
    with pytest.raises(SourceError, match="it can be read only once; pass a Table or a Dataset"):
        result.collect()


def test_a_curve_of_logits_needs_no_threshold_and_a_confusion_does() -> None:
    logits = sqleval.scan(**instead(p=[-3.0, 2.0, 1.0, 0.5]), label="y", score="p")
    assert logits.curve("roc").collect()["tpr"].max() == 1
    sentence = "confusion: the default threshold 0.5 is for scores in 0 .. 1"
    with pytest.raises(DataError, match=sentence):
        logits.confusion().collect()
    assert logits.confusion(threshold=0).collect()["n"].sum() == 4
    for threshold in ("a", True, float("nan")):
        with pytest.raises(RequestError, match=f"threshold={threshold!r} must be a number"):
            logits.confusion(threshold=threshold)  # type: ignore[arg-type]


def test_curves_refuse_what_metrics_refuse() -> None:
    bound = sqleval.scan(ROWS, label="y", score="p")
    with pytest.raises(RequestError, match="roc_curve has no parameter 'drop'"):
        bound.curve("roc", drop=True)
    with pytest.raises(
        RequestError, match=r"roc_curve\(drop_intermediate=\) must be a bool, not 1"
    ):
        bound.curve("roc", drop_intermediate=1)
    with pytest.raises(RequestError, match="no curve called 'rok'; did you mean 'roc_curve'"):
        bound.curve("rok")
    several = sqleval.scan(ROWS, label="k", prediction="q")
    with pytest.raises(RequestError, match="roc_curve: a probability per class is needed: score="):
        several.curve("roc")
    regression = sqleval.scan(ROWS, label="p", prediction="p", task="regression")
    with pytest.raises(RequestError) as refused:
        regression.curve("roc")
    assert (
        "roc_curve needs task='binary' or task='multiclass' or task='multilabel' (--task)"
        in str(refused.value)
    )
    assert "the task is 'regression'; its curves: error_by_quantile, " in str(refused.value)
    decided = sqleval.scan(ROWS, label="y", prediction="b", task="binary")
    with pytest.raises(RequestError, match="roc_curve: score= is needed and not given"):
        decided.curve("roc")


DEFAULTS = {
    "probability above 1": (
        [1.2, 0.1, 0.2, 0.3],
        {"roc_auc", "average_precision", "ks", "prevalence"},
    ),
    "logits": ([-3.0, 2.0, 1.0, 0.5], {"roc_auc", "average_precision", "ks", "prevalence"}),
}


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("ci", [None, 0.9])
def test_undefined_metrics_of_the_default_set_have_a_note(name: str, ci: float | None) -> None:
    scores, defined = DEFAULTS[name]
    got = sqleval.scan(**instead(p=scores), label="y", score="p").evaluate(ci=ci).collect()
    assert got.height == 12
    for metric, value, low, note in got.select("metric", "value", "low", "note").iter_rows():
        if metric in defined:
            assert value is not None
        else:
            assert (value, low, note) == (None, None, "scores are outside 0 .. 1")


def test_a_threshold_of_ones_own_takes_any_score() -> None:
    scores = [-3.0, 2.0, 1.0, 0.5]
    for threshold, metric in ((0.7, "precision"), (None, "precision(threshold=0.7)")):
        bound = sqleval.scan(**instead(p=scores), label="y", score="p", threshold=threshold)
        assert bound.evaluate(metric).collect()["value"].item() == 1


@pytest.mark.skipif(
    pl.__version__.startswith("1."), reason="Polars 1 keeps the text of an error and nothing else"
)
def test_the_statement_is_beside_an_engine_error_not_in_it() -> None:
    bound = sqleval.scan(ROWS, label="y", score="p", where="CAST(carrier AS INTEGER) = 1")
    with pytest.raises(SqlevalError, match="Could not convert string 'AA' to INT32") as raised:
        bound.evaluate("roc_auc").collect()
    assert "SELECT" not in str(raised.value)
    assert "_source" in str(raised.value.statement)


MODELS = pl.DataFrame(
    {
        "y": [0, 1, None, 1],
        "a": [0.1, 0.2, 0.3, None],
        "b": [3.0, 4.0, 0.3, None],
        "g": [1, 2, 1, 2],
    }
)


@pytest.mark.parametrize("slices", [{}, {"by": "g", "sets": "overall"}])
@pytest.mark.parametrize(
    ("frame", "metric", "message"),
    [
        (MODELS, "roc_auc", f"label='y' is NULL or NaN in 1 of 4 rows{DROP}"),
        (MODELS.filter(pl.col("y").is_not_null()), "roc_auc",
         f"score= of 'a', 'b' is NULL or NaN in 2 of 6 scores{DROP}"),
        (MODELS.drop_nulls(), "log_loss",
         "log_loss needs scores in 0 .. 1; score='a', 'b' is outside in 2 of 4 scores"),
        (MODELS.drop_nulls(), "f1", "is outside in 2 of 4 scores; give threshold= (--threshold)"),
    ],
)  # fmt: skip
def test_several_models_are_asked_of_the_same_rows(
    frame: pl.DataFrame, metric: str, message: str, slices: dict[str, Any]
) -> None:
    bound = sqleval.scan(frame, label="y", score={"a": "a", "b": "b"}, **slices)
    with pytest.raises(DataError, match=re.escape(message)):
        bound.evaluate(metric).collect()


@pytest.mark.parametrize("slices", [{}, {"by": "g", "sets": "overall"}])
@pytest.mark.parametrize(("few", "low"), [(0.5, 0.0), (0.0, -1.0)])
def test_one_models_wrong_value_is_refused(few: float, low: float, slices: dict[str, Any]) -> None:
    right = [low, 1.0] * 4
    frame = pl.DataFrame(
        {"y": [0, 1] * 4, "a": [few, *right[1:]], "b": right, "c": right, "g": [1, 2] * 4}
    )
    models = {name: name for name in "abc"}
    bound = sqleval.scan(frame, label="y", prediction=models, task="binary", **slices)
    for asked in (bound.evaluate("accuracy"), *([] if slices else [bound.state()])):
        with pytest.raises(DataError, match="prediction= of 'a', 'b', 'c' must hold 0 and 1"):
            asked.collect()
    scores = frame.with_columns(a="c", p=pl.col("c") + 9)
    scored = sqleval.scan(scores, label="y", prediction=models, score="p", **slices)
    with pytest.raises(DataError, match="score='p' is outside in 8 of 8 rows"):
        scored.evaluate("log_loss").collect()


def test_a_metric_is_named_once() -> None:
    bound = sqleval.scan(MODELS.drop_nulls(), label="y", score="a")
    with pytest.raises(RequestError, match=r"^brier_reliability needs every score, and score bins"):
        bound.evaluate("brier_reliability", bins=5)
