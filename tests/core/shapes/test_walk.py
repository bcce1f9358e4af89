"""Each shape of predictions is recognised, evaluated as wanted, compared and reported.

The wanted numbers are scikit-learn's or NumPy's, from the same files.
"""

import gzip
import json
from collections.abc import Callable
from contextlib import chdir
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    mean_absolute_error,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.preprocessing import MultiLabelBinarizer

from tests.shape_walk import WALKS, list_suggested, run_line, walk, write_page
from tests.shapes import SHAPES

#: The wanted values of each evaluation of a shape, in the order of its rows.
Wanted = Callable[[], list[list[float]]]


def _models() -> list[list[float]]:
    rows = pl.read_csv("decisions.csv")
    y = rows["y_true"]
    return [
        [
            value
            for model in ("lr", "rf")
            for value in (
                roc_auc_score(y, rows[f"{model}_proba"]),
                f1_score(y, rows[f"{model}_pred"]),
            )
        ]
    ]


def _groups() -> list[list[float]]:
    rows = pl.read_csv("recidivism.csv")
    rates: list[float] = []
    values: list[float] = []
    for race in sorted(rows["race"].unique()):
        part = rows.filter(race=race)
        y, said = part["two_year_recid"].to_numpy(), part["decile_score"].to_numpy() >= 5
        rates.append(float(said[y == 0].mean()))
        values += [rates[-1], recall_score(y, said)]
    return [values, [max(rates) - min(rates)]]


def _sides() -> list[list[float]]:
    rows = pl.read_csv("games.csv")
    y = np.concatenate([rows["outcome1"], rows["outcome2"]])
    p = np.concatenate([rows["prob1"], rows["prob2"]])
    brier = brier_score_loss(y, p)
    skill = 1 - brier / (y.mean() * (1 - y.mean()))
    return [[brier, skill, roc_auc_score(y, p)]]


def _one_hot() -> list[list[float]]:
    rows = pl.read_csv("results.csv")
    p = rows.select("prob_a", "prob_b", "prob_tie").to_numpy()
    truth = rows.select("win_a", "win_b", "tie").to_numpy()
    return [[log_loss(truth.argmax(axis=1), p), float(((p - truth) ** 2).sum(axis=1).mean())]]


def _classes() -> list[list[float]]:
    rows = pl.read_parquet("models.parquet").filter(~pl.col("xgb_0").is_nan())
    values: list[float] = []
    for model in ("lstm", "xgb"):
        p = rows.select(f"{model}_{c}" for c in range(3)).to_numpy()
        y = rows["label"].to_numpy()
        areas = [roc_auc_score(y == c, p[:, c]) for c in range(3)]
        values += [f1_score(y, p.argmax(axis=1), average="macro"), float(np.mean(areas))]
    return [values]


def _panel() -> list[list[float]]:
    ets, naive = pl.read_csv("ets.csv"), pl.read_csv("naive.csv")
    values: list[float] = []
    for store in sorted(ets["store"].unique()):
        for rows in (ets.filter(store=store), naive.filter(store=store)):
            values += [
                root_mean_squared_error(rows["y"], rows["yhat"]),
                mean_absolute_error(rows["y"], rows["yhat"]),
            ]
    return [values]


def _median() -> list[list[float]]:
    truth = pl.read_csv("truth.csv")
    rows = pl.read_csv("forecasts.csv").filter(output_type_id=0.5)
    rows = rows.join(truth, on=["location", "target_end_date"])
    parts = (rows.filter(horizon=h) for h in sorted(rows["horizon"].unique()))
    return [[mean_absolute_error(part["observation"], part["value"]) for part in parts]]


def _run() -> list[list[float]]:
    qrels: dict[str, dict[str, int]] = {}
    for query, _, doc, relevance in map(str.split, Path("judged.qrels").read_text().splitlines()):
        qrels.setdefault(query, {})[doc] = int(relevance)
    run: dict[str, dict[str, float]] = {}
    for query, _, doc, _, score, _ in map(str.split, Path("bm25.run").read_text().splitlines()):
        run.setdefault(query, {})[doc] = float(score)
    measures = ("ndcg_cut_10", "map", "P_10", "recip_rank")
    found = pytrec_eval.RelevanceEvaluator(qrels, {*measures}).evaluate(run)
    # trec_eval counts a query without relevant documents as 0.
    some = [query for query, judged in qrels.items() if max(judged.values()) > 0]
    return [[float(np.mean([found[query][name] for query in some])) for name in measures]]


def _lists() -> list[list[float]]:
    rows = pl.read_parquet("top5.parquet")
    shared = [len({*a} & {*b}) for a, b in zip(rows["recommended"], rows["bought"], strict=True)]
    return [[float(np.mean([n > 0 for n in shared]))], [float(np.mean(shared)) / 5]]


def _attempts() -> list[list[float]]:
    return [[float(pl.read_ndjson("attempts.jsonl")["passed"].mean())]]  # pyright: ignore[reportArgumentType]


def _table() -> list[list[float]]:
    document = json.loads(Path("eval_results_table.json").read_text())
    place = document["columns"].index("answer_correctness")
    return [[float(np.mean([row[place] for row in document["data"]]))]]


def _log() -> list[list[float]]:
    samples = json.loads(Path("log.json").read_text())["samples"]
    return [[float(np.mean([each["scores"]["correct"] for each in samples]))]]


def _battles() -> list[list[float]]:
    rows = pl.read_csv("battles.csv")
    points = {"model_a": 1.0, "tie": 0.5, "model_b": 0.0}
    models = sorted(rows["model_a"].unique())
    won = [[points[each] for each in rows.filter(model_a=model)["winner"]] for model in models]
    return [[float(np.mean(each)) for each in won]]


