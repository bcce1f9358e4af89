"""Makes small invented files in each shape in which people have predictions.

A function a shape: it writes the files of `rows` cases into a folder and returns their paths, the
predictions first. The same arguments give the same files. `names` gives columns other names.
"""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

Names = Mapping[str, str]
Maker = Callable[..., list[Path]]


def _random(shape: str) -> Generator:
    return np.random.default_rng(crc32(shape.encode()))


def _write(folder: Path, file: str, columns: Mapping[str, Any], names: Names | None) -> Path:
    """Write columns into a CSV, JSONL or Parquet file, under other names if `names` has them."""
    frame = pl.DataFrame({(names or {}).get(name, name): each for name, each in columns.items()})
    path = folder / file
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    return path


def _binary(rng: Generator, rows: int, rate: float = 0.4) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return outcomes and a latent score that is higher for ones."""
    y = (rng.random(rows) < rate).astype(int)
    y[: min(rows, 4)] = [0, 1, 0, 1][:rows]
    return y, rng.normal(1.2 * y, 1.0)


def _sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    return 1 / (1 + np.exp(-x))


def _shares(rng: Generator, truth: NDArray[Any], k: int, digits: int = 4) -> NDArray[Any]:
    """Return k class probabilities a row, whose rounded values add up to 1."""
    logits = rng.normal(0, 1, (len(truth), k)) + 1.5 * (truth[:, None] == np.arange(k))
    p = np.exp(logits)
    p = np.round(p / p.sum(axis=1, keepdims=True), digits)
    p[:, -1] = np.round(1 - p[:, :-1].sum(axis=1), digits)
    return np.maximum(p, 0)


def decisions_of_models(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A row per case; two models, each with a probability and a decision at its own threshold.

    `lr` decides at 0.3, `rf` at 0.5. Wanted: AUC and F1 per model, at its own decisions.
    """
    rng = _random("decisions")
    y, latent = _binary(rng, rows)
    lr = np.round(_sigmoid(latent - 0.8 + rng.normal(0, 0.8, rows)), 4)
    rf = np.round(_sigmoid(latent - 0.5 + rng.normal(0, 0.3, rows)), 4)
    columns = {
        "id": range(rows), "y_true": y,
        "lr_proba": lr, "lr_pred": (lr >= 0.3).astype(int),
        "rf_proba": rf, "rf_pred": (rf >= 0.5).astype(int),
    }  # fmt: skip
    return [_write(folder, "decisions.csv", columns, names)]


