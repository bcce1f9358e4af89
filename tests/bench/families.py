"""Processor time of families of metrics beside other libraries, from the same Parquet file.

    python -m tests.bench.families                   every family
    python -m tests.bench.families ranking           one of them
    python -m tests.bench.families --rows 100000     fewer rows

Each side is a process of its own, which reads the file anew each time; the least processor time
of the process and its children counts, in turn with the others. A side computes the metrics that
its library has, and sqleval the same ones. A value that differs from sqleval's ends the run. Sides
without their library are listed and left out: pip install -e ".[bench]" has all.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

Values = dict[str, float]
Read = Callable[[str], Values]


class Family(NamedTuple):
    """The rows of a family, how sqleval binds them, and the other libraries."""

    rows: int
    write: Callable[[Path, int], None]
    roles: Mapping[str, Any]
    sides: Mapping[str, Read]


# -- regression --------------------------------------------------------------------------------


def write_regression(path: Path, rows: int) -> None:
    random = np.random.default_rng(57)
    label = random.gamma(3, 20, rows) + 1
    frame = pl.DataFrame({"y": label, "p": label * random.lognormal(0, 0.2, rows)})
    frame.write_parquet(path)


def _read_arrays(path: str) -> list[np.ndarray]:
    return [each.to_numpy() for each in pl.read_parquet(path, columns=["y", "p"])]


def regression_of_sklearn(path: str) -> Values:
    from sklearn import metrics as sk

    y, p = _read_arrays(path)
    return {
        "r2": sk.r2_score(y, p),
        "mae": sk.mean_absolute_error(y, p),
        "rmse": sk.root_mean_squared_error(y, p),
        "mape": sk.mean_absolute_percentage_error(y, p),
        "mean_bias": np.mean(p - y),
    }


def regression_of_torchmetrics(path: str) -> Values:
    import torch
    from torchmetrics import functional as tm

    y, p = (torch.from_numpy(each.copy()) for each in _read_arrays(path))
    return {
        "r2": tm.r2_score(p, y),
        "mae": tm.mean_absolute_error(p, y),
        "rmse": tm.mean_squared_error(p, y, squared=False),
        "mape": tm.mean_absolute_percentage_error(p, y),
    }


# -- ranking -----------------------------------------------------------------------------------

#: Items of a query.
ITEMS = 200


def write_ranking(path: Path, rows: int) -> None:
    random = np.random.default_rng(57)
    queries = max(rows // ITEMS, 1)
    label = random.random((queries, ITEMS)) < 0.05
    label[:, 0] = True  # scikit-learn has another value for a query without relevant items
    frame = pl.DataFrame(
        {
            "q": np.arange(queries).repeat(ITEMS).astype(str),
            "d": np.tile(np.arange(ITEMS), queries).astype(str),
            "y": label.ravel().astype(int),
            "p": (random.random(label.shape) + 0.3 * label).ravel(),
        }
    )
    frame.write_parquet(path)


def ranking_of_sklearn(path: str) -> Values:
    from sklearn import metrics as sk

    label, score = (each.reshape(-1, ITEMS) for each in _read_arrays(path))
    return {
        "ndcg": sk.ndcg_score(label, score),
        # The labels of a row are ranked as the items of a query.
        "map": sk.label_ranking_average_precision_score(label, score),
    }


def ranking_of_ranx(path: str) -> Values:
    from ranx import Qrels, Run, evaluate

    # pandas 3 has a type of its own for texts, which ranx refuses.
    frame = pl.read_parquet(path).to_pandas().astype({"q": object, "d": object})
    columns = {"q_id_col": "q", "doc_id_col": "d"}
    qrels = Qrels.from_df(frame[["q", "d", "y"]], score_col="y", **columns)
    run = Run.from_df(frame[["q", "d", "p"]], score_col="p", **columns)
    found: Any = evaluate(qrels, run, ["ndcg", "map", "mrr", "recall@10"])
    found["recall_at_k(k=10)"] = found.pop("recall@10")
    return dict(found)


# -- several classes and calibration -----------------------------------------------------------

CLASSES = 5


def write_multiclass(path: Path, rows: int) -> None:
    random = np.random.default_rng(57)
    label = random.integers(0, CLASSES, rows)
    logits = random.normal(0, 1, (rows, CLASSES)) + 1.5 * np.eye(CLASSES)[label]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    scores = {f"s{i}": shares[:, i] for i in range(CLASSES)}
    pl.DataFrame({"y": label, **scores}).write_parquet(path)


def multiclass_of_sklearn(path: str) -> Values:
    from sklearn import metrics as sk

    frame = pl.read_parquet(path)
    y, scores = frame["y"].to_numpy(), frame.drop("y").to_numpy()
    p = scores.argmax(axis=1)
    return {
        "accuracy": sk.accuracy_score(y, p),
        "balanced_accuracy": sk.balanced_accuracy_score(y, p),
        "f1(average='macro')": sk.f1_score(y, p, average="macro"),
        "matthews_corrcoef": sk.matthews_corrcoef(y, p),
        "cohen_kappa": sk.cohen_kappa_score(y, p),
        "log_loss": sk.log_loss(y, scores),
        "brier_score": sk.brier_score_loss(y, scores),
        "roc_auc(average='macro')": sk.roc_auc_score(y, scores, multi_class="ovr"),
    }


def write_calibration(path: Path, rows: int) -> None:
    random = np.random.default_rng(57)
    score = 1 / (1 + np.exp(-random.normal(-1, 1.5, rows)))
    pl.DataFrame({"y": (random.random(rows) < score**1.2).astype(int), "p": score}).write_parquet(
        path
    )


def calibration_of_sklearn(path: str) -> Values:
    from sklearn import metrics as sk

    y, p = _read_arrays(path)
    return {
        "brier_score": sk.brier_score_loss(y, p),
        "brier_skill_score": sk.d2_brier_score(y, p),
        "log_loss": sk.log_loss(y, p),
    }


# -- many labels -------------------------------------------------------------------------------

LABELS = 20


def write_multilabel(path: Path, rows: int) -> None:
    random = np.random.default_rng(57)
    label = random.random((rows, LABELS)) < 0.15
    score = np.clip(random.normal(0.3 + 0.4 * label, 0.2), 0, 1)
    frame = pl.DataFrame({"y": label.astype(np.int8), "p": score})
    # Lists, as a file from a model server has them.
    frame.select(pl.all().arr.to_list()).write_parquet(path)


def _read_matrices(path: str) -> tuple[np.ndarray, ...]:
    frame = pl.read_parquet(path)
    return tuple(frame[name].explode().to_numpy().reshape(-1, LABELS) for name in ("y", "p"))


def multilabel_of_sklearn(path: str) -> Values:
    from sklearn import metrics as sk

    y, score = _read_matrices(path)
    p = (score >= 0.5).astype(np.int8)
    averages = ("macro", "micro", "samples")
    return {
        **{
            f"f1(average={each!r}, zero_division=0)": sk.f1_score(
                y, p, average=each, zero_division=0
            )
            for each in averages
        },
        "hamming_loss": sk.hamming_loss(y, p),
        "subset_accuracy": sk.accuracy_score(y, p),
        "label_ranking_average_precision": sk.label_ranking_average_precision_score(y, score),
        "roc_auc(average='macro')": sk.roc_auc_score(y, score),
        "average_precision(average='macro')": sk.average_precision_score(y, score),
    }


def multilabel_of_torchmetrics(path: str) -> Values:
    import torch
    from torchmetrics.functional import classification as tm

    y, score = (torch.from_numpy(each.copy()) for each in _read_matrices(path))
    n = {"num_labels": LABELS}
    return {
        "f1(average='macro', zero_division=0)": tm.multilabel_f1_score(score, y, **n),
        "f1(average='micro', zero_division=0)": tm.multilabel_f1_score(
            score, y, average="micro", **n
        ),
        "hamming_loss": tm.multilabel_hamming_distance(score, y, average="micro", **n),
        "label_ranking_average_precision": tm.multilabel_ranking_average_precision(score, y, **n),
        "roc_auc(average='macro')": tm.multilabel_auroc(score, y, **n),
    }


FAMILIES: Mapping[str, Family] = {
    "regression": Family(
        2_000_000,
        write_regression,
        {"label": "y", "prediction": "p", "task": "regression"},
        {"scikit-learn": regression_of_sklearn, "torchmetrics": regression_of_torchmetrics},
    ),
    "ranking": Family(
        1_000_000,
        write_ranking,
        {"label": "y", "score": "p", "qid": "q"},
        {"scikit-learn": ranking_of_sklearn, "ranx": ranking_of_ranx},
    ),
    "multiclass": Family(
        1_000_000,
        write_multiclass,
        {"label": "y", "score": {i: f"s{i}" for i in range(CLASSES)}, "task": "multiclass"},
        {"scikit-learn": multiclass_of_sklearn},
    ),
    "multilabel": Family(
        500_000,
        write_multilabel,
        {"label": "y", "score": "p", "classes": list(range(LABELS)), "task": "multilabel"},
        {"scikit-learn": multilabel_of_sklearn, "torchmetrics": multilabel_of_torchmetrics},
    ),
    "calibration": Family(
        2_000_000,
        write_calibration,
        {"label": "y", "score": "p"},
        {"scikit-learn": calibration_of_sklearn},
    ),
}
#: The package of a side, if its name is another one.
PACKAGES = {"scikit-learn": "sklearn"}
#: How far a library may be from sqleval; torchmetrics has results of 32 bits.
TOLERANCES = {"torchmetrics": 1e-5}


def read_ours(family: str, metrics: list[str], path: str) -> Values:
    """Compute metrics with sqleval."""
    import sqleval

    frame = sqleval.scan(path, **FAMILIES[family].roles).evaluate(metrics).collect()
    return dict(zip(metrics, frame["value"].to_list(), strict=True))


def read_processor_time() -> float:
    """Return the seconds of this process and its children, in the program and in the system."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def work(family: str, side: str, path: str, metrics: list[str]) -> None:
    """Answer each line of the input with the processor time and the values of one repetition."""
    warnings.simplefilter("ignore")
    sides = FAMILIES[family].sides
    for _ in sys.stdin:
        before = read_processor_time()
        values = sides[side](path) if side in sides else read_ours(family, metrics, path)
        spent = read_processor_time() - before
        answer = {"seconds": spent, "values": {name: float(v) for name, v in values.items()}}
        print(json.dumps(answer), flush=True)


