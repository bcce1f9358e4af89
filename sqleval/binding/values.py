"""Checks the types of label, score and prediction, and makes their values comparable."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqleval.binding.binding import Task
from sqleval.binding.model_columns import ModelColumns, merge_columns
from sqleval.binding.positive import convert_class, convert_positive
from sqleval.binding.reading import (
    Mapped,
    choose_class_form,
    read_relevance,
    refuse_nested,
    unify_types,
)
from sqleval.catalog.roles import ROLES, VALUES, name_argument
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import NO_TYPE, NUMBERS, TEXTS, Column, Form, is_number
from sqleval.common.sql_text import Scalar, quote
from sqleval.errors import RequestError


def _check_type(
    task: Task, role: str, column: Column, positive: Scalar | None, form: Form | None
) -> None:
    """Raise unless the type of a column fits its role."""
    facts = TASKS[task]
    has_truths = facts.has_queries and role == "label"
    if (has_truths and column.kind == "boolean") or column.type == NO_TYPE:
        return
    is_label = ROLES[role].values == "label"
    values = VALUES["number"] if is_label and not facts.has_classes else ROLES[role].value_facts
    if "nested" not in values.kinds:
        refuse_nested(role, column)
    # The column of a table that cannot be described has no type, unless one is assumed.
    if column.type and values.kinds and column.kind not in values.kinds:
        allowed = f" ({', '.join(ROLES[role].allowed)})" if ROLES[role].allowed else ""
        message = (
            f"{name_argument(role)}={column.name!r} must be {values.words}{allowed} and is "
            f"{column.type}"
        )
        if values.words == VALUES["value"].words and column.kind in TEXTS:
            name = column.name if column.name.isidentifier() else quote(column.name)
            expression = f"{name} = 'pass'"
            message += f"; name what counts as 1, such as value={expression!r}"
        raise _refuse(message, column, numbers=values.kinds >= NUMBERS)
    if facts.has_two_classes and is_label and positive is None:
        _check_two_classes(role, column, form)


def _check_two_classes(role: str, column: Column, form: Form | None) -> None:
    """Raise unless a label or prediction without a positive value can be 1 and 0."""
    is_form = form is not None and column.kind in TEXTS
    if not (is_form or is_number(column.type) or column.kind == "boolean"):
        message = (
            f"{role}={column.name!r} is {column.type}: name the positive value with positive= "
            "(--positive), or use task='multiclass' (--task multiclass)"
        )
        raise _refuse(message, column, numbers=True)


def _refuse(message: str, column: Column, *, numbers: bool) -> RequestError:
    """Return an error about a type; it names a column of texts where numbers are allowed."""
    error = RequestError(message)
    error.texts = column.name if numbers and column.kind == "text" else None
    return error


class Values(NamedTuple):
    """The columns in the types that they are read as, the classes, and the positive value."""

    roles: Mapping[str, Column]
    mapped: Mapped
    predicted: Sequence[Column]
    classes: Sequence[Scalar]
    positive: Scalar | None
    positive_as_written: str


def unify_values(
    task: Task,
    roles: Mapping[str, Column],
    mapped_role: str,
    mapped: Mapped,
    positive: Scalar | None,
    predicted: Sequence[Column] = (),
) -> Values:
    """Check the types of the columns, and make their values comparable.

    ``predicted`` are the predictions of several models beside their scores.
    """
    form = choose_class_form(task, roles, mapped_role, mapped, predicted)
    of_models = [(mapped_role, column) for _, column in mapped]
    of_models += [("prediction", column) for column in predicted]
    for role, column in [*roles.items(), *of_models]:
        _check_type(task, role, column, positive, form)
    has_classes = TASKS[task].has_several_classes and mapped_role == "score"
    classes = [convert_class(key, roles["label"], "score") for key, _ in mapped if has_classes]
    predictions = [column for role, column in of_models if role == "prediction"]
    spelling = form if TASKS[task].has_two_classes else None
    converted, written = convert_positive(positive, roles, predictions, spelling)
    unified, mapped, predicted = unify_types(roles, mapped_role, mapped, form, predicted)
    unified = read_relevance(task, unified)
    return Values(unified, mapped, predicted, classes, converted, written)


def arrange_columns(
    task: Task, columns: ModelColumns, values: Values
) -> tuple[tuple[tuple[str, tuple[Column, ...]], ...], tuple[tuple[Scalar, Column], ...]]:
    """Return the columns of models and of classes in the form of a `Binding`."""
    if not TASKS[task].has_several_classes or columns.role != "score":
        return tuple((str(key), (column,)) for key, column in values.mapped), ()
    mapped = [column for _, column in values.mapped]
    if not columns.models:
        return (), tuple(zip(values.classes, mapped, strict=True))
    count = len(mapped) // len(columns.models)
    parts = [tuple(mapped[i : i + count]) for i in range(0, len(mapped), count)]
    merged = map(merge_columns, zip(*parts, strict=True))
    models = tuple(zip(columns.models, parts, strict=True))
    return models, tuple(zip(values.classes[:count], merged, strict=True))
