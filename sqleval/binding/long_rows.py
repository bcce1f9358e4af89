"""Reads ``long=`` and ``key=``: the columns of case, model, class and values of long rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqleval.binding.lookup import Columns, find_column, list_unique_names
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError

#: The keys of ``long=``: what the rows of a case differ by.
KEYS = ("model", "class", "label")
#: Keys of shapes whose tasks do not exist.
_UNKNOWN_TASKS = ("level", "quantile", "horizon")
_POSSIBLE = "possible are 'model', 'class' and 'label'"
#: Types whose values can be compared, so that the rows of a case must agree.
PLAIN_KINDS = frozenset({
    "boolean", "integer", "hugeint", "decimal", "float32", "float64", "text", "enum", "uuid",
    "date", "time", "timestamp", "instant", "interval", "binary",
})  # fmt: skip


class LongRows(NamedTuple):
    """How long rows are pivoted.

    Attributes
    ----------
    cases : tuple of Column
        The columns of ``key=``, which name a case.
    divided : mapping of str to Column
        The columns of ``long=``: the model, the class or label, or both.
    values : mapping of str to Column
        The score, the prediction and the value of a row, as far as they are bound; if a case has
        many labels, also whether it has the label of a row.
    label : Column or None
        The label; None if another source has it, or a case has many.
    """

    cases: tuple[Column, ...]
    divided: Mapping[str, Column]
    values: Mapping[str, Column]
    label: Column | None

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of ``long=`` by which each value is divided; only scores are by class."""
        of_model = ("model",) if "model" in self.divided else ()
        keys = {"score": tuple(self.divided), "prediction": of_model, "value": of_model}
        if "label" in self.divided:
            keys |= {"prediction": tuple(self.divided), "label": ("label",)}
        return {role: keys[role] for role in self.values if keys[role]}

    @property
    def may_be_truths(self) -> bool:
        """Whether a label may be 1 in the row of the true class, and 0 in the others."""
        return "class" in self.divided and self.label is not None and self.label.kind not in (
            "text", "enum",
        )  # fmt: skip


def parse_long(
    long: Mapping[str, str], key: str | Sequence[str] | None, roles: Mapping[str, Any],
    columns: Columns, about: str, *, has_late_label: bool,
) -> LongRows:  # fmt: skip
    """Return how long rows are pivoted, by the arguments of `sqleval.scan`.

    Raises
    ------
    RequestError
        If a key or a column does not exist, or the arguments do not fit together.
    """
    check_long(long, key)
    task = roles.get("task")
    if "class" in long and task is not None and not TASKS[task].has_several_classes:
        raise RequestError(
            f"long= names classes, whose task is multiclass (--task multiclass), and task={task!r} "
            "is given"
        )
    if "label" in long:
        _check_labels(long, roles, has_late_label=has_late_label)
    if roles.get("counts") is not None or roles.get("role") is not None:
        raise RequestError("long= goes without counts= and role=: a case is one row")
    values: dict[str, Column] = {}
    for role in ("score", "prediction", "value", *(("label",) if "label" in long else ())):
        named = roles.get(role)
        if isinstance(named, Mapping):
            raise RequestError(
                f"{role}= is one column of values, which long= divides by {' and '.join(long)}; "
                "a mapping of columns is for rows with all values of a case"
            )
        if named is not None:
            values[role] = find_column(columns, named, role, about)
    if not values or ("class" in long and "score" not in values):
        raise RequestError(
            f"long={dict(long)!r} needs score=, the column of the values"
            + ("" if "class" in long else ", or prediction=; values without a label are value=")
        )
    names = list_unique_names(key, "key") if key is not None else []
    divided = {
        name: find_column(columns, long[name], "long", about) for name in KEYS if name in long
    }
    late = has_late_label or roles.get("label") is None or "label" in long
    label = None if late else find_column(columns, roles["label"], "label", about)
    cases = tuple(find_column(columns, name, "key", about) for name in names)
    used = [*cases, *divided.values(), *values.values(), *([label] if label else [])]
    for column in used:
        if column.kind not in PLAIN_KINDS:
            raise RequestError(f"long=: {column.name!r} is {column.type}, and must be one value")
    for column in used:
        if [each.name for each in used].count(column.name) > 1:
            raise RequestError(f"long= and key=: {column.name!r} has two uses; each has a column")
    return LongRows(cases, divided, values, label)


def _check_labels(
    long: Mapping[str, str], roles: Mapping[str, Any], *, has_late_label: bool
) -> None:
    """Raise `RequestError` unless rows of one label each have what many labels need."""
    task = roles.get("task")
    if "class" in long or (task is not None and not TASKS[task].has_many_labels):
        raise RequestError(
            "long= names labels, whose task is multilabel (--task multilabel), and "
            + ("a class" if "class" in long else f"task={task!r} is given")
        )
    if has_late_label:
        raise RequestError(
            "long={'label': ...} reads the labels beside the scores: join labels= to the rows "
            "before, as with query= (--query)"
        )
    if not isinstance(roles.get("label"), str):
        raise RequestError(
            "long={'label': ...} needs label=, the column that is 1 in the row of a label that the "
            "case has, and 0 in its other rows"
        )


def check_long(long: object, key: object) -> None:
    """Raise `RequestError` unless ``long=`` names columns of its keys, and ``key=`` the case."""
    named = cast("Mapping[object, object]", long if isinstance(long, Mapping) else {})
    if not named:
        lone = f"key={key!r} names the cases of long rows: " if long is None else ""
        raise RequestError(
            f"{lone}long={long!r} must map 'model', 'class' or 'label' to a column, such as "
            "long={'model': 'system'} (--long model=COLUMN)"
        )
    for name, column in named.items():
        if str(name).rstrip("s") in _UNKNOWN_TASKS:
            raise RequestError(f"long= names {name!r}, whose task does not exist yet; {_POSSIBLE}")
        if name not in KEYS:
            raise RequestError(f"long= names {name!r}{find_nearest(str(name), KEYS)}; {_POSSIBLE}")
        if not isinstance(column, str):
            raise RequestError(f"long= maps {name!r} to {column!r}, which is not a column name")
    if not key:
        raise RequestError(
            "long= needs key= (--key), the column (or columns) that the rows of a case share"
        )
