"""Wrong input has one error type and one sentence; odd names and values are not wrong."""

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import sqleval
from sqleval import DataError, RequestError, SourceError, SqlevalError

ROWS = pl.DataFrame(
    {
        "y": [0, 1, 1, 0],
        "p": [0.1, 0.9, 0.6, 0.4],
        "carrier": ["AA", "DL", "AA", "DL"],
        "s": ["no", "yes", "yes", "no"],
        "k": [0, 1, 2, 1],
        "q": [1, 1, 2, 2],
        "w": [1.0, 2.0, 1.0, 0.5],
        "d": [datetime.date(2013, 7, 1)] * 4,
        "b": [True, False, True, False],
    }
)
NAN, INF = float("nan"), float("inf")
ALL = "(columns: y, p, carrier, s, k, q, w, d, b)"
DROP = "; nulls='drop' (--nulls drop) leaves them out and counts them"
SEVERAL = "task='multiclass' (--task multiclass) takes several classes"
TWO = f"; positive= (--positive) names the positive value of two, {SEVERAL}"


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
    ROWS.write_delta(here / "delta")
    (here / "iceberg" / "metadata").mkdir(parents=True)
    (here / "iceberg" / "metadata" / "00000-1.metadata.json").write_text("{}")
    ROWS.write_parquet(here / "iceberg" / "1.parquet")
    return here


class Wrong(NamedTuple):
    """A call that must be refused: what differs from a right one, and how it is refused.

    ``at`` is the step that refuses: binding errors rise in `scan`, what does not fit the
    metrics in `evaluate`, and what only the rows can show in `collect`.
    """

    given: dict[str, Any]
    at: str
    error: type[SqlevalError]
    message: str


def instead(**columns: list[Any]) -> dict[str, Any]:
    """Return the rows as the source, with other values in some columns."""
    return {"source": ROWS.with_columns(**{k: pl.Series(v) for k, v in columns.items()})}


def file(name: str) -> dict[str, Any]:
    return {"source": lambda folder: folder / name}


FILES = [
    Wrong(file("rowz.parquet"), "scan", SourceError, "rowz.parquet'; did you mean 'rows.parquet'?"),
    Wrong(file("nowhere/rows.parquet"), "scan", SourceError, "no such file: '"),
    Wrong({"source": lambda folder: [folder / "rows.parquet", folder / "2.parquet"]}, "scan",
          SourceError, "no such file: '"),
    Wrong({"source": lambda folder: f"{folder}/q*.parquet"}, "scan", SourceError,
          "/q*.parquet'"),
    Wrong({"source": lambda folder: f"{folder}/**/q*.parquet"}, "scan", SourceError,
          "no file matches '"),
    Wrong(file("empty"), "scan", SourceError,
          "no data file (.parquet, .csv, .tsv, .csv.gz, .json, .jsonl, .ndjson) in the folder '"),
    Wrong(file("delta"), "scan", SourceError, "/delta' holds a table in the Delta format"),
    Wrong(file("iceberg"), "scan", SourceError, "pass polars.scan_iceberg(...)"),
    Wrong({"source": []}, "scan", SourceError, "the list of paths is empty"),
    Wrong(file("rows.xlsx"), "scan", SourceError, "files end in .xlsx; one of .parquet, .csv"),
    Wrong({"source": lambda folder: [folder / "rows.parquet", folder / "rows.csv"]}, "scan",
          SourceError, "files end in .csv, .parquet"),
    Wrong(file("cut.parquet"), "scan", SourceError, "cut.parquet"),
    Wrong(file("nothing.parquet"), "scan", SourceError, "nothing.parquet"),
    Wrong(file("text.parquet"), "scan", SourceError, "text.parquet"),
    Wrong(file("torn.parquet"), "collect", SourceError, "torn.parquet"),
    Wrong(file("parts"), "collect", SourceError, "/parts/2.parquet"),
    Wrong({"source": lambda folder: [folder / "parts" / f"{i}.parquet" for i in (1, 2)]},
          "collect", SourceError, 'could not be found in file "'),
    Wrong({"source": lambda folder: f"{folder}/parts/*.parquet"}, "collect", SourceError,
          'column "p"'),
    Wrong(file("texts"), "collect", SourceError, "/texts/2.csv"),
    Wrong(file("types"), "scan", SourceError, "/types/2.parquet"),
    Wrong({"source": None, "query": "SELECT * FROM nowhere"}, "scan", SourceError, "nowhere"),
    Wrong({"source": None, "query": "SELEC 1"}, "scan", SourceError, "cannot read the query: "),
    Wrong({"source": None, "query": "SELECT 1; SELECT 2"}, "scan", SourceError,
          "cannot read the query: "),
    Wrong({"source": "nowhere", "con": duckdb.connect()}, "scan", SourceError, "nowhere"),
    Wrong({"source": None}, "scan", RequestError, "give a path"),
]  # fmt: skip

