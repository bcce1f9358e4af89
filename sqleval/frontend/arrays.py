"""Evaluates and compares arrays at hand: NumPy's, lists, Series and frames of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from sqleval.catalog.roles import list_arguments
from sqleval.catalog.tasks import has_several_classes
from sqleval.common.counts import format_row_count
from sqleval.errors import RequestError
from sqleval.frontend.array_classes import (
    are_classes,
    choose_positive,
    choose_role,
    map_classes,
)
from sqleval.frontend.scan import scan
from sqleval.sources.arrays import Columns, find_index, make_table, read_columns

if TYPE_CHECKING:
    from sqleval.binding.binding import Nulls
    from sqleval.common.sql_text import Scalar
    from sqleval.frontend.evaluations import Metrics
    from sqleval.frontend.predictions import Predictions

#: The roles that `y`, `p` and their names fill.
_SAID = ("label", "score", "prediction")
#: The options of verbs that name a column of a frame, and here are arrays.
_COLUMN_OPTIONS = ("cluster", "model", "key", "groups")


def evaluate(
    y: object = None,
    p: object = None,
    metrics: Metrics = None,
    *,
    score: object = None,
    prediction: object = None,
    classes: Sequence[Scalar] | None = None,
    weight: object = None,
    counts: object = None,
    qid: object = None,
    item: object = None,
    by: object = None,
    over: object = None,
    role: object = None,
    sets: str | Sequence[Sequence[str]] | None = None,
    positive: Scalar | None = None,
    threshold: Any = None,
    nulls: Nulls = "error",
    common: bool = False,
    task: str | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Return the metrics of arrays, lists or Series, one row per metric and slice.

    All arrays are matched by position. The index of pandas is not used, and two Series with the
    same index in another order are an error.

    Parameters
    ----------
    y : array of shape (rows,)
        The truth: of NumPy, pandas, Polars or Arrow, a list, or a tensor on the CPU.
    p : array of shape (rows,) or (rows, classes), frame, or mapping, optional
        What the model said. Fractions are scores if ``y`` has two classes, otherwise predicted
        values. Truth values, texts, and whole numbers that are all labels are predictions; other
        whole numbers are scores of two classes. 0.0 and 1.0 of a floating type are scores.
        Two dimensions, or a DataFrame, are the scores of ``predict_proba``. A mapping holds an
        array for each model, or with ``task="multiclass"`` for each class.
    metrics : str or sequence of str, optional
        Names from `sqleval.metrics`; the default set of the task if left out.
    score, prediction : array or mapping, optional
        Instead of ``p``, or both: what they are by name.
    classes : sequence, optional
        The class of each column of two dimensions: ``model.classes_``. If left out, the names of
        a DataFrame's columns, or 0, 1, ... if the labels are these numbers. Of two classes, the
        second is the positive one, unless ``positive`` says otherwise, or they are 0 and 1, or -1
        and 1.
    weight, counts, qid, item, role : array, optional
        The roles of `sqleval.scan`, each as an array.
    by, over : mapping of str to array, DataFrame, or named Series, optional
        The slice keys, and the data sets or folds, by name; for ``over`` also an array.
    sets, positive, threshold, nulls, common, task : optional
        As for `sqleval.scan`.
    **options
        The options of `Predictions.evaluate`, such as ``ci=0.95``; ``cluster`` is an array.

    Returns
    -------
    polars.DataFrame
        The columns of `Predictions.evaluate`, computed.

    Raises
    ------
    RequestError
        If arrays differ in length, hold values that no column can have, or do not fit together.
    DataError
        For rows that the metrics cannot use, such as NaN.

    Examples
    --------
    >>> import sqleval
    >>> sqleval.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], "roc_auc")["value"].item()
    0.75
    >>> p, classes = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.7, 0.2]], ["ant", "bee", "cat"]
    >>> found = sqleval.evaluate(["ant", "bee", "cat"], p, ["accuracy"], classes=classes)
    >>> found["value"].item()
    0.6666666666666666
    """
    roles = {"weight": weight, "counts": counts, "qid": qid, "item": item, "role": role}
    scanned = {
        "sets": sets, "positive": positive, "threshold": threshold, "nulls": nulls,
        "common": common, "task": task,
    }  # fmt: skip
    _check_metrics(metrics)
    arrays = _Arrays(y, p, score, prediction, classes, roles, by, over, scanned, options)
    predictions, named = arrays.bind()
    return predictions.evaluate(metrics, **named).collect()