def _spark() -> list[list[float]]:
    rows = pl.read_parquet("lists.parquet")
    p = rows["probability"].list.get(1)
    y = rows["label"]
    return [[roc_auc_score(y, p), log_loss(y, p), accuracy_score(y, rows["prediction"])]] * 2


def _confidence() -> list[list[float]]:
    rows = pl.read_csv("confidence.csv")
    said, p = rows["predicted_label"], rows["confidence"]
    right = rows["true_label"] == said
    score = np.where(said == 1, p, 1 - p)
    return [
        [accuracy_score(rows["true_label"], said), brier_score_loss(right, p)],
        [roc_auc_score(rows["true_label"], score), accuracy_score(rows["true_label"], said)],
    ]


def _labels() -> list[list[float]]:
    rows, names = pl.read_csv("comments.csv"), ("insult", "obscene", "toxic")
    labels = rows.select(names).to_numpy()
    scores = rows.select(f"{name}_score" for name in names).to_numpy()
    areas = float(np.mean([roc_auc_score(rows[n], rows[f"{n}_score"]) for n in names]))
    lists = pl.read_parquet("lists.parquet")
    binarizer = MultiLabelBinarizer(classes=names)
    sets = [binarizer.fit_transform(lists[each].to_list()) for each in ("labels", "predicted")]
    wanted: list[list[float]] = []
    for truth, decided, more in ((labels, scores >= 0.5, [areas]), (*sets, [])):
        by_row = f1_score(truth, decided, average="samples", zero_division=0)
        # Metrics of all labels, whose class is NULL, come in the order of the request.
        wanted.append([*f1_score(truth, decided, average=None), by_row, *more])
    return wanted


def _position() -> list[list[float]]:
    return [[roc_auc_score(pl.read_csv("train.csv")["target"], pl.read_csv("oof.csv")["p"])]]


def _readers() -> list[list[float]]:
    rows = pl.read_csv("readers.csv")
    values: list[float] = []
    for treatment in (1, 2):
        areas = [
            roc_auc_score(part["truth"], part["rating"])
            for (_,), part in rows.filter(treatment=treatment).group_by("reader")
        ]
        values.append(float(np.mean(areas)))
    return [values]


def _uplift() -> list[list[float]]:
    rows = pl.read_csv("uplift.csv")
    return [[float(rows.filter(treatment=t)["visit"].mean()) for t in (0, 1)]]  # pyright: ignore[reportArgumentType]


def _texts() -> list[list[float]]:
    rows = pl.read_csv(BytesIO(gzip.decompress(Path("packed.csv.gz").read_bytes())))
    area = roc_auc_score(rows["y"], rows["p"])
    kept = rows[2:]
    missing = roc_auc_score(kept["y"], kept["p"])
    return [[area], [area], [missing], *([[area]] * 4)]


WANTED: dict[str, Wanted] = {
    "decisions of models": _models,
    "integer score": _groups,
    "two outcomes": _sides,
    "one-hot outcome": _one_hot,
    "models and classes": _classes,
    "panel of forecasts": _panel,
    "quantile forecasts": _median,
    "TREC run": _run,
    "top-k lists": _lists,
    "attempts": _attempts,
    "MLflow table": _table,
    "evaluation log": _log,
    "battles": _battles,
    "Spark ML": _spark,
    "confidence": _confidence,
    "many labels": _labels,
    "labels by position": _position,
    "readers": _readers,
    "survival": list,
    "uplift": _uplift,
    "text tables": _texts,
}


def test_every_shape_has_a_walk() -> None:
    assert [*SHAPES] == [*WALKS] == [*WANTED]


@pytest.mark.parametrize("name", SHAPES)
def test_the_wanted_numbers(name: str, tmp_path: Path) -> None:
    SHAPES[name](tmp_path, 300)
    with chdir(tmp_path):
        wanted = WANTED[name]()
        assert len(wanted) == len(WALKS[name].evaluate)
        for arguments, values in zip(WALKS[name].evaluate, wanted, strict=True):
            done = run_line(f"sqleval evaluate {arguments} --format json")
            assert done.code == 0, done.errors
            found = [row["value"] for row in json.loads(done.output)]
            assert found == pytest.approx(values, abs=1e-9), arguments


@pytest.mark.parametrize("name", SHAPES)
def test_each_step_runs(name: str, tmp_path: Path) -> None:
    steps = list(walk(name, tmp_path))
    for step, outcome in steps:
        assert outcome.code == 0, (step, outcome.command, outcome.errors)
    assert [step for step, _ in steps].count("compare") == bool(WALKS[name].compare)
    if WALKS[name].report:
        page = (tmp_path / "report.html").read_text()
        assert page.startswith("<!")
        assert "</html>" in page


@pytest.mark.parametrize("name", SHAPES)
def test_something_is_suggested(name: str, tmp_path: Path) -> None:
    """A file whose labels lie in a second one, which is unknown, gets the options instead."""
    SHAPES[name](tmp_path, 120)
    with chdir(tmp_path):
        done = run_line(f"sqleval inspect {WALKS[name].inspect}")
    is_alone = name not in ("quantile forecasts", "TREC run", "labels by position")
    assert bool(list_suggested(done.output)) == is_alone, done.output
    assert is_alone or "--labels" in done.output


def test_the_page() -> None:
    """`python -m tests.shape_walk` writes the page."""
    assert write_page(check=True)