class Worker:
    """A process with one side."""

    def __init__(self, family: str, side: str, path: str, metrics: list[str]) -> None:
        command = [sys.executable, "-m", "tests.bench.families", family, "--work", side, path]
        self._process = subprocess.Popen(
            [*command, *metrics], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self) -> dict[str, Any]:
        """Let it compute everything once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def measure(family: str, side: str, path: str, repeats: int) -> tuple[Values, float, float]:
    """Return the values of a side, and the least processor time of it and of sqleval.

    Raises
    ------
    SystemExit
        If a value is not sqleval's.
    """
    theirs = Worker(family, side, path, [])
    first = theirs.ask()
    values = first["values"]
    ours = Worker(family, "sqleval", path, [*values])
    answers = [(first, ours.ask())]
    answers += [(theirs.ask(), ours.ask()) for _ in range(repeats - 1)]
    for worker in (theirs, ours):
        worker.close()
    for name, value in answers[0][1]["values"].items():
        if abs(value - values[name]) > TOLERANCES.get(side, 1e-9) * max(1, abs(value)):
            sys.exit(f"{family}: {name} of {side} is {values[name]}, and ours is {value}")
    least = [min(each[at]["seconds"] for each in answers) for at in (0, 1)]
    return values, least[0], least[1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("family", nargs="?", choices=FAMILIES)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        side, path, *metrics = arguments.work
        work(arguments.family, side, path, metrics)
        return
    print("| family | rows | library | its metrics | its CPU seconds | sqleval's | ratio |")
    print("| --- | ---: | --- | --- | ---: | ---: | ---: |")
    missing: list[str] = []
    for name in [arguments.family] if arguments.family else FAMILIES:
        family = FAMILIES[name]
        rows = arguments.rows or family.rows
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            family.write(path, rows)
            for side in family.sides:
                if find_spec(PACKAGES.get(side, side)) is None:
                    missing.append(side)
                    continue
                values, theirs, ours = measure(name, side, str(path), arguments.repeats)
                names = ", ".join(f"`{each}`" for each in values)
                print(
                    f"| {name} | {rows:,} | {side} {version(side)} | {names} | {theirs:.2f} | "
                    f"{ours:.2f} | {theirs / ours:.1f} |",
                    flush=True,
                )
    if missing:
        print(f"\nnot installed: {', '.join(dict.fromkeys(missing))}")


if __name__ == "__main__":
    main()