COLUMNS = [
    Wrong({"score": "pp"}, "scan", RequestError,
          f"score='pp': no such column in the DataFrame; did you mean 'p'? {ALL}"),
    Wrong({"label": "yy"}, "scan", RequestError,
          f"label='yy': no such column in the DataFrame; did you mean 'y'? {ALL}"),
    Wrong({"label": "Y"}, "scan", RequestError,
          f"label='Y': no such column in the DataFrame; did you mean 'y'? {ALL}"),
    Wrong({"by": ["carier"]}, "scan", RequestError,
          f"by='carier': no such column in the DataFrame; did you mean 'carrier'? {ALL}"),
    Wrong({"weight": "weights"}, "scan", RequestError,
          f"weight='weights': no such column in the DataFrame {ALL}"),
    Wrong({"score": {"one": "p", "two": "zz"}}, "scan", RequestError,
          "score='zz': no such column in the DataFrame"),
    Wrong({"by": ["carrier", "carrier"]}, "scan", RequestError, "by= names 'carrier' twice"),
    Wrong({"score": None}, "scan", RequestError,
          "give score= or prediction=, the column to evaluate"),
    Wrong({"score": {}}, "scan", RequestError, "score= is an empty mapping"),
    Wrong({"score": {"a": "p"}, "prediction": {"a": "y"}}, "scan", RequestError,
          "score= and prediction= cannot both name several columns"),
    Wrong({"score": "carrier"}, "scan", RequestError,
          "score='carrier' must be a number and is VARCHAR"),
    Wrong({"score": "d"}, "scan", RequestError, "score='d' must be a number and is DATE"),
    Wrong({"score": "b"}, "scan", RequestError, "score='b' must be a number and is BOOLEAN"),
    Wrong({"weight": "s"}, "scan", RequestError, "weight='s' must be a number and is VARCHAR"),
    Wrong({"label": "s"}, "scan", RequestError,
          "label='s' is VARCHAR: name the positive value with positive= (--positive), or use "
          "task='multiclass' (--task multiclass)"),
    Wrong({"label": "d"}, "scan", RequestError,
          "label='d' is DATE: name the positive value with positive= (--positive)"),
    Wrong({"label": "k", "positive": "high"}, "scan", RequestError,
          "positive='high' is no integer, and 'k' is BIGINT"),
    Wrong({"task": "regresion", "score": None, "prediction": "p"}, "scan", RequestError,
          "task='regresion' must be one of binary, multiclass, regression, ranking"),
    Wrong({"nulls": "skip"}, "scan", RequestError, "nulls='skip' must be 'error' or 'drop'"),
    Wrong({"labels": ROWS}, "scan", RequestError,
          "labels= and on= go together: the second source, and the key to join by"),
    Wrong({"on": "q"}, "scan", RequestError,
          "labels= and on= go together: the second source, and the key to join by"),
    Wrong({"labels": ROWS, "on": "kk"}, "scan", RequestError, "on='kk': no such column in"),
    Wrong({"labels": ROWS.drop("q"), "on": "q"}, "scan", RequestError, "on='q': no such column in"),
    Wrong({"labels": ROWS.drop("y"), "on": "q"}, "scan", RequestError,
          "label='y': no such column in"),
    Wrong({"threshold": "high"}, "scan", RequestError, "threshold='high'"),
    Wrong({"threshold": NAN}, "scan", RequestError, "threshold=nan"),
    Wrong({"threshold": True}, "scan", RequestError, "threshold=True"),
    # The result has columns of its own, and no frame has two of one name.
    *(Wrong({"source": ROWS.with_columns(pl.col("carrier").alias(name)), "by": name}, "evaluate",
            RequestError, f"by={name!r}")
      for name in ("metric", "value", "low", "high", "method", "n", "n_dropped", "note")),
    Wrong({"source": ROWS.with_columns(model=pl.lit("a")), "by": "model",
           "score": {"one": "p", "two": "w"}}, "scan", RequestError,
          "by= names 'model', which is the key of a mapping of models"),
]  # fmt: skip

