"""Generates rows for each task: ties, one class, right and wrong predictions, weights, counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import polars as pl

from sqleval.catalog.roles import ROLES, list_added_arguments
from sqleval.catalog.tasks import TASKS
from sqleval.checking.properties import Rows

#: The rows of one set, and the classes of several.
_N, _CLASSES = 90, ("a", "b", "c")
#: The names of the sets that have one class of labels.
ONE_CLASS = ("only positives", "only negatives", "one class")
Change = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, and the arguments of `sqleval.scan` for them.

    Attributes
    ----------
    frame : polars.DataFrame
        Rows with the columns of the roles and ``w``, weights, ``n``, counts of 0 to 3, and ``g``, a
        key that is sometimes NULL.
    roles : mapping
        The roles of one model.
    models : mapping
        The roles of two models, ``a`` and ``b``.
    changes : mapping
        The function that makes each further set from the rows, by the set's name.
    costs : str
        The costs of wrong predictions, for metrics that need them.
    """

    frame: pl.DataFrame
    roles: Mapping[str, Any]
    models: Mapping[str, Any]
    changes: Mapping[str, Change]
    costs: str = ""

    @property
    def rows(self) -> Rows:
        """The rows, as one set."""
        return Rows(self.frame, self.roles)

    @property
    def cases(self) -> Rows:
        """The rows and every other set, as slices by the column ``case``."""
        sets: dict[str, Change] = {"plain": lambda rows: rows, **self.changes}
        sets["one row"] = lambda rows: rows.head(1)
        parts = (
            change(self.frame).with_columns(case=pl.lit(name)) for name, change in sets.items()
        )
        return Rows(pl.concat(parts), {**self.roles, "by": ["case"]})


def make_data(task: str) -> Data:
    """Return the rows of a task, the same ones each time.

    Examples
    --------
    >>> make_data("binary").roles["score"]
    'p'
    """
    facts, random = TASKS[task], Random(1)
    if facts.has_many_labels:
        data = _make_many_labels(random)
    elif facts.has_two_classes:
        data = _make_two_classes(random)
    elif facts.has_several_classes:
        data = _make_classes(random)
    elif not facts.has_labels:
        data = _make_alone(random)
    elif facts.has_values:
        data = _make_values(random)
    else:
        data = _make_queries(random)
    added = {name: f"{name}_" for name in list_added_arguments()}
    roles = {"task": task, **added}
    frame = data.frame.with_columns(
        w=pl.Series([random.choice([0.25, 0.5, 1.0, 1.5, 3.0]) for _ in range(_N)]),
        n=pl.Series([random.randint(0, 3) for _ in range(_N)]),
        g=pl.Series([random.choice(["north", "south", None]) for _ in range(_N)]),
        **{column: _make_values_of(role, random) for role, column in added.items()},
    )
    return replace(
        data, frame=frame, roles={**data.roles, **roles}, models={**data.models, **roles}
    )


def _make_values_of(argument: str, random: Random) -> pl.Series:
    """Return a column for a role that `sqleval.scan` takes from the table of roles."""
    (kind,) = (facts.values for facts in ROLES.values() if facts.argument == argument)
    numbers = [random.randint(0, 3) for _ in range(_N)]
    if kind == "number":
        return pl.Series([number + 0.5 for number in numbers])
    if kind == "two classes":
        return pl.Series([number % 2 for number in numbers])
    if kind in ("class", "text"):
        return pl.Series(["xyzt"[number] for number in numbers])
    if kind == "time":
        return pl.Series(numbers).cast(pl.Date)
    return pl.Series([[number] for number in numbers] if kind == "list" else numbers)


def _draw(random: Random, mean: float, spread: float) -> float:
    return round(min(max(random.gauss(mean, spread), 0.0), 1.0), 2)


def _make_two_classes(random: Random) -> Data:
    labels = [random.randint(0, 1) for _ in range(_N)]
    rows = pl.DataFrame(
        {
            "y": labels,
            "p": [_draw(random, 0.4 + 0.2 * label, 0.25) for label in labels],
            "q": [_draw(random, 0.35 + 0.3 * label, 0.25) for label in labels],
        }
    )
    changes: dict[str, Change] = {
        "ties": lambda rows: rows.with_columns(p=(pl.col("p") * 2).round() / 2),
        "constant scores": lambda rows: rows.with_columns(p=0.5),
        "nothing predicted positive": lambda rows: rows.with_columns(p=pl.col("p") * 0.4),
        "right": lambda rows: rows.with_columns(p=pl.col("y").cast(pl.Float64)),
        "wrong": lambda rows: rows.with_columns(p=1.0 - pl.col("y")),
        "only positives": lambda rows: rows.with_columns(y=pl.lit(1, pl.Int64)),
        "only negatives": lambda rows: rows.with_columns(y=pl.lit(0, pl.Int64)),
    }
    models = {"label": "y", "score": {"a": "p", "b": "q"}}
    costs = "{1: {0: 5}, 0: {1: 2}}"
    return Data(rows, {"label": "y", "score": "p"}, models, changes, costs)


