"""Binds roles to columns: checks names and types, and returns a `Binding`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import get_args

from sqleval.binding.arguments import check_expected
from sqleval.binding.binding import CELLS, Binding, Nulls
from sqleval.binding.key_sets import parse_sets
from sqleval.binding.label_keys import Labels
from sqleval.binding.late_labels import find_roles, unify_added_keys
from sqleval.binding.lookup import Columns, find_column, list_unique_names
from sqleval.binding.many_labels import ManyLabels
from sqleval.binding.model_columns import (
    ModelColumns,
    Named,
    find_model_columns,
    find_value_columns,
    order_by_model,
)
from sqleval.binding.reading import (
    read_task,
)
from sqleval.binding.values import arrange_columns, unify_values
from sqleval.binding.where import check_condition
from sqleval.catalog.roles import ROLES, check_added
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column, is_float, is_number
from sqleval.common.numbers import is_real_number
from sqleval.common.sql_text import Scalar
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: Returns the first values of columns, for a join with late labels, a condition, and the columns of
#: that condition.
LookAt = Callable[
    [Labels | None, str | None, Sequence[str], Sequence[tuple[str, Column]]],
    Sequence[Sequence[object]],
]

_DECIDED = "threshold= cannot change a prediction= that is given"


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
        "tp, fp, fn and tn, or label, prediction and n; value= names a column without a label"
    )


def check_threshold(threshold: object) -> None:
    """Raise `RequestError` if a threshold is not a number."""
    if threshold is None:
        return
    if not is_real_number(threshold) or isnan(threshold):
        raise RequestError(f"threshold={threshold!r} must be a number")


def _check_options(nulls: str, labels: Source | None, on: str | Sequence[str] | None) -> None:
    if nulls not in get_args(Nulls):
        raise RequestError(f"nulls={nulls!r} must be 'error' or 'drop'")
    if (labels is None) != (not on):
        raise RequestError(
            "labels= and on= go together: the second source, and the key to join by (or "
            "by_position=True)"
        )


def _check_counts(
    counts: object, weight: str | None, cells: Sequence[object], others: Sequence[object]
) -> None:
    if cells and any(others):
        raise RequestError(
            "counts= of tp, fp, fn and tn go without label=, score=, value= and weight="
        )
    if counts is not None and weight is not None:
        raise RequestError("counts= and weight= cannot both be given")


def _find_mapped(
    value: Named, score: Named, prediction: Named, others: Mapping[str, object]
) -> ModelColumns:
    """Return the columns of several models or classes; ``value=`` goes without the ``others``."""
    if value is None:
        return find_model_columns(score, prediction)
    for name, other in {"score": score, "prediction": prediction, **others}.items():
        if other is not None:
            raise RequestError(
                f"value= is summarised by itself, and {name}= is given: leave out {name}=, or "
                "name label= with score= or prediction= instead of value="
            )
    return find_value_columns(value)


def _check_named(
    roles: Mapping[str, Column], columns: ModelColumns, task: str | None, *, is_expected: bool
) -> None:
    """Raise unless there are a label, and a score or prediction; or a value by itself."""
    has_value = "value" in roles or (columns.role == "value" and bool(columns.names))
    if task in TASKS and TASKS[task].has_labels == has_value:
        raise RequestError(
            f"task={task!r} and value= do not go together"
            if has_value
            else f"task={task!r} needs value=, the column that is summarised by itself"
        )
    if has_value:
        return
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


def _find_cell_roles(cells: Sequence[tuple[str, Column]]) -> dict[str, Column]:
    """Return the roles that the counts of a confusion matrix replace."""
    names = ", ".join(column.name for _, column in cells)
    count_type = "DOUBLE" if any(is_float(column.type) for _, column in cells) else "BIGINT"
    return {
        "label": Column(names, "TINYINT"),
        "prediction": Column(names, "TINYINT"),
        "count": Column(names, count_type),
    }


def _find_thresholds(
    threshold: float | Mapping[str, float] | None, columns: ModelColumns, prediction: Named
) -> tuple[float | None, tuple[float, ...]]:
    """Return the threshold of all models, and those of each model; without one, none."""
    if not isinstance(threshold, Mapping):
        check_threshold(threshold)
        return threshold, ()
    for name, value in threshold.items():
        if value is None or isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryComparison, reportUnnecessaryIsInstance]
            raise RequestError(f"threshold= maps {name!r} to {value!r}, which is not a number")
        check_threshold(value)
    if prediction is not None:
        raise RequestError(_DECIDED)
    return None, order_by_model("threshold", threshold, columns)


def _check_decisions(
    task: str,
    columns: ModelColumns,
    prediction: Named,
    threshold: float | None,
    thresholds: Sequence[float],
) -> None:
    """Raise unless the task takes the predictions of several models, or the thresholds."""
    if threshold is not None and not TASKS[task].has_two_classes:
        raise RequestError(
            f"threshold={threshold!r} (--threshold) decides between two classes, and the task is "
            f"{task}: leave it out"
        )
    if threshold is not None and prediction is not None:
        raise RequestError(_DECIDED)
    if thresholds and not TASKS[task].has_two_classes:
        raise RequestError(
            f"threshold= of each model is for two classes, and the task is {task}; predictions of "
            "each model are prediction={'a': column, 'b': column}"
        )
    if columns.predictions and TASKS[task].has_several_classes and not columns.models:
        raise RequestError(
            "prediction= names several models, and score= a column for each class of one model; "
            "both are by model in score={'a': {class: column, ...}, 'b': {class: column, ...}} "
            "(--score a.CLASS=COLUMN)"
        )


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


def bind(
    source: Source,
    columns: Columns,
    *,
    label: str | None = None,
    score: Named = None,
    prediction: Named = None,
    value: Named = None,
    weight: str | None = None,
    counts: str | Mapping[str, str] | None = None,
    qid: str | None = None,
    item: str | None = None,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    over: str | Sequence[str] = (),
    role: str | None = None,
    positive: Scalar | None = None,
    threshold: float | Mapping[str, float] | None = None,
    where: str | None = None,
    nulls: Nulls = "error",
    task: str | None = None,
    labels: Source | None = None,
    label_columns: Columns | None = None,
    on: str | Sequence[str] | None = None,
    expected: bool = False,
    look: LookAt | None = None,
    many: ManyLabels | None = None,
    **further: str | None,
) -> Binding:
    """Return the binding of a source; see `sqleval.scan` for the parameters.

    ``look`` returns the first values of columns, from which the task is inferred if types do not
    decide. ``many`` has the names of the labels, if a row is one label of a row of many labels.

    Raises
    ------
    RequestError
        For an unknown column, a wrong type or roles that do not fit together.
    TypeError
        For an argument that no role has.
    """
    check_added(further)
    about = source.label
    _check_options(nulls, labels, on)
    if expected:
        task = check_expected(label, score, counts, labels, task, over, role)
    elif label is counts is labels is value is None:
        label, prediction, counts = _recognise_counts(columns, prediction, about)
    cells = _find_cells(counts, columns, about) if isinstance(counts, Mapping) else ()
    _check_counts(counts, weight, cells, (label, score, prediction, value, weight, labels))
    others = {"label": label, "qid": qid, "positive": positive, "threshold": threshold}
    mapped = _find_mapped(value, score, prediction, {**others, "expected": expected or None})
    threshold, thresholds = _find_thresholds(threshold, mapped, prediction)
    arguments = {
        "label": label, "score": score, "prediction": prediction, "value": value, "weight": weight,
        "counts": counts, "qid": qid, "item": item, "role": role, **further,
    }  # fmt: skip
    named = {each: arguments.get(facts.argument) for each, facts in ROLES.items()}
    single = {each: None if isinstance(name, Mapping) else name for each, name in named.items()}
    roles, joined = find_roles(single, columns, about, labels, label_columns or {}, on)
    roles |= _find_cell_roles(cells) if cells else {}
    filled = [(key, find_column(columns, name, mapped.role, about)) for key, name in mapped.names]
    predicted = [find_column(columns, name, "prediction", about) for name in mapped.predictions]
    _check_named(roles, mapped, task, is_expected=expected)
    condition, read = check_condition(where, columns, about) if where is not None else (None, ())
    sample = None if look is None else partial(look, joined, condition, read)
    task = _find_task_of_classes(task or ("binary" if cells else None), mapped)
    reading = read_task(task, roles, mapped.role, filled, positive, sample)
    _check_decisions(reading.task, mapped, prediction, threshold, thresholds)
    values = unify_values(reading.task, roles, mapped.role, filled, positive, predicted)
    models, classes = arrange_columns(reading.task, mapped, values)
    keys, folds = list_unique_names(by, "by"), list_unique_names(over, "over")
    _check_keys(keys, has_models=bool(models), has_role=role is not None)
    binding = Binding(
        relation=source.relation,
        task=reading.task,
        roles=tuple(values.roles.items()),
        by=tuple(find_column(columns, name, "by", about) for name in keys),
        sets=tuple(parse_sets(sets, keys)),
        over=tuple(find_column(columns, name, "over", about) for name in folds),
        cells=cells,
        models=models,
        model_role=mapped.role,
        predictions=tuple(values.predicted),
        thresholds=thresholds,
        classes=classes,
        many=many,
        positive=values.positive,
        positive_as_written=values.positive_as_written,
        threshold=threshold,
        where=condition,
        where_columns=read,
        nulls=nulls,
        labels=joined,
        reads_once=source.stream or source.has_small_files,
        is_expected=expected,
        is_inferred=reading.is_inferred,
        is_settled=reading.is_settled,
        notice=reading.notice,
    )
    return unify_added_keys(binding)


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