VALUES = [
    Wrong({"label": "k"}, "collect", DataError,
          f"label='k' must hold 0 and 1 (or -1 and 1); its values run from 0 to 2{TWO}"),
    Wrong(instead(y=[-1, 0, 1, 1]), "collect", DataError,
          f"label='y' must hold 0 and 1 (or -1 and 1); its values run from -1 to 1{TWO}"),
    Wrong(instead(y=[0.0, 0.5, 1.0, 1.0]), "collect", DataError,
          f"label='y' must hold 0 and 1 (or -1 and 1); its values run from 0.0 to 1.0{TWO}"),
    Wrong(instead(y=[5, 5, 5, 5]), "collect", DataError, "its values run from 5 to 5"),
    Wrong({"label": "k", "positive": 1}, "collect", DataError,
          f"label='k' has more than two values: beside positive=1 there are 0 and 2; {SEVERAL}"),
    Wrong({**instead(s=["a", "b", "c", "a"]), "label": "s", "positive": "a"}, "collect", DataError,
          f"label='s' has more than two values: beside positive='a' there are b and c; {SEVERAL}"),
    Wrong({"label": "s", "positive": "Yes"}, "collect", DataError,
          "label='s' has more than two values: beside positive='Yes' there are no and yes"),
    Wrong({"score": None, "prediction": "k", "task": "binary", "metrics": "recall"}, "collect",
          DataError, "prediction='k' must hold 0 and 1 (or -1 and 1); its values run from 0 to 2"),
    Wrong(instead(y=[None, 1, None, 0]), "collect", DataError,
          f"label='y' is NULL or NaN in 2 of 4 rows{DROP}"),
    Wrong(instead(y=[NAN, 1.0, 1.0, 0.0]), "collect", DataError,
          f"label='y' is NULL or NaN in 1 of 4 rows{DROP}"),
    Wrong(instead(p=[None, 0.1, None, 0.3]), "collect", DataError,
          f"score='p' is NULL or NaN in 2 of 4 rows{DROP}"),
    Wrong(instead(p=[NAN, 0.1, NAN, None]), "collect", DataError,
          f"score='p' is NULL or NaN in 3 of 4 rows{DROP}"),
    Wrong({**instead(p=[NAN, 0.1, NAN, None]), "where": "carrier = 'AA'"}, "collect", DataError,
          f"score='p' is NULL or NaN in 2 of 2 rows{DROP}"),
    Wrong({**instead(w=[None, 1, 1, 0]), "weight": "w"}, "collect", DataError,
          f"weight='w' is NULL, NaN or infinite in 1 of 4 rows{DROP}"),
    Wrong({**instead(w=[INF, 1.0, 1.0, 0.0]), "weight": "w"}, "collect", DataError,
          "weight='w' is NULL, NaN or infinite in 1 of 4 rows"),
    Wrong({**instead(w=[-1, 1, -2, 0]), "weight": "w"}, "collect", DataError,
          "weight='w' is negative in 2 of 4 rows; weights are 0 or more"),
    Wrong({**instead(w=[-1, 1, -2, 0]), "weight": "w", "nulls": "drop"}, "collect", DataError,
          "weight='w' is negative in 2 of 4 rows; weights are 0 or more"),
    Wrong({**instead(p=[1.2, 0.1, 0.2, 0.3]), "metrics": "log_loss"}, "collect", DataError,
          "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of 4 rows"),
    Wrong({**instead(p=[1.2, 0.1, -0.2, 0.3]), "metrics": ["log_loss", "brier_score"]}, "collect",
          DataError,
          "log_loss, brier_score need scores in 0 .. 1; score='p' is outside in 2 of 4 rows"),
    Wrong({**instead(p=[1.2, 0.1, 0.2, 0.3]), "metrics": "log_loss", "by": ["k", "w"],
           "sets": "cube"}, "collect", DataError,
          "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of 4 rows"),
    Wrong({**instead(p=[INF, 0.1, 0.2, 0.3]), "metrics": "log_loss"}, "collect", DataError,
          "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of 4 rows"),
    Wrong({**instead(p=[-3.0, 2.0, 1.0, 0.5]), "metrics": ["precision", "roc_auc"]}, "collect",
          DataError, "precision: the default threshold 0.5 is for scores in 0 .. 1, and score='p' "
          "is outside in 2 of 4 rows; give threshold= (--threshold)"),
    Wrong({**instead(p=[INF, 2.0, NAN, -0.3]), "score": None, "prediction": "p",
           "task": "regression", "metrics": "mse"}, "collect", DataError,
          f"prediction='p' is NULL, NaN or infinite in 2 of 4 rows{DROP}"),
    Wrong({"label": "k", "score": {0: "p", 1: "w"}, "task": "multiclass",
           "metrics": "accuracy"}, "collect", DataError,
          "label='k' holds 2, a class without a score column, in 1 of 4 rows"),
]  # fmt: skip

