"""Build three classic tables of out-of-fold predictions.

The breast cancer (two classes), digits (ten classes) and diabetes (regression) data
sets that scikit-learn ships, each predicted by a linear model in five fixed, shuffled
folds: every row is predicted by a model that did not see it.

Run it with ``python data/make_classics.py [--out DIR]``. It writes
``DIR/classics/breast_cancer.parquet``, ``digits.parquet`` and ``diabetes.parquet``;
without ``--out``, DIR is the folder of this script, whatever the working directory.

A rebuild reproduces the files by value, not byte for byte. Keys, folds, labels and
predicted classes come back exactly: no row is closer to a tie than the tolerance.
Probabilities come back within ``PROBABILITY_TOLERANCE`` and predicted progressions
within ``PROGRESSION_TOLERANCE``, because linear algebra differs between machines.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

RANDOM_STATE = 0
FOLDS = 5
PROBABILITY_TOLERANCE = 5e-5
PROGRESSION_TOLERANCE = 0.01

Array = npt.NDArray[np.float64]


def logistic() -> Pipeline:
    """Make the classifier.

    Returns
    -------
    sklearn.pipeline.Pipeline
        The unfitted model.
    """
    # A second-order solver reaches the optimum to many digits, which keeps rebuilds on
    # other machines close.
    model = LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-8, max_iter=200)
    return make_pipeline(StandardScaler(), model)


def stratified_folds() -> StratifiedKFold:
    """Make the folds of the classification tables.

    Returns
    -------
    sklearn.model_selection.StratifiedKFold
        Shuffled folds with the same share of each class.
    """
    return StratifiedKFold(FOLDS, shuffle=True, random_state=RANDOM_STATE)


def fold_numbers(folds: BaseCrossValidator, features: Array, label: Array) -> npt.NDArray[np.int8]:
    """Tell for each row which fold held it out.

    Parameters
    ----------
    folds : BaseCrossValidator
        The splitter.
    features, label : numpy.ndarray
        The data to split.

    Returns
    -------
    numpy.ndarray
        Fold numbers from 0.
    """
    numbers = np.empty(len(label), dtype="int8")
    for number, (_, held_out) in enumerate(folds.split(features, label)):
        numbers[held_out] = number
    return numbers


def breast_cancer() -> pa.Table:
    """Predict breast cancer diagnoses out of fold.

    Returns
    -------
    pyarrow.Table
        `key`, `fold`, `label`, `p`, `prediction`; label 1 means benign.
    """
    features, label = load_breast_cancer(return_X_y=True)
    folds = stratified_folds()
    probabilities = cross_val_predict(logistic(), features, label, cv=folds, method="predict_proba")
    p = probabilities[:, 1]
    return pa.table(
        {
            "key": np.arange(len(label), dtype="int64"),
            "fold": fold_numbers(folds, features, label),
            "label": label.astype("int8"),
            "p": p,
            "prediction": (p >= 0.5).astype("int8"),
        }
    )


def digits() -> pa.Table:
    """Predict handwritten digits out of fold.

    Returns
    -------
    pyarrow.Table
        `key`, `fold`, `label`, `prediction` and the probabilities `p_0` to `p_9`.
    """
    features, label = load_digits(return_X_y=True)
    folds = stratified_folds()
    probabilities = cross_val_predict(logistic(), features, label, cv=folds, method="predict_proba")
    columns = {
        "key": np.arange(len(label), dtype="int64"),
        "fold": fold_numbers(folds, features, label),
        "label": label.astype("int8"),
        "prediction": probabilities.argmax(axis=1).astype("int8"),
    }
    return pa.table(columns | {f"p_{digit}": probabilities[:, digit] for digit in range(10)})


def diabetes() -> pa.Table:
    """Predict the progression of diabetes out of fold.

    Returns
    -------
    pyarrow.Table
        `key`, `fold`, `label`, `prediction`.
    """
    features, label = load_diabetes(return_X_y=True)
    # A number has no classes to stratify by.
    folds = KFold(FOLDS, shuffle=True, random_state=RANDOM_STATE)
    model = make_pipeline(StandardScaler(), Ridge(alpha=1.0, solver="cholesky"))
    return pa.table(
        {
            "key": np.arange(len(label), dtype="int64"),
            "fold": fold_numbers(folds, features, label),
            "label": label,
            "prediction": cross_val_predict(model, features, label, cv=folds),
        }
    )


def build_classics(out: Path) -> None:
    """Build the three tables.

    Parameters
    ----------
    out : pathlib.Path
        The folder that gets the folder ``classics``.
    """
    folder = out / "classics"
    folder.mkdir(parents=True, exist_ok=True)
    # The matrices are too small to share: on a busy machine, threads that wait for each
    # other take many times as long as a single one.
    with threadpool_limits(limits=1):
        tables = {"breast_cancer": breast_cancer(), "digits": digits(), "diabetes": diabetes()}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments, by default those of the process.
    """
    parser = argparse.ArgumentParser(description="Build the classic tables.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    build_classics(parser.parse_args(arguments).out)


if __name__ == "__main__":
    main()
