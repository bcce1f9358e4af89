"""Binds roles to columns: checks names and types, and returns a `Binding`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import NamedTuple, get_args

from sqleval.binding.arguments import check_expected
from sqleval.binding.binding import CELLS, Binding, Labels, Nulls, Task
from sqleval.binding.key_sets import parse_sets
from sqleval.binding.lookup import Columns, find_column, list_unique_names
from sqleval.binding.model_columns import (
    ModelColumns,
    Named,
    find_model_columns,
    merge_columns,
)
from sqleval.binding.positive import convert_class, convert_positive
from sqleval.binding.reading import (
    Mapped,
    choose_class_form,
    read_relevance,
    read_task,
    refuse_nested,
    unify_types,
)
from sqleval.binding.where import check_condition
from sqleval.catalog.roles import ROLES, VALUES, check_added, name_argument
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import NO_TYPE, NUMBERS, TEXTS, Column, Form, is_float, is_number
from sqleval.common.numbers import is_real_number
from sqleval.common.sql_text import Scalar, quote
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: Returns the first values of columns, for a join with late labels, a condition, and the columns of
#: that condition.
LookAt = Callable[
    [Labels | None, str | None, Sequence[str], Sequence[tuple[str, Column]]],
    Sequence[Sequence[object]],
]


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


def _find_cells(
    counts: Mapping[str, str], columns: Columns, where: str
) -> tuple[tuple[str, Column], ...]:
    """Return the columns of the counts in ``counts=``."""
    if not counts or not set(counts) <= set(CELLS):
        raise RequestError(
            f"counts={dict(counts)!r} must name the columns of {', '.join(CELLS)}, or of those "
            "that the metrics need"
        )
    cells = tuple(
        (cell, find_column(columns, counts[cell], f"counts {cell}", where))
        for cell in CELLS
        if cell in counts
    )
    for cell, column in cells:
        if not is_number(column.type):
            raise RequestError(f"counts {cell}={column.name!r} must be a number, is {column.type}")
    return cells


def _recognise_counts(
    columns: Columns, prediction: Named, where: str
) -> tuple[str | None, Named, str | Mapping[str, str] | None]:
    """Recognise a table of counts by its columns, if no label is named."""
    if all(cell in columns for cell in CELLS):
        return None, prediction, {cell: cell for cell in CELLS}
    if all(name in columns for name in ("label", "prediction", "n")):
        return "label", prediction or "prediction", "n"
    raise RequestError(
        f"give label=, the column of the truth in {where}; a table of counts has the columns "
        "tp, fp, fn and tn, or label, prediction and n"
    )


def check_threshold(threshold: object) -> None:
    """Raise `RequestError` if a threshold is not a number."""
    if threshold is None:
        return
    if not is_real_number(threshold) or isnan(threshold):
        raise RequestError(f"threshold={threshold!r} must be a number")


def _check_options(
    nulls: str, labels: Source | None, on: str | None, threshold: float | None
) -> None:
    if nulls not in get_args(Nulls):
        raise RequestError(f"nulls={nulls!r} must be 'error' or 'drop'")
    if (labels is None) != (on is None):
        raise RequestError("labels= and on= go together: the second source, and the key to join by")
    check_threshold(threshold)


def _check_counts(
    counts: object, weight: str | None, cells: Sequence[object], others: Sequence[object]
) -> None:
    if cells and any(others):
        raise RequestError("counts= of tp, fp, fn and tn go without label=, score= and weight=")
    if counts is not None and weight is not None:
        raise RequestError("counts= and weight= cannot both be given")


def _check_named(roles: Mapping[str, Column], columns: ModelColumns, *, is_expected: bool) -> None:
    """Raise unless there are a label, and a score or prediction."""
    if "label" not in roles and not is_expected:
        raise RequestError("give label=, the column of the truth")
    if not ({"score", "prediction"} & roles.keys() or columns.names):
        raise RequestError("give score= or prediction=, the column to evaluate")


def _check_keys(keys: Sequence[str], *, has_models: bool, has_role: bool) -> None:
    """Raise if a slice key is called ``model`` or ``role`` like an added key."""
    if has_models and "model" in keys:
        raise RequestError("by= names 'model', which is the key of a mapping of models")
    if has_role and "role" in keys:
        raise RequestError("by= names 'role', which is the key that role= adds")


def _find_labels(
    labels: Source,
    on: str,
    names: Mapping[str, str | None],
    late: Columns,
    columns: Columns,
    about: str,
) -> Labels:
    """Return the join with the late labels, and the roles whose columns they have."""
    ours, of_labels = (
        find_column(columns, on, "on", about),
        find_column(late, on, "on", labels.label),
    )
    kinds = {ours.kind, of_labels.kind}
    if "instant" in kinds and kinds & {"date", "timestamp"}:
        raise RequestError(
            f"on={on!r} is {ours.type} in {about} and {of_labels.type} in {labels.label}: "
            "whether they are equal depends on a time zone; give both the same type, such as "
            f"{quote(on)} AT TIME ZONE 'UTC'"
        )
    theirs = {role for role, name in names.items() if name in late and name not in columns}
    roles = frozenset({"label"} | theirs)
    return Labels(labels.relation, ours, of_labels, roles, labels.stream)


def _find_roles(
    names: Mapping[str, str | None],
    columns: Columns,
    about: str,
    labels: Source | None,
    late: Columns,
    on: str | None,
) -> tuple[dict[str, Column], Labels | None]:
    """Return the column of each bound role, and the join with late labels."""
    if labels is None or on is None:
        columns_by_role = {role: name for role, name in names.items() if name is not None}
        score = columns_by_role.get("score")
        if score is not None and score == columns_by_role.get("label"):
            raise RequestError(f"score={score!r} is the label itself; name the score")
        return {
            role: find_column(columns, name, name_argument(role), about)
            for role, name in columns_by_role.items()
        }, None
    joined = _find_labels(labels, on, names, late, columns, about)
    roles: dict[str, Column] = {}
    for role, name in names.items():
        if name is not None:
            at = (late, labels.label) if role in joined.roles else (columns, about)
            roles[role] = find_column(at[0], name, name_argument(role), at[1])
    return roles, joined


def _find_cell_roles(cells: Sequence[tuple[str, Column]]) -> dict[str, Column]:
    """Return the roles that the counts of a confusion matrix replace."""
    names = ", ".join(column.name for _, column in cells)
    count_type = "DOUBLE" if any(is_float(column.type) for _, column in cells) else "BIGINT"
    return {
        "label": Column(names, "TINYINT"),
        "prediction": Column(names, "TINYINT"),
        "count": Column(names, count_type),
    }


class _Values(NamedTuple):
    """The columns in the types that they are read as, the classes, and the positive value."""

    roles: Mapping[str, Column]
    mapped: Mapped
    classes: Sequence[Scalar]
    positive: Scalar | None
    positive_as_written: str


def _unify_values(
    task: Task,
    roles: Mapping[str, Column],
    mapped_role: str,
    mapped: Mapped,
    positive: Scalar | None,
) -> _Values:
    """Check the types of the columns, and make their values comparable."""
    form = choose_class_form(task, roles, mapped_role, mapped)
    for role, column in [*roles.items(), *((mapped_role, column) for _, column in mapped)]:
        _check_type(task, role, column, positive, form)
    has_classes = TASKS[task].has_several_classes and mapped_role == "score"
    classes = [convert_class(key, roles["label"], "score") for key, _ in mapped if has_classes]
    predicted = [column for _, column in mapped if mapped_role == "prediction"]
    spelling = form if TASKS[task].has_two_classes else None
    converted, written = convert_positive(positive, roles, predicted, spelling)
    unified, mapped = unify_types(roles, mapped_role, mapped, form)
    unified = read_relevance(task, unified)
    return _Values(unified, mapped, classes, converted, written)


def _find_task_of_classes(task: str | None, columns: ModelColumns) -> str | None:
    """Return the task: multi-class if several models have several classes each."""
    if not columns.models:
        return task
    if task is not None and not TASKS[task].has_several_classes:
        raise RequestError(
            f"score= has a column for each class of several models, and task={task!r} is given; "
            "leave it out, or give task='multiclass' (--task multiclass)"
        )
    return "multiclass"


def _arrange_columns(
    task: Task, columns: ModelColumns, values: _Values
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


def bind(
    source: Source,
    columns: Columns,
    *,
    label: str | None = None,
    score: Named = None,
    prediction: Named = None,
    weight: str | None = None,
    counts: str | Mapping[str, str] | None = None,
    qid: str | None = None,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    over: str | Sequence[str] = (),
    role: str | None = None,
    positive: Scalar | None = None,
    threshold: float | None = None,
    where: str | None = None,
    nulls: Nulls = "error",
    task: str | None = None,
    labels: Source | None = None,
    label_columns: Columns | None = None,
    on: str | None = None,
    expected: bool = False,
    look: LookAt | None = None,
    **further: str | None,
) -> Binding:
    """Return the binding of a source; see `sqleval.scan` for the parameters.

    ``look`` returns the first values of columns, from which the task is inferred if types do not
    decide.

    Raises
    ------
    RequestError
        For an unknown column, a wrong type or roles that do not fit together.
    TypeError
        For an argument that no role has.
    """
    check_added(further)
    about = source.label
    _check_options(nulls, labels, on, threshold)
    if expected:
        task = check_expected(label, score, counts, labels, task, over, role)
    elif label is None and counts is None and labels is None:
        label, prediction, counts = _recognise_counts(columns, prediction, about)
    cells = _find_cells(counts, columns, about) if isinstance(counts, Mapping) else ()
    _check_counts(counts, weight, cells, (label, score, prediction, weight, labels))
    mapped = find_model_columns(score, prediction)
    arguments = {
        "label": label, "score": score, "prediction": prediction, "weight": weight,
        "counts": counts, "qid": qid, "role": role, **further,
    }  # fmt: skip
    named = {each: arguments.get(facts.argument) for each, facts in ROLES.items()}
    single = {each: None if isinstance(name, Mapping) else name for each, name in named.items()}
    roles, joined = _find_roles(single, columns, about, labels, label_columns or {}, on)
    if cells:
        roles |= _find_cell_roles(cells)
        task = task or "binary"
    filled = [(key, find_column(columns, name, mapped.role, about)) for key, name in mapped.names]
    _check_named(roles, mapped, is_expected=expected)
    condition, read = check_condition(where, columns, about) if where is not None else (None, ())
    sample = None if look is None else partial(look, joined, condition, read)
    task = _find_task_of_classes(task, mapped)
    reading = read_task(task, roles, mapped.role, filled, positive, sample)
    chosen = reading.task
    values = _unify_values(chosen, roles, mapped.role, filled, positive)
    models, classes = _arrange_columns(chosen, mapped, values)
    keys, folds = list_unique_names(by, "by"), list_unique_names(over, "over")
    _check_keys(keys, has_models=bool(models), has_role=role is not None)
    return Binding(
        relation=source.relation,
        task=chosen,
        roles=tuple(values.roles.items()),
        by=tuple(find_column(columns, name, "by", about) for name in keys),
        sets=tuple(parse_sets(sets, keys)),
        over=tuple(find_column(columns, name, "over", about) for name in folds),
        cells=cells,
        models=models,
        model_role=mapped.role,
        classes=classes,
        positive=values.positive,
        positive_as_written=values.positive_as_written,
        threshold=threshold,
        where=condition,
        where_columns=read,
        nulls=nulls,
        labels=joined,
        stream=source.stream,
        is_expected=expected,
        is_inferred=reading.is_inferred,
        is_settled=reading.is_settled,
        notice=reading.notice,
    )


def take_common_rows(binding: Binding) -> Binding:
    """Return a binding that leaves out rows without a value of every model.

    Raises
    ------
    RequestError
        If there are no models, or no rows are dropped.
    """
    if not binding.models:
        raise RequestError(
            "common=True (--common) takes the rows that all models have: name several models, "
            "score={'a': column, 'b': column} (--score a=COLUMN --score b=COLUMN)"
        )
    if binding.nulls != "drop":
        raise RequestError("common=True (--common) goes with nulls='drop' (--nulls drop)")
    return replace(binding, common=True)