METRICS = [
    Wrong({"metrics": "roc_acu"}, "evaluate", RequestError,
          "no metric called 'roc_acu'; did you mean 'roc_auc'?"),
    Wrong({"metrics": ["roc_auc", "F1"]}, "evaluate", RequestError,
          "no metric called 'F1'; did you mean 'f1'?"),
    Wrong({"metrics": "gini_of_nothing"}, "evaluate", RequestError,
          "no metric called 'gini_of_nothing'; `sqleval list` shows them all"),
    Wrong({"metrics": "cutoffs"}, "evaluate", RequestError,
          "no metric called 'cutoffs' ('cutoffs' is a step)"),
    Wrong({"metrics": "roc_curve"}, "evaluate", RequestError,
          "no metric called 'roc_curve' ('roc_curve' is a curve)"),
    Wrong({"metrics": "predictions"}, "evaluate", RequestError, "no metric called 'predictions'"),
    Wrong({"metrics": []}, "evaluate", RequestError,
          "no metric is named; leave metrics out for the default set"),
    *(Wrong({"metrics": text}, "evaluate", RequestError,
            f"cannot read the metric {text!r}; write it as f1 or f_beta(beta=2)")
      for text in ("", "f1; DROP TABLE x", "roc_auc(", "f_beta(2)", "f_beta(beta=x)",
                   "__import__('os')", "f1(average=macro)", "f_beta(**{'beta': 2})")),
    Wrong({"metrics": "f_beta(bta=2)"}, "evaluate", RequestError,
          "f_beta has no parameter 'bta'; did you mean 'beta'?"),
    Wrong({"metrics": "roc_auc(x=1)"}, "evaluate", RequestError,
          "roc_auc has no parameter 'x'; it takes none"),
    Wrong({"metrics": "f_beta(beta='2')"}, "evaluate", RequestError,
          "f_beta(beta=) must be a float, not '2'"),
    Wrong({"metrics": "f_beta(beta=True)"}, "evaluate", RequestError,
          "f_beta(beta=) must be a float, not True"),
    Wrong({"metrics": "f_beta(beta=[1])"}, "evaluate", RequestError,
          "f_beta(beta=) must be a float, not [1]"),
    Wrong({"metrics": "log_loss(eps=None)"}, "evaluate", RequestError,
          "log_loss(eps=) must be a float, not None"),
    Wrong({"metrics": "f_beta(beta=-1)"}, "evaluate", RequestError, "f_beta(beta=)"),
    Wrong({"metrics": "f1(average='makro')", "label": "k", "score": None, "prediction": "q"},
          "evaluate", RequestError,
          "average='makro' is not known for f1; use one of 'macro', 'micro', 'weighted', None"),
    Wrong({"metrics": "f1(average='macro')"}, "evaluate", RequestError,
          "f1: average= is for metrics of two classes over several classes"),
    Wrong({"metrics": "mse"}, "evaluate", RequestError,
          "mse is a regression metric and the task is binary"),
    Wrong({"metrics": "ndcg"}, "evaluate", RequestError,
          "ndcg is a ranking metric and the task is binary"),
    Wrong({"metrics": "roc_auc", "task": "regression", "score": None, "prediction": "p"},
          "evaluate", RequestError, "roc_auc is a binary metric and the task is regression"),
    Wrong({"metrics": "ndcg", "qid": "q", "weight": "w"}, "evaluate", RequestError,
          "ndcg: weight= is given and this metric cannot use weights"),
    Wrong({"metrics": "ndcg", "task": "ranking"}, "evaluate", RequestError,
          "ndcg: qid= is needed and not given"),
    Wrong({"metrics": "ndcg(k=0)", "qid": "q"}, "evaluate", RequestError, "ndcg(k=)"),
    Wrong({"metrics": "roc_auc", "score": None, "prediction": "y", "task": "binary"}, "evaluate",
          RequestError, "roc_auc: score= is needed and not given"),
    Wrong({"metrics": "mse", "task": "regression"}, "evaluate", RequestError,
          "mse: prediction= is needed and not given"),
    Wrong({"metrics": "precision(threshold=0.3)", "score": None, "prediction": "y",
           "task": "binary"}, "evaluate", RequestError, "threshold"),
    Wrong({"metrics": "log_loss", "label": "k", "score": None, "prediction": "q"}, "evaluate",
          RequestError, "log_loss: a probability per class is needed: score={class: column, ...}"),
    *(Wrong({"ci": ci}, "evaluate", RequestError,
            f"ci={ci!r} must be between 0 and 1, such as 0.95")
      for ci in (1.5, 1, 0, -0.1, NAN)),
]  # fmt: skip

