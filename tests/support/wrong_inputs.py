"""Lists calls that must be refused, each with its error, message and time of raising."""

import datetime
from typing import Any, NamedTuple

import duckdb
import polars as pl

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
ALL = "(columns: y, p, carrier, s, k, q, w, d, b)"
DROP = "; nulls='drop' (--nulls drop) leaves them out and counts them"
SEVERAL = "task='multiclass' (--task multiclass) takes several classes"
NAN, INF = float("nan"), float("inf")
WEIGHTS = "it must be in 1e-100 .. 1e100"
TWO = f"; positive= (--positive) names the positive value of two, {SEVERAL}"


class Wrong(NamedTuple):
    """A call that must be refused: its difference from a valid one, and the error.

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
    Wrong({"source": " "}, "scan", RequestError, "the source is ' ': name a file"),
    Wrong(file("empty"), "scan", SourceError,
          "no data file (.parquet, .pq, .csv, .tsv, .tab, .json, .jsonl, .ndjson, .arrow, "
          ".feather, .ipc, .arff, .trec, .run, .qrels (text also with .gz or .zst)) in the folder "
          "'"),
    Wrong(file("delta"), "scan", SourceError, "/delta'"),
    Wrong(file("iceberg"), "scan", SourceError, "/iceberg': "),
    Wrong({"source": []}, "scan", SourceError, "the list of paths is empty"),
    Wrong(file("rows.xlsx"), "scan", SourceError, "rows.xlsx': files must end in .parquet"),
    Wrong({"source": lambda folder: [folder / "rows.parquet", folder / "rows.csv"]}, "scan",
          SourceError, "rows.csv' is CSV; pass a pattern or a list of files of one format"),
    Wrong(file("cut.parquet"), "scan", SourceError, "cut.parquet"),
    Wrong(file("nothing.parquet"), "scan", SourceError, "nothing.parquet"),
    Wrong(file("text.parquet"), "scan", SourceError, "text.parquet"),
    Wrong(file("torn.parquet"), "collect", SourceError, "torn.parquet"),
    Wrong(file("parts"), "scan", SourceError, "/parts/2.parquet"),
    Wrong({"source": lambda folder: [folder / "parts" / f"{i}.parquet" for i in (1, 2)]},
          "scan", SourceError, ", none in "),
    Wrong({"source": lambda folder: f"{folder}/parts/*.parquet"}, "scan", SourceError,
          "score='p' is not the same in all files: "),
    Wrong(file("texts"), "scan", SourceError, "/texts/2.csv"),
    Wrong(file("types"), "scan", SourceError, "/types/2.parquet"),
    Wrong(file("latin.csv"), "scan", SourceError,
          "This file is not utf-8 encoded.\nSeparator, encoding, types and other options"),
    Wrong({"source": None, "query": "SELECT * FROM nowhere"}, "scan", SourceError, "nowhere"),
    Wrong({"source": None, "query": "SELEC 1"}, "scan", SourceError, "cannot read the query: "),
    Wrong({"source": None, "query": "SELECT 1; SELECT 2"}, "scan", SourceError,
          "cannot read the query: "),
    Wrong({"source": "nowhere", "con": duckdb.connect()}, "scan", SourceError, "nowhere"),
    Wrong({"source": "rows", "con": "lake.db"}, "scan", RequestError,
          "con= is a str; it must be a connection of DuckDB or ADBC, such as duckdb.connect('a.d"),
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
    Wrong({"by": "qcut(p, 2)"}, "scan", RequestError,
          f"{ALL}; an expression needs a name: by={{'key': 'qcut(p, 2)'}} (--by NAME=SQL)"),
    Wrong({"weight": "weights"}, "scan", RequestError,
          f"weight='weights': no such column in the DataFrame {ALL}"),
    Wrong({"score": {"one": "p", "two": "zz"}}, "scan", RequestError,
          "score='zz': no such column in the DataFrame"),
    Wrong({"by": ["carrier", "carrier"]}, "scan", RequestError, "by= names 'carrier' twice"),
    Wrong({"score": None}, "scan", RequestError,
          "give score= or prediction=, the column to evaluate"),
    Wrong({"score": {}}, "scan", RequestError, "score= is an empty mapping"),
    Wrong({"score": {"a": "p"}, "prediction": {"b": "y"}}, "scan", RequestError,
          "prediction= lacks 'a', which score= names; both name the same models"),
    Wrong({"score": "carrier"}, "scan", RequestError,
          "score='carrier' must be a number and is VARCHAR"),
    Wrong({"score": "d"}, "scan", RequestError, "score='d' must be a number and is DATE"),
    Wrong({"weight": "s"}, "scan", RequestError, "weight='s' must be a number and is VARCHAR"),
    Wrong({"label": "s"}, "scan", RequestError,
          "label='s' is VARCHAR: name the positive value with positive= (--positive), or use "
          "task='multiclass' (--task multiclass)"),
    Wrong({"label": "d"}, "scan", RequestError,
          "label='d' is DATE: name the positive value with positive= (--positive)"),
    Wrong({"label": "k", "positive": "high"}, "scan", RequestError,
          "positive='high' is not an integer, and 'k' is BIGINT"),
    Wrong({"label": "k", "positive": 1.7}, "scan", RequestError,
          "positive=1.7 is not an integer, and 'k' is BIGINT"),
    Wrong({"label": "k", "positive": 2**63}, "scan", RequestError,
          "positive=9223372036854775808 is not an integer from -9223372036854775808 to "
          "9223372036854775807, and 'k' is BIGINT"),
    Wrong({"label": "w", "positive": "a"}, "scan", RequestError,
          "positive='a' is not a number, and 'w' is DOUBLE"),
    Wrong({"label": "d", "positive": "x"}, "scan", RequestError,
          "positive='x' is not a date such as '2013-07-01', and 'd' is DATE"),
    Wrong({"label": "d", "positive": 5}, "scan", RequestError,
          "positive=5 is not a date such as '2013-07-01', and 'd' is DATE"),
    Wrong({"label": "s", "score": None, "prediction": "k", "positive": "yes"}, "scan",
          RequestError, "positive='yes' is not an integer, and 'k' is BIGINT"),
    Wrong({"task": "regresion", "score": None, "prediction": "p"}, "scan", RequestError,
          "task='regresion' must be one of binary, multiclass, multilabel, regression, ranking"),
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
    # The result has columns of these names, and a frame cannot have two of one name.
    *(Wrong({"source": ROWS.with_columns(pl.col("carrier").alias(name)), "by": name}, "evaluate",
            RequestError, f"by={name!r}")
      for name in ("metric", "value", "low", "high", "n", "n_dropped", "method", "note")),
    Wrong({"source": ROWS.with_columns(model=pl.lit("a")), "by": "model",
           "score": {"one": "p", "two": "w"}}, "scan", RequestError,
          "by= names 'model', which is the key of a mapping of models"),
]  # fmt: skip
VALUES = [
    Wrong({"label": "k"}, "collect", DataError,
          "label='k' must hold 0 and 1 (or -1 and 1); another value, such as 2, is in 1 of 4 rows"
          f"{TWO}"),
    Wrong(instead(y=[-1, 0, 1, 1]), "collect", DataError,
          f"label='y' must hold 0 and 1 (or -1 and 1); it holds 0 and -1{TWO}"),
    Wrong(instead(y=[0.0, 0.5, 1.0, 1.0]), "collect", DataError,
          "label='y' must hold 0 and 1 (or -1 and 1); another value, such as 0.5, is in 1 of 4 rows"
          "; prediction= (--prediction) instead of score= evaluates a regression, positive= "),
    Wrong(instead(y=[5, 5, 5, 5]), "collect", DataError, "such as 5, is in 4 of 4 rows"),
    Wrong({"label": "k", "positive": 1}, "collect", DataError,
          f"label='k' holds 0 and 2 beside positive=1: is that spelled as in the data? {SEVERAL}"),
    Wrong({**instead(s=["a", "b", "c", "a"]), "label": "s", "positive": "a"}, "collect", DataError,
          f"label='s' holds b and c beside positive='a': is that "
          f"spelled as in the data? {SEVERAL}"),
    Wrong({"label": "s", "positive": "Yes"}, "collect", DataError,
          "label='s' holds no and yes beside positive='Yes': is that spelled as in the data?"),
    Wrong({"score": None, "prediction": "k", "task": "binary", "metrics": "recall"}, "collect",
          DataError, "prediction='k' must hold 0 and 1 (or -1 and 1); another value, such as 2,"),
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
    Wrong({**instead(w=[1e-200, 0.0, 1e-250, 0.0]), "weight": "w"}, "collect", DataError,
          f"the largest value of weight='w' is 1e-200; {WEIGHTS}"),
    Wrong({**instead(w=[1e155, 1.0, 1.0, 0.0]), "weight": "w", "nulls": "drop"}, "collect",
          DataError, f"the largest value of weight='w' is 1e+155; {WEIGHTS}"),
    Wrong({**instead(w=[1e-200, 1.0, 1.0, 1.0]), "weight": "w", "by": "k"}, "collect", DataError,
          f"the largest value of weight='w' is 1e-200 in a slice; "
          f"{WEIGHTS}"),
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
      for text in ("", "f1; DROP TABLE x", "roc_auc(", "f_beta(2)", "__import__('os')",
                   "f_beta(**{'beta': 2})")),
    Wrong({"metrics": "f1(average=macro)"}, "evaluate", RequestError,
          "cannot read the metric 'f1(average=macro)'; texts need quotes: f1(average='macro')"),
    Wrong({"metrics": "roc_auc,f_beta(beta=2)"}, "evaluate", RequestError,
          "cannot read the metric 'roc_auc,f_beta(beta=2)'; it holds several: name each as a text "
          "of its own, ['roc_auc', 'log_loss'] (-m roc_auc -m log_loss)"),
    Wrong({"metrics": "f_beta(bta=2)"}, "evaluate", RequestError,
          "f_beta has no parameter 'bta'; did you mean 'beta'?"),
    Wrong({"metrics": "roc_auc(x=1)"}, "evaluate", RequestError,
          "roc_auc has no parameter 'x'; it takes none"),
    Wrong({"metrics": "f_beta(beta='2')"}, "evaluate", RequestError,
          "f_beta(beta=) must be a float, not '2'"),
    Wrong({"metrics": "f_beta(beta=1e200)"}, "evaluate", RequestError,
          "f_beta(beta=) must be in (0, 1e50], not 1e+200"),
    Wrong({"metrics": "log_loss(eps=0.5)"}, "evaluate", RequestError,
          "log_loss(eps=) must be in [0, 0.5), not 0.5"),
    Wrong({"metrics": "f1(threshold=0.5, threshold=0.6)"}, "evaluate", RequestError,
          "threshold=0.6)'; threshold= is given twice"),
    Wrong({"metrics": "f_beta(beta=True)"}, "evaluate", RequestError,
          "f_beta(beta=) must be a float, not True"),
    Wrong({"metrics": "f_beta(beta=[1])"}, "evaluate", RequestError,
          "f_beta(beta=) must be a float, not [1]"),
    Wrong({"metrics": "expected_calibration_error(bins='3')"}, "evaluate", RequestError,
          "expected_calibration_error(bins=) must be an int, not '3'"),
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
            f"ci={ci!r} must be a number between 0 and 1, such as 0.95")
      for ci in (1.5, 1, 0, -0.1, NAN)),
]  # fmt: skip
TYPES = [
    Wrong({"label": 5}, "scan", RequestError,
          "label=5 must be the name of a column, or a mapping of labels to columns"),
    *(Wrong({name: 5}, "scan", RequestError, f"{name}=5 must be one name, as a text")
      for name in ("weight", "qid", "role", "task", "nulls")),
    *(Wrong({name: value}, "scan", RequestError,
            f"{name}={value!r} must be the name of a column, or a list of names")
      for name in ("by", "over", "on") for value in (5, [5], {"a": 1})),
    Wrong({"where": pl.col("p") > 0.5}, "scan", RequestError, "where= must be a condition in SQL"),
    Wrong({"score": ["p", "w"]}, "scan", RequestError,
          "or a mapping of models to columns, such as {'p': 'p', 'w': 'w'}"),
    Wrong({"score": 5}, "scan", RequestError, "such as {'a': 'a', 'b': 'b'}"),
    Wrong({"score": {"m": {"a": "p"}}}, "scan", RequestError,
          "score= names one class of the model 'm'; each class needs a column"),
    Wrong({"score": {"m": {"a": 5}}}, "scan", RequestError,
          "score= of 'm' maps 'a' to 5, which is not a column name"),
    Wrong({"score": {"m": {"a": "p", "b": "p"}, "n": "p"}}, "scan", RequestError,
          "score= maps 'n' to one column, 'p', and another model to a column for each class"),
    Wrong({"score": {"m": {0: "p", 1: "p"}, "n": {0: "p", 2: "p"}}}, "scan", RequestError,
          "score= names the classes 0, 1 of the model 'm', and 0, 2 of 'n'"),
    Wrong({"score": {"m": {0: "p", 1: "pp"}, "n": {0: "p", 1: "p"}}}, "scan", RequestError,
          "score='pp': no such column"),
    Wrong({"score": {"m": {0: "p", 1: "p"}}, "task": "binary"}, "scan", RequestError,
          "score= has a column for each class of several models, and task='binary' is given"),
    Wrong({"score": None, "prediction": {"m": {0: "p", 1: "p"}}}, "scan", RequestError,
          "prediction= is one column per model"),
    Wrong({"score": {"m": {0: "p", 1: "p"}}, "prediction": "p"}, "scan", RequestError,
          "without it, a prediction is the class with the highest score"),
    Wrong({"score": {"m": {0: "p", 1: "p"}}, "label": None, "expected": True}, "scan",
          RequestError, "expected= is for two classes, and score= names several classes"),
    Wrong({"score": {"m": 5}}, "scan", RequestError, "score= maps 'm' to 5, which is not a column"),
    Wrong({"score": "y"}, "scan", RequestError, "score='y' is the label itself"),
    Wrong({"qid": "qury"}, "scan", RequestError, "qid='qury': no such column"),
    Wrong({"counts": "cnt"}, "scan", RequestError, "counts='cnt': no such column"),
    Wrong({"label": "k", "positive": datetime.date(2013, 7, 1)}, "scan", RequestError,
          "positive=datetime.date(2013, 7, 1) is not an integer, and 'k' is BIGINT"),
    Wrong({"metrics": 5}, "evaluate", RequestError, "metrics=5 must be the name of a metric"),
    Wrong({"metrics": ["f1", 5]}, "evaluate", RequestError, "must be the name of a metric, or a"),
    *(Wrong({"ci": ci}, "evaluate", RequestError, f"ci={ci!r} must be a number between 0 and 1")
      for ci in ("0.95", True, [0.95])),
    Wrong({"label": "s", "positive": "Yes"}, "collect", DataError,
          f"label='s' holds no and yes beside positive='Yes': is that spelled as in the data? "
          f"{SEVERAL}"),
    Wrong(instead(k=[0, -1, 2, 1]) | {"label": "k", "qid": "q", "metrics": "ndcg"}, "collect",
          DataError, "label='k' is negative in 1 of 4 rows; relevance is 0 or more"),
    Wrong(file("header.csv"), "scan", SourceError, "header.csv has a header and no rows"),
    Wrong(file("nothing.csv"), "scan", SourceError, "nothing.csv has no rows, and no header"),
    Wrong({"task": "regression", "metrics": None}, "evaluate", RequestError,
          "r2: prediction= is needed and not given"),
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
    *(Wrong({"where": text}, "scan", RequestError, f"where={text!r} is empty: leave it out, or")
      for text in ("", "   ", "\n")),
    *(Wrong({role: value}, "scan", RequestError, " is nested too deeply: write it with fewer")
      for nested in ("(" * 1500 + "p > 0" + ")" * 1500,)
      for role, value in (("where", nested), ("by", {"part": nested}))),
    Wrong({"where": "", "by": {"part": "qcut(p, 2)"}}, "scan", RequestError, "where='' is empty"),
    Wrong({"where": "carier = 'AA'"}, "scan", RequestError,
          f"where='carier': no such column in the DataFrame; did you mean 'carrier'? {ALL}"),
    Wrong({"where": "carrier = XX"}, "scan", RequestError,
          f"where='XX': no such column in the DataFrame {ALL}; a text stands in quotes: 'XX'"),
    Wrong({"where": "x.p > 1"}, "scan", RequestError, "where='x.p': no such column in"),
    # Errors that only the engine recognises (functions, comparisons) are raised as early.
    *(Wrong({"where": text}, "scan", RequestError, f"where={text!r}")
      for text in ("unknown_function(p) > 1", "reservoir_quantile(p, 0.5) = 1", "carrier + 1 = 2",
                   "unnest([1, 2]) = 1", "read_text('/etc/hostname') = 'x'")),
]  # fmt: skip
CASES = [*FILES, *COLUMNS, *VALUES, *METRICS, *TYPES, *WHERE]


def named(case: Wrong) -> str:
    given = {
        k: "..." if callable(v) or not isinstance(v, str | dict | float) else v
        for k, v in case.given.items()
    }
    return ",".join(f"{k}={v}" for k, v in given.items()) + f"|{case.message[:60]}"
