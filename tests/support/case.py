"""A case: a metric, its kind of data, and an independent reference; and a data set.

A reference is the header's ``reference`` if that is a function that can be imported.
References see only rows with weight above 0, as numpy arrays, and give NaN or None where
the metric is undefined, even if their library gives 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
import polars as pl

from sqleval.catalog import builtin, request

from . import references as ref

Kind = Literal["binary", "multiclass", "probabilities", "regression", "ranking", "value",
    "many labels", "recommendation",
]  # fmt: skip

#: The columns of each kind of data, as arguments of `sqleval.scan`.
ROLES: Mapping[Kind, Mapping[str, Any]] = {
    "binary": {"label": "y", "score": "p"},
    "multiclass": {"label": "y", "prediction": "c", "task": "multiclass"},
    "probabilities": {
        "label": "y",
        "score": {"a": "p_a", "b": "p_b", "c": "p_c"},
        "task": "multiclass",
    },
    "regression": {"label": "y", "prediction": "v", "task": "regression"},
    "ranking": {"label": "y", "score": "p", "qid": "q"},
    "recommendation": {"label": "y", "score": "p", "qid": "q", "item": "i", "task": "ranking"},
    "value": {"value": "v"},
    "many labels": {
        "label": {"a": "y_a", "b": "y_b", "c": "y_c"},
        "score": {"a": "p_a", "b": "p_b", "c": "p_c"},
        "task": "multilabel",
    },
}


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a reference sees. ``score`` has a column per class for probabilities.

    For many labels, label, score and prediction have a column per label.

    An object equals only itself, so that the caches of references can use it as a key.
    """

    label: np.ndarray
    score: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray
    query: np.ndarray
    item: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def classes(self) -> np.ndarray:
        """The classes that occur, or all three of the probabilities."""
        if self.score.ndim == 2 and self.label.ndim == 1:
            return np.array(["a", "b", "c"])
        return np.union1d(self.label, self.prediction)


def rows_of(
    frame: pl.DataFrame, kind: Kind, *, threshold: float = 0.5, weight: str | None = None
) -> Rows:
    """Return a frame's rows of positive weight; binary labels are 0 and 1 there already."""
    if weight:
        frame = frame.filter(pl.col(weight) > 0)
    n = frame.height
    ones = np.ones(n) if weight is None else frame[weight].to_numpy().astype(float)
    if kind == "many labels":
        label, score = (frame.select(f"{c}_{name}" for name in "abc").to_numpy() for c in "yp")
        limit = score.dtype.type(threshold) if score.dtype == np.float32 else threshold
        decided = (score >= limit).astype(int)
        return Rows(label.astype(int), score.astype(float), decided, ones, np.zeros(n))
    label, score = frame["y"].to_numpy(), np.zeros(n)
    prediction = score
    if kind == "binary":
        column = frame["p"].to_numpy()
        # A FLOAT score is compared with the threshold as FLOAT; all other arithmetic is DOUBLE.
        limit = column.dtype.type(threshold) if column.dtype == np.float32 else threshold
        prediction = (column >= limit).astype(int)
        score = column.astype(float)
    elif kind == "multiclass":
        prediction = frame["c"].to_numpy()
    elif kind == "probabilities":
        score = frame.select("p_a", "p_b", "p_c").to_numpy().astype(float)
        prediction = np.array(["a", "b", "c"])[score.argmax(axis=1)]
    elif kind == "regression":
        prediction = frame["v"].to_numpy()
    elif kind == "value":
        score = frame["v"].to_numpy().astype(float)
    else:
        score = frame["p"].to_numpy().astype(float)
    if label.dtype == object:
        label = label.astype(str)
    if prediction.dtype == object:
        prediction = prediction.astype(str)
    return Rows(
        label=label,
        score=score,
        prediction=prediction,
        weight=ones,
        query=frame["q"].to_numpy() if "qid" in ROLES[kind] else np.zeros(n),
        item=frame["i"].to_numpy() if "item" in ROLES[kind] else np.zeros(0),
    )


Reference = Callable[[Rows], float | None]


def header_function(name: str) -> Callable[..., Any]:
    """Return the function that a metric's header names as its reference."""
    module, _, function = builtin().get(name).header["reference"].rpartition(".")
    return getattr(import_module(module), function)


def decided(function: str | Callable[..., Any], **fixed: Any) -> Reference:
    """Compare labels with predictions."""
    call = header_function(function) if isinstance(function, str) else function
    if call in ref.INDEX_OF_SCORE:
        return lambda rows: ref.score_decisions(rows, **fixed)[ref.INDEX_OF_SCORE[call]]
    return lambda rows: call(rows.label, rows.prediction, sample_weight=rows.weight, **fixed)


def scored(name: str, **fixed: Any) -> Reference:
    """Compare labels with probabilities."""
    call = header_function(name)
    return lambda rows: call(rows.label, rows.score, sample_weight=rows.weight, **fixed)


@dataclass(frozen=True)
class Case:
    """A metric with parameters, its kind of data, and its reference."""

    metric: str
    kind: Kind
    reference: Reference
    threshold: float | None = None
    tolerance: float = 1e-12

    @cached_property
    def request(self) -> request.Request:
        """The metric parsed by sqleval."""
        return request.parse(self.metric, ROLES[self.kind].get("task", self.kind))

    @property
    def name(self) -> str:
        return self.request.name

    @property
    def header(self) -> Mapping[str, Any]:
        return builtin().get(self.name).header

    @property
    def weighted(self) -> bool:
        """Whether the metric takes weights."""
        return self.header["weights"] == "frequency"

    def fits(self, data: "Data") -> bool:
        """Whether the data are of the metric's kind, and have the weights and scores it takes."""
        if self.kind != data.kind or (data.weight and not self.weighted):
            return False
        # The matrix of costs names the classes a, b and c.
        if "cost_matrix" in self.metric and self.kind == "multiclass" and not data.letters:
            return False
        return not (data.outside and self.header.get("domain"))

    def __str__(self) -> str:
        return f"{self.kind}-{self.metric}"


@dataclass(frozen=True, eq=False)
class Data:
    """A named data set. ``options`` are arguments of `sqleval.scan` besides the kind's roles.

    ``outside`` marks scores outside 0 .. 1, which the metrics of probabilities refuse.
    """

    name: str
    kind: Kind
    frame: pl.DataFrame
    options: Mapping[str, Any] = field(default_factory=dict)
    outside: bool = False

    @property
    def by(self) -> list[str]:
        return list(self.options.get("by", []))

    @property
    def weight(self) -> str | None:
        return self.options.get("weight")

    @property
    def letters(self) -> bool:
        """Whether the classes are a, b and c."""
        return "y" in self.frame.columns and self.frame["y"].dtype == pl.String

    @cached_property
    def known(self) -> pl.DataFrame:
        """The rows that count, with binary labels as 0 and 1, as references need them."""
        frame = self.frame
        if self.options.get("nulls") == "drop":
            roles = [name for name in frame.columns if name not in self.by]
            frame = frame.drop_nulls(roles)
        if self.kind == "binary":
            positive = self.options.get("positive", 1)
            label = pl.col("y") if frame["y"].dtype == pl.Boolean else pl.col("y") == positive
            frame = frame.with_columns(y=label.cast(pl.Int64))
        return frame

    def groups(self, frame: pl.DataFrame) -> dict[tuple[Any, ...], pl.DataFrame]:
        """Split by the slice keys; NULL is a value of a key."""
        return frame.partition_by(self.by, as_dict=True) if self.by else {(): frame}

    def __str__(self) -> str:
        return f"{self.kind}-{self.name}"