NOT_ONE = "must be one condition, such as \"carrier = 'AA'\""
NOT_HELD = "may not hold a subquery, an aggregate or a parameter"
WHERE = [
    *(Wrong({"where": text}, "scan", RequestError, f"where={text!r} {NOT_HELD}")
      for text in ("carrier = (SELECT 1)", "p IN (SELECT 1)", "EXISTS (SELECT 1)",
                   "sum(p) > 1", "count(*) > 1", "list(p) = [1]", "first(p) = 1",
                   "row_number() OVER () = 1", "lag(p) OVER (ORDER BY p) > 1",
                   "p > $x", "p > ?")),
    *(Wrong({"where": text}, "scan", RequestError, f"where={text!r} {NOT_ONE}")
      for text in ("1 = 1; DROP TABLE x", "SELECT 1", "*", "DROP TABLE x")),
    *(Wrong({"where": text}, "scan", RequestError, " is not SQL: ")
      for text in ("carrier = 'AA", "y > 0 OR", "y > 0) OR (1 = 1", "y = 1 LIMIT 1", "p > 0 /* ")),
    Wrong({"where": "carier = 'AA'"}, "scan", RequestError,
          f"where='carier': no such column in the DataFrame; did you mean 'carrier'? {ALL}"),
    Wrong({"where": "x.p > 1"}, "scan", RequestError, "where='x.p': no such column in"),
    # What only the engine knows is no function, or no comparison, is refused as early.
    *(Wrong({"where": text}, "scan", RequestError, f"where={text!r}")
      for text in ("unknown_function(p) > 1", "reservoir_quantile(p, 0.5) = 1", "carrier + 1 = 2",
                   "unnest([1, 2]) = 1", "read_text('/etc/hostname') = 'x'")),
]  # fmt: skip

CASES = [*FILES, *COLUMNS, *VALUES, *METRICS, *WHERE]


def attempt(given: dict[str, Any], folder: Path, reached: list[str]) -> pl.DataFrame:
    """Make the call step by step, noting each step that begins."""
    call = {"source": ROWS, "label": "y", "score": "p", "metrics": "roc_auc", "ci": None} | given
    metrics, ci, source = call.pop("metrics"), call.pop("ci"), call.pop("source")
    source = source(folder) if callable(source) else source
    reached.append("scan")
    bound = sqleval.scan(source, **call)
    reached.append("evaluate")
    result = bound.evaluate(metrics, ci=ci)
    reached.append("collect")
    return result.collect()


def named(case: Wrong) -> str:
    given = {
        k: "..." if callable(v) or not isinstance(v, str | dict | float) else v
        for k, v in case.given.items()
    }
    return ",".join(f"{k}={v}" for k, v in given.items()) + f"|{case.message[:60]}"


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