def compare(
    y: object = None,
    p: object = None,
    metrics: Metrics = None,
    *,
    score: object = None,
    prediction: object = None,
    classes: Sequence[Scalar] | None = None,
    weight: object = None,
    counts: object = None,
    qid: object = None,
    by: object = None,
    over: object = None,
    sets: str | Sequence[Sequence[str]] | None = None,
    positive: Scalar | None = None,
    threshold: Any = None,
    nulls: Nulls = "error",
    task: str | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Return each model's difference from the first one, from arrays, with a test and a verdict.

    Parameters
    ----------
    y : array of shape (rows,)
        The truth.
    p : mapping of str to array, optional
        What each model said, ``{"a": p, "b": q}``; each array is read as by `evaluate`. A single
        array with ``groups=`` or ``model=``.
    metrics, score, prediction, classes, weight, counts, qid, by, over, sets : optional
        As for `evaluate`.
    positive, threshold, nulls, task : optional
        As for `sqleval.scan`.
    **options
        The options of `Predictions.compare`, such as ``baseline="a"``; ``cluster``, ``groups``,
        ``model`` and ``key`` are arrays.

    Returns
    -------
    polars.DataFrame
        The columns of `Predictions.compare`, computed.

    Raises
    ------
    RequestError
        If arrays differ in length, hold values that no column can have, or do not fit together.
    DataError
        For rows that the metrics or the test cannot use, such as NaN.

    Examples
    --------
    >>> import sqleval
    >>> y, a, b = [0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.7] * 25, [0.1, 0.3, 0.4, 0.7] * 25
    >>> sqleval.compare(y, {"a": a, "b": b}, "roc_auc")["verdict"].item()
    'b is better than a by 0.25 [0.151, 0.349]'
    """
    roles = {"weight": weight, "counts": counts, "qid": qid, "role": None}
    scanned = {
        "sets": sets, "positive": positive, "threshold": threshold, "nulls": nulls, "task": task,
    }  # fmt: skip
    _check_metrics(metrics)
    arrays = _Arrays(y, p, score, prediction, classes, roles, by, over, scanned, options)
    predictions, named = arrays.bind()
    return predictions.compare(metrics, **named).collect()


def _check_metrics(metrics: object) -> None:
    """Raise `RequestError` if a second array of scores stands in the place of the metrics."""
    if isinstance(metrics, Mapping) or not hasattr(metrics, "__len__"):
        return
    first = next(iter(cast("Any", metrics)), "")
    if getattr(metrics, "ndim", 1) > 1 or not isinstance(first, str):
        raise RequestError(
            "metrics must be names, such as ['roc_auc', 'log_loss']; several models are a mapping "
            "of arrays: compare(y, {'a': p, 'b': q})"
        )


@dataclass
class _Arrays:
    """The arguments of a call, and the columns that are gathered from them.

    Attributes
    ----------
    roles : mapping of str to object
        The arrays of single roles, by argument.
    scanned : dict
        The arguments of `scan` that are not arrays.
    options : dict
        The options of the verb; those of `_COLUMN_OPTIONS` are arrays.
    columns : dict of str to Arrow array
        The columns so far.
    """

    y: object
    p: object
    score: object
    prediction: object
    classes: Sequence[Scalar] | None
    roles: Mapping[str, object]
    by: object
    over: object
    scanned: dict[str, Any]
    options: dict[str, Any]
    columns: dict[str, Any] = field(default_factory=dict[str, Any])
    _first: tuple[str, int] | None = None
    _index: tuple[str, Any] | None = None

    def bind(self) -> tuple[Predictions, dict[str, Any]]:
        """Return the bound predictions, and the options with the names of columns."""
        named: dict[str, Any] = {
            # Keys have their names in the result, so that other columns must avoid them.
            "by": list(self._add_keys("by", self.by)),
            "over": list(self._add_keys("over", self.over)),
        }
        if self.y is not None:
            named["label"] = self._add_single("y", self.y)
        singles = {**self.roles}
        others = [name for name in list_arguments() if name not in (*_SAID, *singles)]
        singles |= {name: self.options.pop(name, None) for name in others}
        named |= {name: self._add_values(name, values) for name, values in singles.items()}
        label = pl.Series(self.columns[named["label"]]) if "label" in named else None
        for role, values in self._sort_scores(label):
            named[role] = self._add_models(role, values, label)
        options = self.options | {
            name: self._add_single(name, self.options[name])
            for name in _COLUMN_OPTIONS
            if self.options.get(name) is not None
        }
        if not self.columns:
            raise RequestError("give y and p, such as evaluate(y_test, model.predict(X_test))")
        return scan(make_table(self.columns), **named, **self.scanned), options

    def _sort_scores(self, label: pl.Series | None) -> list[tuple[str, object]]:
        """Return the scores and predictions by role; ``p`` has the role that its values have."""
        if self.p is not None and not (self.score is None and self.prediction is None):
            raise RequestError(
                "p stands beside score= or prediction=: give both by name, score=... and "
                "prediction=..."
            )
        if self.p is None:
            named = (("score", self.score), ("prediction", self.prediction))
            return [(role, values) for role, values in named if values is not None]
        if label is None:
            raise RequestError("p needs y, the truth of each row")
        whole = self.p
        models = cast("Mapping[Any, object]", whole if isinstance(whole, Mapping) else {"p": whole})
        if has_several_classes(self.scanned.get("task")) and are_classes(models, label):
            return [("score", whole)]
        roles = {
            name: choose_role(read_columns(values, str(name)), label, self.scanned, self.roles)
            for name, values in models.items()
        }
        if len({*roles.values()}) > 1:
            shown = ", ".join(f"{name!r} a {role}" for name, role in roles.items())
            raise RequestError(
                f"models are of one kind, and by their values {shown}: give "
                "score={...} or prediction={...} by name"
            )
        return [(next(iter(roles.values()), "score"), whole)]

    def _add_models(self, role: str, values: object, label: pl.Series | None) -> Any:
        """Add the columns of a score or prediction; return the argument of `scan`."""
        if not isinstance(values, Mapping):
            # The name of the argument as it was given, which messages repeat.
            return self._add_classes(role, "p" if self.p is not None else role, values, label)
        models = cast("Mapping[Any, object]", values)
        return {
            name: self._add_classes(role, str(name), each, label) for name, each in models.items()
        }

    def _add_classes(self, role: str, name: str, values: object, label: pl.Series | None) -> Any:
        """Add one column, or a column per class; return its name, or the names by class."""
        read = read_columns(values, name)
        if read.is_single:
            self._choose_positive(role, name)
            return self._add(name, read.arrays[0], values)
        if role == "prediction":
            raise RequestError(
                f"{name} has {len(read.arrays)} columns; a prediction is one value per row, and "
                "the scores of classes are score="
            )
        rows, width = len(read.arrays[0]), len(read.arrays)
        if self._first is not None and self._first[1] == width != rows:
            raise RequestError(
                f"{name} has {format_row_count(rows)} and {width:,} columns, and {self._first[0]} "
                f"has {format_row_count(width)}: rows and columns may be swapped; pass {name}.T"
            )
        by_class, positive = map_classes(read, label, name, self.classes, self.scanned)
        if positive is not None:
            self.scanned["positive"] = positive
        if len(by_class) == 1:
            return self._add(name, next(iter(by_class.values())), values)
        self.scanned["task"] = "multiclass"
        return {
            each: self._add(f"{name}[{each}]", array, values) for each, array in by_class.items()
        }

    def _choose_positive(self, role: str, name: str) -> None:
        """Let the second of two ``classes=`` be positive, as the column of a score is its own."""
        if self.classes is None or has_several_classes(self.scanned.get("task")):
            return
        if role == "prediction" or len(self.classes) != 2:
            raise RequestError(
                f"classes= has {len(self.classes)} classes, and {name} is one column, of "
                f"{'predictions' if role == 'prediction' else 'scores'}: leave out classes="
            )
        self.scanned["positive"] = choose_positive(self.classes, self.scanned["positive"])

    def _add_keys(self, name: str, values: object) -> list[str]:
        """Add the arrays of a mapping, a DataFrame or a named Series; return their names."""
        if values is None:
            return []
        if isinstance(values, Mapping):
            pairs = list(cast("Mapping[Any, object]", values).items())
            return [self._add_single(str(key), each) for key, each in pairs]
        read = read_columns(values, name)
        own = read.names or (getattr(values, "name", None),)
        if not isinstance(own[0], str) or not own[0]:
            own = ("over",) if name == "over" and read.is_single else own
        if len(own) != len(read.arrays) or own[0] in (None, ""):
            raise RequestError(
                f"{name}= has no name: give a mapping of names to arrays, such as "
                f"{name}={{'carrier': carriers}}"
            )
        return [
            self._add(str(key), array, values) for key, array in zip(own, read.arrays, strict=True)
        ]

    def _add_values(self, name: str, values: object) -> Any:
        """Add the array of a role, or those of a mapping; return the argument of `scan`."""
        if isinstance(values, Mapping):
            models = cast("Mapping[Any, object]", values)
            return {each: self._add_single(str(each), array) for each, array in models.items()}
        return None if values is None else self._add_single(name, values)

    def _add_single(self, name: str, values: object) -> str:
        """Add an array with one value per row; return the name of its column."""
        read: Columns = read_columns(values, name)
        if not read.is_single:
            raise RequestError(
                f"{name} has {len(read.arrays)} columns; it must have one value per row"
            )
        return self._add(name, read.arrays[0], values)

    def _add(self, name: str, array: Any, values: object) -> str:
        """Add a column under a name that is free; check its length and its index."""
        first, rows = self._first = self._first or (name, len(array))
        if len(array) != rows:
            raise RequestError(
                f"{name} has {format_row_count(len(array))} and {first} has "
                f"{format_row_count(rows)}; arrays are matched by position and need equal lengths"
            )
        index = find_index(values)
        if index is not None:
            if self._index is None:
                self._index = name, index
            _check_order(name, index, *self._index)
        while name.casefold() in {each.casefold() for each in self.columns}:
            name += "_"
        self.columns[name] = array
        return name


def _check_order(name: str, index: Any, other_name: str, other: Any) -> None:
    """Raise `RequestError` if two indexes of pandas name the same rows in another order."""
    if index.equals(other) or len(index) != len(other):
        return
    if type(index) is type(other) and index.sort_values().equals(other.sort_values()):
        raise RequestError(
            f"{name} and {other_name} have the same index in another order, and arrays are "
            f"matched by position: reindex one of them, or pass {name}.to_numpy()"
        )