def integer_score(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A score of whole numbers, 1 to 10, with groups of people.

    Wanted: false positive and false negative rates by group, with their differences.
    """
    rng = _random("integers")
    y, latent = _binary(rng, rows)
    ranks = np.argsort(np.argsort(latent + rng.normal(0, 1, rows)))
    columns = {
        "id": range(1, rows + 1),
        "sex": rng.choice(["Female", "Male"], rows),
        "race": rng.choice(["A", "B", "C"], rows, p=[0.5, 0.35, 0.15]),
        "decile_score": 1 + 10 * ranks // rows,
        "two_year_recid": y,
    }
    return [_write(folder, "recidivism.csv", columns, names)]


def two_outcomes(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Two sides of a game in a row, each with a probability and an outcome.

    Wanted: Brier score, its skill, a calibration curve in 20 bins, over both sides.
    """
    rng = _random("outcomes")
    prob1 = np.round(_sigmoid(rng.normal(0.2, 1, rows)), 3)
    outcome1 = (rng.random(rows) < prob1).astype(int)
    columns = {
        "season": 2016 + np.arange(rows) * 3 // max(rows, 1),
        "team1": rng.choice(["Elk", "Fox", "Owl", "Yak"], rows),
        "team2": rng.choice(["Ant", "Bee", "Cod", "Doe"], rows),
        "prob1": prob1, "outcome1": outcome1,
        "prob2": np.round(1 - prob1, 3), "outcome2": 1 - outcome1,
    }  # fmt: skip
    return [_write(folder, "games.csv", columns, names)]


def one_hot_outcome(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Probabilities of three results, with a column of 0 and 1 for each result.

    Wanted: log loss, Brier score, ranked probability score.
    """
    rng = _random("one-hot")
    truth = rng.choice(3, rows, p=[0.45, 0.35, 0.2])
    truth[: min(rows, 3)] = [0, 1, 2][:rows]
    p = _shares(rng, truth, 3)
    columns = {
        "game": [f"g{i:05}" for i in range(rows)],
        "prob_a": p[:, 0], "prob_b": p[:, 1], "prob_tie": p[:, 2],
        "win_a": (truth == 0).astype(int), "win_b": (truth == 1).astype(int),
        "tie": (truth == 2).astype(int),
    }  # fmt: skip
    return [_write(folder, "results.csv", columns, names)]


def classes_of_models(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Two models with a probability for each of three classes; `xgb` lacks some rows (NaN).

    Wanted: F1 per class and AUC of each model, on the rows that both have.
    """
    rng = _random("models and classes")
    truth = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    truth[: min(rows, 3)] = [0, 1, 2][:rows]
    lstm, xgb = _shares(rng, truth, 3), _shares(rng, truth, 3)
    xgb[rng.random(rows) < 0.05] = np.nan
    columns: dict[str, Any] = {"id": range(rows), "label": truth}
    columns |= {f"lstm_{c}": lstm[:, c] for c in range(3)}
    columns |= {f"xgb_{c}": xgb[:, c] for c in range(3)}
    return [_write(folder, "models.parquet", columns, names)]


def class_columns(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Class probabilities whose columns are named as the label's values.

    The first file has species, the second the classes 0, 1 and 2 (a header of numbers).
    Wanted: log loss, accuracy, AUC of one class against the rest.
    """
    rng = _random("class columns")
    truth = rng.choice(3, rows)
    truth[: min(rows, 3)] = [0, 1, 2][:rows]
    p = _shares(rng, truth, 3)
    species = ["setosa", "versicolor", "virginica"]
    by_name = {"species": np.array(species)[truth], **dict(zip(species, p.T, strict=True))}
    by_number = {"label": truth, **{str(c): p[:, c] for c in range(3)}}
    return [
        _write(folder, "species.csv", by_name, names),
        _write(folder, "numbers.csv", by_number, names),
    ]


def panel_of_forecasts(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Sales by store and day; a file for each of two models, `rows` rows each.

    Wanted: MAPE, WAPE and RMSE by store, and the better model.
    """
    rng = _random("panel")
    days = -(-rows // 4)
    store = np.repeat(["north", "south", "east", "west"], days)[:rows]
    date = np.tile(np.datetime64("2025-01-01") + np.arange(days), 4)[:rows]
    level = np.where(store == "north", 90.0, np.where(store == "south", 60.0, 40.0))
    y = np.round(level + 10 * np.sin(np.arange(rows) / 7) + rng.normal(0, 6, rows), 1)
    paths: list[Path] = []
    for model, error in (("ets", 5.0), ("naive", 9.0)):
        yhat = np.round(y + rng.normal(0, error, rows), 2)
        columns = {"store": store, "date": date, "y": y, "yhat": yhat}
        paths.append(_write(folder, f"{model}.csv", columns, names))
    return paths


#: The quantile levels of the long forecasts.
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)


def quantile_forecasts(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Quantile forecasts, a row per level (`rows` forecasts of 5 levels), and a file of truths.

    Wanted: coverage, weighted interval score, pinball loss.
    """
    rng = _random("quantiles")
    location = np.array(["01", "02", "06"])[np.arange(rows) % 3]
    day = np.datetime64("2025-01-04") + 7 * (np.arange(rows) // 3)
    centre, z = rng.normal(200, 40, rows), np.array([-1.96, -0.674, 0.0, 0.674, 1.96])
    k = len(LEVELS)
    columns = {
        "location": np.repeat(location, k),
        "target_end_date": np.repeat(day, k),
        "horizon": np.repeat(1 + np.arange(rows) % 4, k),
        "output_type": ["quantile"] * (rows * k),
        "output_type_id": np.tile(LEVELS, rows),
        "value": np.round((centre[:, None] + 20 * z).ravel(), 2),
    }
    truth = {
        "location": location, "target_end_date": day,
        "observation": np.round(rng.normal(centre, 20), 1),
    }  # fmt: skip
    return [
        _write(folder, "forecasts.csv", columns, names),
        _write(folder, "truth.csv", truth, names),
    ]


def quantile_columns(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Quantile forecasts with a column per level.

    Wanted: coverage, weighted interval score, pinball loss.
    """
    rng = _random("quantile columns")
    centre, z = rng.normal(50, 10, rows), (-1.28, 0.0, 1.28)
    columns: dict[str, Any] = {"id": range(rows), "y": np.round(rng.normal(centre, 5), 2)}
    columns |= {
        f"q{q}": np.round(centre + 5 * at, 2) for q, at in zip((0.1, 0.5, 0.9), z, strict=True)
    }
    return [_write(folder, "quantiles.csv", columns, names)]


def trec_run(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A TREC run and its qrels, without a header and separated by spaces.

    `rows` retrieved documents, 10 a query. Some relevant documents were not retrieved, and some
    retrieved documents were not judged. The files have no names of columns. Wanted: MAP, P@10,
    nDCG and MRR, in which documents that were not retrieved count.
    """
    rng = _random("trec")
    run, qrels = list[str](), list[str]()
    for query in range(-(-rows // 10)):
        docs = rng.permutation(40)[: min(10, rows - 10 * query)]
        scores = np.sort(np.round(rng.gamma(2, 4, len(docs)), 4))[::-1]
        run += [
            f"q{query} Q0 d{doc:03} {rank} {score:.4f} bm25"
            for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
        ]
        judged = sorted({*docs[::2].tolist(), *range(40, 43)})
        qrels += [f"q{query} 0 d{doc:03} {int(rng.integers(0, 3))}" for doc in judged]
    paths = [folder / "bm25.run", folder / "judged.qrels"]
    for path, lines in zip(paths, (run, qrels), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths


def ranked_rows(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Documents of queries with a score and a relevance, 10 rows a query.

    Wanted: nDCG, MAP, MRR.
    """
    rng = _random("ranked")
    relevance = rng.choice(4, rows, p=[0.55, 0.25, 0.15, 0.05])
    columns = {
        "qid": np.arange(rows) // 10,
        "doc": [f"d{i:05}" for i in range(rows)],
        "score": np.round(rng.normal(relevance, 1.5), 4),
        "relevance": relevance,
    }
    return [_write(folder, "ranked.csv", columns, names)]


def top_k_lists(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A list of recommended items and a list of bought items for each user.

    Wanted: precision@5, hit rate.
    """
    rng = _random("top-k")
    lists = [rng.permutation(50) for _ in range(rows)]
    columns = {
        "user": range(rows),
        "recommended": [each[:5].tolist() for each in lists],
        "bought": [
            each[int(n) : int(n) + 3].tolist()
            for each, n in zip(lists, rng.integers(0, 9, rows), strict=True)
        ],
    }
    return [_write(folder, "top5.parquet", columns, names)]


def attempts(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A row per attempt at a task, 10 attempts a task, passed or not (JSONL).

    Wanted: pass@1, pass@5, pass@10.
    """
    rng = _random("attempts")
    task = np.arange(rows) // 10
    ease = rng.beta(1, 1, len({*task.tolist()}))[task]
    columns = {
        "task_id": [f"Sort/{i}" for i in task],
        "completion": [f"    return sorted(x)[{i}]" for i in range(rows)],
        "passed": (rng.random(rows) < ease).tolist(),
    }
    return [_write(folder, "attempts.jsonl", columns, names)]


def mlflow_table(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A table as MLflow writes it: a JSON document with `columns` and `data`.

    Wanted: the mean of a column, with its interval.
    """
    rng = _random("mlflow")
    fields = ["request_id", "inputs", "outputs", "answer_correctness", "latency"]
    data = [
        [
            f"r{i}",
            f"question {i}?",
            f"answer {i}.",
            int(rng.integers(1, 6)),
            round(float(rng.gamma(2, 0.4)), 3),
        ]
        for i in range(rows)
    ]
    path = folder / "eval_results_table.json"
    path.write_text(
        json.dumps({"columns": [(names or {}).get(f, f) for f in fields], "data": data})
    )
    return [path]


def evaluation_log(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A log of an evaluation: a JSON document whose rows lie in `samples`, with nested scores.

    Wanted: the pass rate over samples.
    """
    rng = _random("log")
    called = names or {}
    samples = [
        {
            "id": f"s{i}",
            "epoch": 1,
            "input": f"What is {i} + {i}?",
            called.get("scores", "scores"): {
                called.get("correct", "correct"): int(rng.random() < 0.7),
                "length": int(rng.integers(10, 200)),
            },
        }
        for i in range(rows)
    ]
    path = folder / "log.json"
    path.write_text(json.dumps({"version": 2, "status": "success", "samples": samples}))
    return [path]


def battles(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Answers of two models, and which was better: `model_a`, `model_b` or `tie`.

    Wanted: the win rate of a model, ratings.
    """
    rng = _random("battles")
    models = np.array(["ash", "birch", "cedar", "dogwood"])
    first = rng.integers(0, 4, rows)
    second = (first + rng.integers(1, 4, rows)) % 4
    better = _sigmoid((second - first) * 0.5)
    draw = rng.random(rows)
    winner = np.where(draw < 0.15, "tie", np.where(rng.random(rows) < better, "model_a", "model_b"))
    winner[: min(rows, 3)] = ["model_a", "model_b", "tie"][:rows]
    columns = {
        "question_id": range(rows),
        "model_a": models[first], "model_b": models[second],
        "winner": winner,
        "language": rng.choice(["en", "de", "fr"], rows),
    }  # fmt: skip
    return [_write(folder, "battles.csv", columns, names)]


def spark_predictions(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Predictions of Spark ML: DOUBLE label and prediction, and a vector of probabilities.

    The vector is a struct with `values` in the first file, a list of DOUBLE in the second.
    Wanted: AUC, log loss.
    """
    rng = _random("spark")
    y, latent = _binary(rng, rows)
    p = np.round(_sigmoid(latent - 0.6), 6)
    vectors = [[1 - each, each] for each in p.tolist()]
    raw = [[-each, each] for each in (latent - 0.6).tolist()]
    columns = {"label": y.astype(float), "prediction": (p > 0.5).astype(float)}

    def vector(values: Sequence[Sequence[float]]) -> pl.Series:
        parts = [{"type": 1, "size": None, "indices": None, "values": each} for each in values]
        fields = {
            "type": pl.Int8, "size": pl.Int32, "indices": pl.List(pl.Int32),
            "values": pl.List(pl.Float64),
        }  # fmt: skip
        return pl.Series(parts, dtype=pl.Struct(fields))

    structs = {"rawPrediction": vector(raw), "probability": vector(vectors)}
    return [
        _write(folder, "vectors.parquet", {**columns, **structs}, names),
        _write(folder, "lists.parquet", {**columns, "probability": vectors}, names),
    ]


def confidence(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """The predicted class of two, and the probability of that class (never below 1/2).

    Wanted: accuracy, AUC.
    """
    rng = _random("confidence")
    y, latent = _binary(rng, rows)
    p = np.round(_sigmoid(latent - 0.6), 4)
    columns = {
        "id": range(rows), "true_label": y, "predicted_label": (p >= 0.5).astype(int),
        "confidence": np.maximum(p, np.round(1 - p, 4)),
    }  # fmt: skip
    return [_write(folder, "confidence.csv", columns, names)]


def confidence_of_classes(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """The predicted class of three, and the probability of that class (never below 1/3).

    Wanted: accuracy, calibration of the top label.
    """
    rng = _random("top label")
    classes = np.array(["cat", "dog", "owl"])
    truth = rng.choice(3, rows)
    truth[: min(rows, 3)] = [0, 1, 2][:rows]
    p = _shares(rng, truth, 3)
    columns = {
        "image": [f"{i:06}.png" for i in range(rows)],
        "label": classes[truth], "predicted_label": classes[p.argmax(axis=1)],
        "confidence": p.max(axis=1),
    }  # fmt: skip
    return [_write(folder, "top_label.csv", columns, names)]


def many_labels(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Several labels a row: a column of 0 and 1 and one of scores per label, or lists of labels.

    The first file has columns, the second lists. Wanted: F1 by label and by sample.
    """
    rng = _random("many labels")
    labels = ("toxic", "obscene", "insult")
    flags: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    for label, rate in zip(labels, (0.3, 0.2, 0.25), strict=True):
        y, latent = _binary(rng, rows, rate)
        flags[label] = y
        scores[f"{label}_score"] = np.round(_sigmoid(latent - 1), 4)
    called = {
        "labels": [[n for n in labels if flags[n][i]] for i in range(rows)],
        "predicted": [[n for n in labels if scores[f"{n}_score"][i] > 0.5] for i in range(rows)],
    }
    key = {"comment_id": [f"c{i}" for i in range(rows)]}
    return [
        _write(folder, "comments.csv", {**key, **flags, **scores}, names),
        _write(folder, "lists.parquet", {**key, **called}, names),
    ]


def labels_by_position(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Predictions without a key, and the training table whose rows have the same order.

    Wanted: AUC.
    """
    rng = _random("position")
    y, latent = _binary(rng, rows)
    train = {
        "age": rng.integers(18, 80, rows), "income": np.round(rng.gamma(3, 9000, rows), 2),
        "target": y,
    }  # fmt: skip
    return [
        _write(folder, "oof.csv", {"p": np.round(_sigmoid(latent - 0.6), 5)}, names),
        _write(folder, "train.csv", train, names),
    ]


def readers(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Ratings 1 to 5 of cases by 5 readers under 2 treatments (a multiple of 10 rows).

    Wanted: the mean AUC over readers, and its difference between treatments.
    """
    rng = _random("readers")
    cases = max(rows // 10, 3)
    y, latent = _binary(rng, cases)
    parts: list[dict[str, Any]] = []
    for treatment in (1, 2):
        for reader in range(1, 6):
            seen = latent + rng.normal(0, 1.4 - 0.4 * treatment, cases)
            ratings = np.clip(np.round(seen + 2.4), 1, 5).astype(int)
            parts += [
                {
                    "reader": reader,
                    "treatment": treatment,
                    "case": i + 1,
                    "truth": int(t),
                    "rating": int(r),
                }
                for i, (t, r) in enumerate(zip(y, ratings, strict=True))
            ]
    columns = {name: [each[name] for each in parts] for name in parts[0]}
    return [_write(folder, "readers.csv", columns, names)]


def survival(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Time, event and a risk score; a case without an event was censored at its time.

    Wanted: the C index.
    """
    rng = _random("survival")
    risk = rng.normal(0, 1, rows)
    due, censored = rng.exponential(24 * np.exp(-0.8 * risk)), rng.exponential(30, rows)
    columns = {
        "patient": range(rows), "time": np.round(np.minimum(due, censored) + 0.1, 1),
        "event": (due <= censored).astype(int), "risk": np.round(risk, 4),
    }  # fmt: skip
    return [_write(folder, "survival.csv", columns, names)]


def uplift(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Treatment or control, an outcome, and the predicted effect of the treatment.

    Wanted: the Qini coefficient.
    """
    rng = _random("uplift")
    treatment, effect = rng.integers(0, 2, rows), rng.normal(0.08, 0.08, rows)
    visit = (rng.random(rows) < np.clip(0.2 + treatment * effect, 0, 1)).astype(int)
    columns = {"treatment": treatment, "visit": visit, "score": np.round(effect, 5)}
    return [_write(folder, "uplift.csv", columns, names)]


def rows_of_models(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A row per case and model, `rows` cases of 2 models.

    Wanted: AUC of each model, and the better one.
    """
    rng = _random("rows of models")
    y, latent = _binary(rng, rows)
    p = _sigmoid(np.concatenate([latent + rng.normal(0, s, rows) for s in (0.3, 1.5)]) - 0.6)
    columns = {
        "case_id": np.tile(np.arange(rows), 2), "model": np.repeat(["new", "old"], rows),
        "y": np.tile(y, 2), "p": np.round(p, 4),
    }  # fmt: skip
    return [_write(folder, "rows_of_models.csv", columns, names)]


def rows_of_classes(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """A row per case and class, `rows` cases of 3 classes, with 1 in the row of the true class.

    Wanted: log loss, accuracy.
    """
    rng = _random("rows of classes")
    truth = rng.choice(3, rows)
    p = _shares(rng, truth, 3)
    columns = {
        "image": np.repeat([f"i{i:05}" for i in range(rows)], 3),
        "species": np.tile(["cat", "dog", "owl"], rows),
        "p": p.ravel(), "truth": (truth[:, None] == np.arange(3)).astype(int).ravel(),
    }  # fmt: skip
    return [_write(folder, "rows_of_classes.csv", columns, names)]


def judged(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Answers that were judged: no label, only `passed` and a rubric score.

    Wanted: the pass rate with its interval, by topic.
    """
    rng = _random("judged")
    columns = {
        "id": range(rows), "topic": rng.choice(["code", "maths", "law"], rows),
        "passed": (rng.random(rows) < 0.7).tolist(),
    }  # fmt: skip
    return [_write(folder, "judged.parquet", columns, names)]


def texts_and_classes(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """Free text beside a label and a predicted label; the text that was generated has a name like
    a prediction.

    Wanted: accuracy, F1.
    """
    rng = _random("texts")
    classes = np.array(["left", "centre", "right"])
    truth = rng.choice(3, rows)
    truth[: min(rows, 3)] = [0, 1, 2][:rows]
    predicted = np.where(rng.random(rows) < 0.7, truth, rng.choice(3, rows))
    columns = {
        "id": range(rows), "text": [f"Speech number {i} was long." for i in range(rows)],
        "polarization": classes[truth],
        "prediction_text": [f"Speech {i} is {classes[c]}." for i, c in enumerate(predicted)],
        "predicted_label": classes[predicted],
    }  # fmt: skip
    return [_write(folder, "speeches.csv", columns, names)]


def text_tables(folder: Path, rows: int = 300, names: Names | None = None) -> list[Path]:
    """The same predictions as other tools write them as text.

    `predictions.arff` (ARFF with types), `european.csv` (`;`, decimal comma, latin-1),
    `missing.csv` (`NA` and `\\N`), `percent.csv` ('90%'), `table.dat` (a CSV with another suffix),
    `spaces.txt` (columns separated by three spaces), `packed.csv.gz`. Columns: `y`, `p`, `city`.
    Wanted: AUC, the same of each file but `missing.csv`, which lacks the first 2 scores.
    """
    rng = _random("text tables")
    y, latent = _binary(rng, rows)
    p = np.round(_sigmoid(latent - 0.6), 2)
    city = rng.choice(["Zürich", "Genève", "Basel"], rows)
    header = [(names or {}).get(each, each) for each in ("y", "p", "city")]
    missing = [*("NA", "\\N")[:rows], *p[2:].tolist()]

    def join(separator: str, scores: Sequence[Any] = p.tolist(), head: bool = True) -> str:
        lines = [header] if head else []
        lines += [list(map(str, row)) for row in zip(y, scores, city, strict=True)]
        return "".join(separator.join(line) + "\n" for line in lines)

    attributes = "".join(
        f"@attribute {name} {kind}\n"
        for name, kind in zip(header, ("{0, 1}", "numeric", "string"), strict=True)
    )
    files = {
        "predictions.arff": f"@relation r\n\n{attributes}\n@data\n" + join(",", head=False),
        "european.csv": join(";", [str(each).replace(".", ",") for each in p]),
        "missing.csv": join(",", missing),
        "percent.csv": join(",", [f"{round(100 * each)}%" for each in p]),
        "table.dat": join(","),
        "spaces.txt": join("   "),
        "packed.csv.gz": join(","),
    }
    paths: list[Path] = []
    for file, text in files.items():
        data = text.encode("latin-1" if file == "european.csv" else "utf-8")
        paths.append(folder / file)
        paths[-1].write_bytes(gzip.compress(data, mtime=0) if file.endswith(".gz") else data)
    return paths


#: The shapes of the guide, in its order.
SHAPES: Mapping[str, Maker] = {
    "decisions of models": decisions_of_models,
    "integer score": integer_score,
    "two outcomes": two_outcomes,
    "one-hot outcome": one_hot_outcome,
    "models and classes": classes_of_models,
    "panel of forecasts": panel_of_forecasts,
    "quantile forecasts": quantile_forecasts,
    "TREC run": trec_run,
    "top-k lists": top_k_lists,
    "attempts": attempts,
    "MLflow table": mlflow_table,
    "evaluation log": evaluation_log,
    "battles": battles,
    "Spark ML": spark_predictions,
    "confidence": confidence,
    "many labels": many_labels,
    "labels by position": labels_by_position,
    "readers": readers,
    "survival": survival,
    "uplift": uplift,
    "text tables": text_tables,
}

#: Variants that `inspect` must tell from the shapes above.
VARIANTS: Mapping[str, Maker] = {
    "class columns": class_columns,
    "quantile columns": quantile_columns,
    "ranked rows": ranked_rows,
    "confidence of classes": confidence_of_classes,
    "rows of models": rows_of_models,
    "rows of classes": rows_of_classes,
    "judged": judged,
    "texts and classes": texts_and_classes,
}