@pytest.mark.parametrize("values", HOLES, ids=str)
@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32], ids=str)
@pytest.mark.parametrize("writer", ["polars", "pyarrow", "duckdb"])
def test_missing_values_are_seen_in_files(
    writer: str, kind: Any, values: list[Any], tmp_path: Path
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
    for metrics in ("roc_auc", ["roc_auc", "average_precision", "precision(threshold=0.5)"]):
        dropped = sqleval.scan(path, label="y", score="p", nulls="drop").evaluate(metrics).collect()
        clean = sqleval.scan(kept, label="y", score="p").evaluate(metrics).collect()
        assert dropped["value"].to_list() == clean["value"].to_list()
        assert dropped["n_dropped"].unique().to_list() == [4 - kept.height]


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
    with pytest.raises(RequestError, match="roc_curve is for a label of classes, and the task is"):
        regression.curve("roc")
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
def test_the_default_set_notes_what_it_cannot_say(name: str, ci: float | None) -> None:
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


# -- names and values that must simply work ------------------------------------------------

NAMES = [
    "slice", "label", "score", "prediction", "weight", "query", "key", "select", "value", "metric",
    "model", "n", "note", "problem", "notice", "ordinal", "_rows", "_source", "_one", "slice_1",
    "s", "a", 'a"b', '"', "'", "it's", "x; DROP TABLE t", "-- comment", "with space", " ",
    "größe", "UPPER", "$threshold", "?", "a.b", "new\nline", "rowid", "filename",
]  # fmt: skip
CONFUSION = {"label", "prediction", "n"}
TALL = {"metric", "value", "low", "high", "method", "n", "n_dropped", "note"}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


#: For each role: the kind of source to try it on, the call, and the values of the column.
TRIED: dict[str, tuple[str, Callable[[str], dict[str, Any]], list[Any]]] = {
    "label": ("file", lambda name: {"label": name}, [0, 1, 0, 1]),
    "score": ("stream", lambda name: {"score": name}, [0.1, 0.9, 0.8, 0.2]),
    "weight": ("frame", lambda name: {"weight": name}, [1.0, 1.0, 1.0, 1.0]),
    "by": ("file", lambda name: {"by": name}, ["a", "a", "b", "b"]),
    "where": ("stream", lambda name: {"where": f"{quoted(name)} <> 'c'"}, ["a", "a", "b", "b"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("role", TRIED)
@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_a_name(name: str, role: str, tmp_path: Path) -> None:
    if role == "by" and name in TALL:
        pytest.skip("refused, see above")
    kind, call, values = TRIED[role]
    plain = {"yy": TRIED["label"][2], "pp": TRIED["score"][2], "gg": TRIED["by"][2]}
    frame = pl.DataFrame({**plain, name: values})
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    roles: dict[str, Any] = {"label": "yy", "score": "pp", "by": "gg"} | call(name)
    bound = sqleval.scan(source[kind], **roles)
    result = bound.evaluate(["roc_auc", "precision"])
    got = result.collect().filter(pl.col("metric") == "roc_auc")
    assert got["value"].to_list() == [1, 0]
    if role == "by":
        assert got.columns[0] == name
        filtered = result.filter(pl.col(name) == "b").collect()
        assert filtered[name].to_list() == ["b"] * 2
        if name not in CONFUSION:
            assert bound.confusion().collect()[name].unique().sort().to_list() == ["a", "b"]
    elif role == "score":
        assert bound.curve("roc").collect().height == 6


@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_a_key_may_be_called_as_a_pattern(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.2], name: ["a", "a", "b", "b"]})
    frame.write_parquet(tmp_path / "rows.parquet")
    for source in (frame, frame.lazy(), tmp_path):
        got = sqleval.scan(source, label="y", score="p", by=name).evaluate("roc_auc").collect()
        assert got[name].to_list() == ["a", "b"]
        assert got["value"].to_list() == [1, 0]


def test_names_may_all_be_swapped() -> None:
    frame = pl.DataFrame(
        {"score": [0, 1, 0, 1], "label": [0.1, 0.9, 0.8, 0.2], "weight": ["a", "a", "b", "b"],
         "slice": [1.0, 1.0, 1.0, 1.0], "prediction": ["c", "c", "c", "d"]}
    )  # fmt: skip
    bound = sqleval.scan(
        frame, label="score", score="label", weight="slice", by=["weight", "prediction"],
        where="prediction <> 'd'",
    )  # fmt: skip
    got = bound.evaluate("roc_auc").collect()
    assert got.select("weight", "prediction", "value", "note").rows() == [
        ("a", "c", 1.0, None),
        ("b", "c", None, "no positive labels"),
    ]


def test_a_key_may_not_be_called_like_a_column_of_the_result() -> None:
    frame = pl.DataFrame({"yy": [0, 1], "pp": [0.1, 0.9], "value": ["a", "a"], "tpr": ["b", "b"]})
    bound = sqleval.scan(frame, label="yy", score="pp", by="value")
    assert bound.curve("roc").collect()["value"].unique().to_list() == ["a"]
    with pytest.raises(RequestError, match="by='tpr'"):
        sqleval.scan(frame, label="yy", score="pp", by="tpr").curve("roc")
    for name in CONFUSION:
        bound = sqleval.scan(frame.rename({"value": name}), label="yy", score="pp", by=name)
        with pytest.raises(RequestError, match=f"by='{name}'"):
            bound.confusion()


def test_where_finds_columns_as_sql_does() -> None:
    frame = ROWS.rename({"carrier": "Carrier"})
    for text in ("CARRIER = 'AA'", "\"Carrier\" = 'AA'", "carrier LIKE 'A%' AND p < .5e0 + 1"):
        got = sqleval.scan(frame, label="y", score="p", where=text).evaluate("roc_auc").collect()
        assert got["n"].item() == 2


ODD = [
    "it's",
    "'; DROP TABLE x; --",
    'say "a"',
    "$threshold",
    "a\\b",
    "größe 点",
    "",
    " ",
    "\n",
    "%",
]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_any_text_is_a_slice(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1] * len(ODD), "p": [0.2, 0.7] * len(ODD)})
    frame = frame.with_columns(g=pl.Series([text for text in ODD for _ in range(2)]))
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    result = sqleval.scan(source[kind], label="y", score="p", by="g").evaluate("roc_auc")
    got = result.collect()
    assert sorted(got["g"]) == sorted(ODD)
    assert got["value"].to_list() == [1.0] * len(ODD)
    for text in ODD:
        assert result.filter(pl.col("g") == text).collect()["g"].to_list() == [text]
        where = "g = '" + text.replace("'", "''") + "'"
        only = sqleval.scan(source[kind], label="y", score="p", where=where).evaluate("roc_auc")
        assert only.collect()["n"].item() == 2


