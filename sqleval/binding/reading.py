"""Infers the task of an input, and the form in which classes of different types are compared.

All paths use `read_task` and `unify_types`; no other code infers a task from types or values. The
first rows decide, and the audit of a statement checks the choice on all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqleval.binding.binding import Task
from sqleval.binding.canonical import make_canonical, parse_number, parse_truth_value
from sqleval.catalog.roles import name_argument
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import FRACTIONS, NO_TYPE, NUMBERS, TEXTS, WHOLE, Column, Form, Kind
from sqleval.common.sql_text import Scalar, write_name
from sqleval.errors import RequestError

#: The columns of several models or classes, by name.
Mapped = Sequence[tuple[Scalar, Column]]
#: With more different values than this, whole numbers may be amounts instead of classes.
MOST_CLASSES = 50
#: Returns the first values of columns, each with the role that it plays.
Look = Callable[[Sequence[tuple[str, Column]]], Sequence[Sequence[object]]]


class Reading(NamedTuple):
    """The inferred task of an input.

    Attributes
    ----------
    task : str
        The task.
    is_inferred : bool
        Whether it was inferred from values, so that other rows may contradict it.
    is_settled : bool
        Whether the values decide; False if there are fewer than two different ones.
    other : str or None
        Another task that the values would fit; None if there is none.
    notice : str
        A remark for the user, usually empty.
    """

    task: Task
    is_inferred: bool = False
    is_settled: bool = True
    other: Task | None = None
    notice: str = ""


def read_task(
    task: str | None,
    roles: Mapping[str, Column],
    mapped_role: str,
    mapped: Mapped,
    positive: Scalar | None,
    look: Look | None = None,
) -> Reading:
    """Return the user's task, or infer it from roles, types and the first values.

    Parameters
    ----------
    task : str or None
        The task from the user.
    roles : mapping of str to Column
        The column of each role.
    mapped_role : str
        The role of the mapped columns.
    mapped : sequence of (name, Column)
        The columns of several models or classes.
    positive : scalar or None
        The positive value from the user.
    look : callable, optional
        Returns the first values; without it, only the types decide.

    Raises
    ------
    RequestError
        If there is no such task.

    Examples
    --------
    >>> roles = {"label": Column("y", "DOUBLE"), "prediction": Column("c", "BIGINT")}
    >>> read_task(None, roles, "score", [], None, lambda _: [[0.0, 1.0], [1, 1]]).task
    'binary'
    >>> read_task(None, roles, "score", [], None, lambda _: [[0.0, 2.0], [1, 1]]).task
    'multiclass'
    >>> read_task(None, roles, "score", [], None, lambda _: [[0.5, 2.0], [1, 1]]).task
    'regression'
    """
    if task is not None:
        if task not in TASKS:
            raise RequestError(f"task={task!r} must be one of {', '.join(TASKS)}")
        return Reading(task)
    for name, facts in TASKS.items():
        if facts.role and (facts.role in roles or (mapped and facts.role == mapped_role)):
            return Reading(name)
    if positive is not None or "score" in roles or (mapped and mapped_role == "score"):
        return Reading("binary")
    columns = _list_class_columns(roles, mapped_role, mapped)
    kinds: set[Kind] = {column.kind for _, column in columns if column.type != NO_TYPE}
    if kinds == {"boolean"}:
        return Reading("binary")
    if not kinds & (NUMBERS | {"boolean"}) or kinds - (NUMBERS | TEXTS | {"boolean"}):
        return Reading("multiclass")
    values = [] if look is None else [value for each in look(columns) for value in each]
    return _read_values(kinds, values)


def read_label(
    column: Column, values: Sequence[object], most: int, *, has_queries: bool = False
) -> Task:
    """Return the task that a label suggests while the score or prediction is unknown.

    Parameters
    ----------
    column : Column
        The label.
    values : sequence
        Its distinct values; empty if there are too many for classes.
    most : int
        The largest number of classes.
    has_queries : bool
        Whether the rows are grouped by query.
    """
    if has_queries and column.kind in NUMBERS:
        return "ranking"
    if column.kind == "boolean" or len(values) in (1, 2):
        return "binary"
    if column.kind not in NUMBERS:
        return "multiclass"
    return "multiclass" if column.kind in WHOLE and 0 < len(values) <= most else "regression"


def _list_class_columns(
    roles: Mapping[str, Column], mapped_role: str, mapped: Mapped, predicted: Sequence[Column] = ()
) -> list[tuple[str, Column]]:
    """Return the columns of labels and predictions, each with its role."""
    columns = [(role, roles[role]) for role in ("label", "prediction") if role in roles]
    columns += [("prediction", column) for column in predicted]
    is_predicted = mapped_role == "prediction"
    return [*columns, *(("prediction", column) for _, column in mapped if is_predicted)]


def _read_values(kinds: set[Kind], values: Sequence[object]) -> Reading:
    """Infer the task from the kinds and the first values of labels and predictions."""
    is_settled = len({str(value) for value in values}) > 1
    task, other, notice = _choose_task(kinds, values)
    return Reading(task, is_inferred=True, is_settled=is_settled, other=other, notice=notice)


#: Remarks on an inferred task whose values would fit another.
_AS_NUMBERS = (
    "whole numbers of a floating type are evaluated as a regression; task='multiclass' "
    "(--task multiclass) takes them as classes"
)
_AS_CLASSES = (
    f"more than {MOST_CLASSES} different whole numbers are evaluated as classes; if they are "
    "amounts, task='regression' (--task regression) evaluates their errors"
)


def _choose_task(kinds: set[Kind], values: Sequence[object]) -> tuple[Task, Task | None, str]:
    """Return the task of kinds and values, another one that they would fit, and a remark on it."""
    if "boolean" in kinds and not kinds & NUMBERS:
        spelled = all(parse_truth_value(value) is not None for value in values)
        return ("binary" if spelled else "multiclass"), None, ""
    numbers = [parse_number(value) for value in values]
    if numbers and all(number in (0, 1) for number in numbers):
        return "binary", None, ""
    if kinds & TEXTS:
        return "multiclass", None, ""
    if "boolean" in kinds:
        return "binary", None, ""
    is_whole = all(
        number is not None and number == number.to_integral_value() for number in numbers
    )
    if not kinds & WHOLE:
        if numbers and is_whole:
            return "regression", "multiclass", _AS_NUMBERS
        return "regression", None, ""
    if not is_whole:
        return "regression", None, ""
    if len({*numbers}) > MOST_CLASSES:
        return "multiclass", "regression", _AS_CLASSES
    return "multiclass", None, ""


def read_drift_task(
    roles: Mapping[str, Column], positive: Scalar | None, look: Look | None
) -> Task:
    """Return the task of columns whose distributions are compared; any one of them is enough.

    Without a positive value, 0 and 1 are read as two of several classes.
    """
    if positive is not None or not roles:
        return "multiclass" if positive is None else "binary"
    task = read_task(None, roles, "score", [], None, look).task
    return task if TASKS[task].has_values else "multiclass"


def choose_class_form(
    task: Task,
    roles: Mapping[str, Column],
    mapped_role: str,
    mapped: Mapped,
    predicted: Sequence[Column] = (),
) -> Form | None:
    """Return the form in which labels and predictions are compared; None if unchanged.

    Equal types are compared unchanged, except types of fractions, because the class 2 equals the
    class 2.0.
    """
    listed = _list_class_columns(roles, mapped_role, mapped, predicted)
    columns = [column for _, column in listed]
    kinds = {column.kind for column in columns if column.type not in ("", NO_TYPE)}
    if not TASKS[task].has_classes:
        return None
    if kinds & TEXTS and kinds & (NUMBERS | {"boolean"}):
        return "number" if kinds & NUMBERS else "truth value"
    may_differ = kinds & FRACTIONS or (kinds & NUMBERS and "boolean" in kinds)
    if TASKS[task].has_several_classes and may_differ:
        return "number"
    return None


def unify_types(
    roles: Mapping[str, Column],
    mapped_role: str,
    mapped: Mapped,
    form: Form | None,
    predicted: Sequence[Column] = (),
) -> tuple[dict[str, Column], Mapped, Sequence[Column]]:
    """Return the roles, the mapped and the predicted columns in the types that they are read as.

    Scores that are truth values become 0 and 1. Labels and predictions of different types become
    canonical texts.

    Raises
    ------
    RequestError
        If the types of several models' predictions cannot be compared.

    Examples
    --------
    >>> roles = {"label": Column("y", "DOUBLE"), "prediction": Column("c", "BIGINT")}
    >>> unify_types(roles, "score", [], "number")[0]["prediction"].type
    'VARCHAR'
    """
    roles = dict(roles)
    for role in {"score", "value"} & roles.keys():
        roles[role] = _read_truth_values(roles[role])
    if form is not None:
        for role in {"label", "prediction"} & roles.keys():
            roles[role] = make_canonical(roles[role], form)
    predicted = _unify_predictions(predicted, form)
    if mapped_role == "prediction":
        columns = _unify_predictions([column for _, column in mapped], form)
        names = [name for name, _ in mapped]
        return roles, list(zip(names, columns, strict=True)), predicted
    return roles, [(name, _read_truth_values(column)) for name, column in mapped], predicted


def _unify_predictions(columns: Sequence[Column], form: Form | None) -> Sequence[Column]:
    """Return the predictions of several models in types that one expression can read."""
    _check_families(columns)
    if form is not None:
        return [make_canonical(column, form) for column in columns]
    if any(column.kind in NUMBERS for column in columns):
        return [_read_truth_values(column) for column in columns]
    return columns


def read_relevance(task: Task, roles: dict[str, Column]) -> dict[str, Column]:
    """Return the roles, with a boolean relevance read as 0 and 1."""
    if not TASKS[task].has_queries or "label" not in roles:
        return roles
    return roles | {"label": _read_truth_values(roles["label"])}


def refuse_nested(role: str, column: Column) -> None:
    """Raise if a column that must have one value per row has lists or structs."""
    if column.kind != "nested":
        return
    role, name = name_argument(role), write_name(column.name)
    what = f"{role}={column.name!r} is {column.type}, and must be one value in each row"
    value = f"{name}[1]" if column.type.endswith("]") else f"{name}.field"
    if column.type.endswith("]") and role in ("label", "prediction"):
        value = f"list_contains({name}, 'a')"
        what += "; evaluate several labels one at a time, each as a truth value"
    raise RequestError(f'{what}; write {role}="{value}" (--{role} "{value}")')


def _check_families(columns: Sequence[Column]) -> None:
    """Raise if the predictions of several models are not all numbers, all texts ..."""
    families = {
        "number" if column.kind == "boolean" or column.kind in NUMBERS
        else "text" if column.kind in TEXTS or column.kind == "uuid"
        else column.type
        for column in columns
    }  # fmt: skip
    if len(families) > 1:
        types = ", ".join(f"{column.name!r} is {column.type}" for column in columns)
        raise RequestError(
            f"the predictions of several models need types that can be compared, and {types}"
        )


def _read_truth_values(column: Column) -> Column:
    """Return a boolean column as one that is read as 0 and 1; other columns unchanged."""
    if column.kind != "boolean":
        return column
    return Column(column.name, "TINYINT", is_assumed=True)