def _make_classes(random: Random) -> Data:
    labels = [random.choice(_CLASSES) for _ in range(_N)]
    columns: dict[str, list[Any]] = {"y": labels}
    for model in "pq":
        # Scores are multiples of 1/64, so that their sums are exact.
        for name in _CLASSES:
            columns[f"{model}_{name}"] = []
        for label in labels:
            parts = [random.randint(0, 12) + 14 * (label == name) for name in _CLASSES[:2]]
            for name, part in zip(_CLASSES, [*parts, 64 - sum(parts)], strict=True):
                columns[f"{model}_{name}"].append(part / 64)

    def certain(shift: int) -> Change:
        """Return a change that gives the score 1 to the class ``shift`` places after the label."""
        after = {name: _CLASSES[(i + shift) % 3] for i, name in enumerate(_CLASSES)}
        chosen = pl.col("y").replace_strict(after)
        return lambda rows: rows.with_columns(
            (chosen == name).cast(pl.Float64).alias(f"p_{name}") for name in _CLASSES
        )

    scores = pl.col([f"p_{name}" for name in _CLASSES])
    changes: dict[str, Change] = {
        "constant scores": lambda rows: rows.with_columns(p_a=0.25, p_b=0.25, p_c=0.5),
        "ties": lambda rows: rows.with_columns((scores > 0.3).cast(pl.Float64) / 2).with_columns(
            p_c=1.0 - pl.col("p_a") - pl.col("p_b")
        ),
        "right": certain(0),
        "wrong": certain(1),
        "one class": lambda rows: rows.with_columns(y=pl.lit("a")),
    }
    of_model = {model: {name: f"{model}_{name}" for name in _CLASSES} for model in "pq"}
    models = {"label": "y", "score": {"a": of_model["p"], "b": of_model["q"]}}
    costs = "{'a': {'b': 5, 'c': 1}, 'b': {'a': 2, 'c': 2}, 'c': {'a': 1, 'b': 3}}"
    roles = {"label": "y", "score": of_model["p"]}
    return Data(pl.DataFrame(columns), roles, models, changes, costs)


def _make_many_labels(random: Random) -> Data:
    labels = {f"y_{name}": [random.randint(0, 1) for _ in range(_N)] for name in _CLASSES}
    scores = {
        f"{model}_{name}": [_draw(random, 0.4 + 0.2 * y, 0.25) for y in labels[f"y_{name}"]]
        for model in "pq"
        for name in _CLASSES
    }
    truth = pl.col(list(labels))
    of_p = [(f"p_{name}", pl.col(f"y_{name}")) for name in _CLASSES]
    changes: dict[str, Change] = {
        "ties": lambda rows: rows.with_columns((pl.col(name) * 2).round() / 2 for name, _ in of_p),
        "constant scores": lambda rows: rows.with_columns(
            pl.lit(0.5).alias(name) for name, _ in of_p
        ),
        "right": lambda rows: rows.with_columns(y.cast(pl.Float64).alias(n) for n, y in of_p),
        "wrong": lambda rows: rows.with_columns((1.0 - y).alias(n) for n, y in of_p),
        "no labels": lambda rows: rows.with_columns(truth * 0),
        "all labels": lambda rows: rows.with_columns(truth * 0 + 1),
    }
    label = {name: f"y_{name}" for name in _CLASSES}
    of_model = {model: {name: f"{model}_{name}" for name in _CLASSES} for model in "pq"}
    models = {"label": label, "score": {"a": of_model["p"], "b": of_model["q"]}}
    rows = pl.DataFrame({**labels, **scores})
    return Data(rows, {"label": label, "score": of_model["p"]}, models, changes)


def _make_values(random: Random) -> Data:
    truth = [round(random.gauss(10, 5), 1) for _ in range(_N)]
    rows = pl.DataFrame(
        {
            "y": truth,
            "p": [round(value + random.gauss(0.5, 2), 1) for value in truth],
            "q": [round(value + random.gauss(0, 1), 1) for value in truth],
        }
    )
    changes: dict[str, Change] = {
        "right": lambda rows: rows.with_columns(p="y"),
        "constant labels": lambda rows: rows.with_columns(y=3.0),
        "constant predictions": lambda rows: rows.with_columns(p=4.5),
        "large": lambda rows: rows.with_columns(pl.col("y", "p") * 1e6),
    }
    models = {"label": "y", "prediction": {"a": "p", "b": "q"}}
    return Data(rows, {"label": "y", "prediction": "p"}, models, changes)


def _make_alone(random: Random) -> Data:
    rows = pl.DataFrame(
        {
            name: [round(random.gauss(mean, 1), 1) for _ in range(_N)]
            for name, mean in (("p", 3), ("q", 3.2))
        }
    )
    changes: dict[str, Change] = {
        "zeros and ones": lambda rows: rows.with_columns(p=(pl.col("p") > 3).cast(pl.Float64)),
        "constant": lambda rows: rows.with_columns(p=4.5),
        "large": lambda rows: rows.with_columns(pl.col("p") * 1e6),
    }
    return Data(rows, {"value": "p"}, {"value": {"a": "p", "b": "q"}}, changes)


def _make_queries(random: Random) -> Data:
    relevance = [random.randint(0, 3) for _ in range(_N)]
    rows = pl.DataFrame(
        {
            "y": relevance,
            "p": [round(random.gauss(value, 2), 1) for value in relevance],
            "q": [round(random.gauss(value, 1), 1) for value in relevance],
            "query": [random.randint(0, 9) for _ in range(_N)],
            # An item occurs once in a list.
            "item": list(range(_N)),
        }
    )
    changes: dict[str, Change] = {
        "ties": lambda rows: rows.with_columns(p=(pl.col("p") / 2).round()),
        "constant scores": lambda rows: rows.with_columns(p=0.5),
        "right": lambda rows: rows.with_columns(p=pl.col("y").cast(pl.Float64)),
        "nothing relevant": lambda rows: rows.with_columns(y=pl.lit(0, pl.Int64)),
        "one query": lambda rows: rows.with_columns(query=pl.lit(1, pl.Int64)),
    }
    roles = {"label": "y", "qid": "query", "item": "item"}
    return Data(rows, {**roles, "score": "p"}, {**roles, "score": {"a": "p", "b": "q"}}, changes)