def test_any_text_is_a_class() -> None:
    classes = ODD[:4]
    rows = {"y": classes, "z": [*classes[:3], classes[0]]}
    rows |= {f"p{i}": [1.0 if i == j else 0.0 for j in range(4)] for i in range(4)}
    frame = pl.DataFrame(rows)
    decided = sqleval.scan(frame, label="y", prediction="z")
    assert decided.evaluate("accuracy").collect()["value"].item() == 0.75
    assert set(decided.confusion().collect()["label"]) == set(classes)
    scored = sqleval.scan(
        frame, label="y", score={c: f"p{i}" for i, c in enumerate(classes)}, task="multiclass"
    )
    assert scored.evaluate(["accuracy", "roc_auc_ovr"]).collect()["value"].to_list() == [1, 1]
    for text in classes:
        two = frame.with_columns(y=pl.when(pl.col("y") == text).then("y").otherwise(pl.lit("x")))
        bound = sqleval.scan(two, label="y", score=f"p{classes.index(text)}", positive=text)
        assert bound.evaluate("roc_auc").collect()["value"].item() == 1


def test_any_text_is_a_model() -> None:
    names = [re.sub(r"^$", "none", text) for text in ODD]
    bound = sqleval.scan(ROWS, label="y", score=dict.fromkeys(names, "p"), by="carrier")
    result = bound.evaluate(["roc_auc", "precision"])
    got = result.collect()
    assert set(got["model"]) == set(names)
    assert got.height == 2 * 2 * len(names)
    for name in names:
        assert result.filter(pl.col("model") == name).collect().height == 4
    pasted = duckdb.connect()
    pasted.register("_sqleval_rows", ROWS.to_arrow())
    assert pasted.sql(bound.sql("roc_auc")).pl()["model"].n_unique() == len(names)


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
    ("frame", "metric", "said"),
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
    frame: pl.DataFrame, metric: str, said: str, slices: dict[str, Any]
) -> None:
    bound = sqleval.scan(frame, label="y", score={"a": "a", "b": "b"}, **slices)
    with pytest.raises(DataError, match=re.escape(said)):
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
    with pytest.raises(RequestError, match=r"^brier_reliability needs every score, and bins="):
        bound.evaluate("brier_reliability", bins=5)
