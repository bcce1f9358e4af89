"""Reads which class a column of scores belongs to, and whether an array is a score at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.catalog.tasks import TASKS, has_several_classes, may_have_two_classes
from sqleval.errors import RequestError
from sqleval.sources.arrays import Columns

if TYPE_CHECKING:
    from sqleval.common.sql_text import Scalar

#: The pairs of labels whose positive value needs no word.
_PAIRS = ({0, 1}, {-1, 1})
#: More distinct values than these in the first rows are no two classes.
_FIRST_ROWS = 1000


def choose_role(
    columns: Columns, label: pl.Series, scanned: Mapping[str, Any], roles: Mapping[str, object]
) -> str:
    """Return whether an array without a name is a ``score`` or a ``prediction``.

    Parameters
    ----------
    columns : Columns
        The array.
    label : polars.Series
        The truth.
    scanned, roles : mapping
        The arguments of `scan`: ``task`` and ``positive`` of the first, ``qid`` of the second.

    Examples
    --------
    >>> import pyarrow as pa
    >>> decile = Columns((pa.array([1, 7, 10]),))
    >>> choose_role(decile, pl.Series([0, 1, 1]), {}, {})
    'score'
    """
    task = scanned.get("task")
    has_queries = roles.get("qid") is not None or (task in TASKS and TASKS[task].has_queries)
    if has_queries or not columns.is_single:
        return "score"
    values = pl.Series(columns.arrays[0])
    kind = values.dtype
    if kind == pl.Boolean and not _is_number_or_truth(label.dtype):
        raise RequestError(
            f"p holds truth values, and y {label.dtype}: compare y with the positive class, such "
            "as evaluate(y == 'yes', p)"
        )
    if not kind.is_numeric() or (task in TASKS and not may_have_two_classes(task)):
        return "prediction"
    labels = _find_two_classes(label, scanned.get("positive"))
    if labels is None:
        return "prediction"
    numbers = {0, 1} if labels <= {0, 1} else labels
    # 0.0 and 1.0 are the same decisions as a score, whose default threshold is 0.5.
    if not _is_number_or_truth(label.dtype) or (numbers <= {0, 1} and not kind.is_integer()):
        return "score"
    is_label = values.drop_nulls().cast(pl.Float64).is_in([float(each) for each in numbers])
    return "prediction" if is_label.all() else "score"


def are_classes(names: Iterable[object], label: pl.Series) -> bool:
    """Whether the names of a mapping are the classes of the label, and not models.

    Examples
    --------
    >>> are_classes([0, 1, 2], pl.Series([2.0, 0.0])), are_classes(["a", "b"], pl.Series([2, 0]))
    (True, False)
    """
    labels = label.unique().drop_nulls().to_list()
    texts = {f"{each:.0f}" if _is_whole(each) else str(each) for each in labels}
    return bool(texts) and texts <= {*map(str, names)}


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _is_number_or_truth(kind: pl.DataType) -> bool:
    return kind == pl.Boolean or kind.is_numeric()


def _find_two_classes(label: pl.Series, positive: object) -> set[Any] | None:
    """Return the labels if they can be two classes, otherwise None.

    Fractions, and whole numbers of a floating type other than 0 and 1, or -1 and 1, are values of
    a regression, unless the positive one is known.
    """
    if label.head(_FIRST_ROWS).n_unique() > 4:  # with NULL and NaN
        return None
    # NaN is not equal to itself.
    labels = {each for each in label.unique().drop_nulls().to_list() if each == each}
    if len(labels) > 2:
        return None
    if positive is not None or any(labels <= pair for pair in _PAIRS):
        return labels
    if label.dtype.is_float() or label.dtype.is_decimal():
        return None
    return labels if len(labels) == 2 or not label.dtype.is_integer() else None


def map_classes(
    columns: Columns,
    label: pl.Series | None,
    name: str,
    classes: Sequence[Scalar] | None,
    scanned: Mapping[str, Any],
) -> tuple[dict[Any, Any], Scalar | None]:
    """Return the columns by class, and the positive class if it follows from ``classes``.

    Of two classes only the positive one's column is returned, unless the task is multi-class.

    Examples
    --------
    >>> import pyarrow as pa
    >>> both = Columns((pa.array([0.9]), pa.array([0.1])))
    >>> by_class, positive = map_classes(both, pl.Series(["no"]), "p", ["no", "yes"], {})
    >>> list(by_class), positive
    (['yes'], 'yes')
    """
    names = _find_names(columns, name, classes)
    is_numbered = names is None
    if names is None:
        _check_numbered(label, len(columns.arrays), name)
        names = list(range(len(columns.arrays)))
    by_class = dict(zip(names, columns.arrays, strict=True))
    if len(names) != 2 or has_several_classes(scanned.get("task")):
        return by_class, None
    positive = scanned.get("positive")
    if is_numbered:
        place = 0 if positive in (0, -1) else 1
        return {place: by_class[place]}, None
    chosen = choose_positive(names, positive)
    if chosen is None:  # the usual one
        return {1: by_class[1]}, None
    for each, array in by_class.items():
        if each == chosen or str(each) == str(chosen):
            return {each: array}, chosen
    raise RequestError(f"positive={positive!r} is none of the classes {names} of {name}")


def choose_positive(classes: Sequence[Any], positive: Scalar | None) -> Scalar | None:
    """Return the positive one of two classes; None if it is the usual one, 1 or True.

    Examples
    --------
    >>> choose_positive(["no", "yes"], None)
    'yes'
    """
    names = _list_classes(classes)
    is_usual = positive is None and any(set(names) == pair for pair in _PAIRS)
    return None if is_usual else names[1] if positive is None else positive


def _list_classes(classes: Sequence[Any]) -> list[Any]:
    """Return classes as Python's values, also those of NumPy and pandas."""
    values: Any = classes
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _find_names(columns: Columns, name: str, classes: Sequence[Scalar] | None) -> list[Any] | None:
    """Return the class of each column; None if the columns are numbered."""
    count = len(columns.arrays)
    own = None if columns.names is None else list(columns.names)
    # Polars calls the columns of an array column_0, column_1, ...
    if own in (list(range(count)), [f"column_{i}" for i in range(count)]):
        own = None
    if classes is None:
        return own
    given = _list_classes(classes)
    if len(given) != count:
        raise RequestError(f"classes= has {len(given)} classes, and {name} has {count} columns")
    if len({*map(str, given)}) < count:
        raise RequestError(f"classes={given} names a class twice")
    if own is None or {*map(str, own)} != {*map(str, given)}:
        return given
    by_text = {str(each): each for each in given}
    return [by_text[str(each)] for each in own]


def _check_numbered(label: pl.Series | None, count: int, name: str) -> None:
    """Raise `RequestError` if labels are not the numbers 0, 1, ... of columns without names."""
    if label is None or label.dtype == pl.Boolean:
        return
    which = f"{name} has {count} columns, and classes= says whose: classes=model.classes_"
    if not label.dtype.is_numeric():
        raise RequestError(f"y holds {label.dtype}. {which}")
    present = label.cast(pl.Float64).drop_nulls().drop_nans()
    allowed = [(0, count - 1), (-1, 1)] if count == 2 else [(0, count - 1)]
    if not any(present.is_between(*ends).all() for ends in allowed):
        ends = f"{present.min():g} to {present.max():g}"
        raise RequestError(f"y holds labels from {ends}. {which}")
