"""Gives the columns of scores, labels and predictions types in which equal values are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqleval.common.columns import Column, Kind, is_integer, is_number
from sqleval.common.sql_text import Scalar
from sqleval.errors import RequestError

_TEXTS: tuple[Kind, ...] = ("text", "enum", "uuid")
#: The columns of several models or classes, by name.
Mapped = Sequence[tuple[Scalar, Column]]


def unify_types(
    task: str, roles: Mapping[str, Column], mapped_role: str, mapped: Mapped
) -> tuple[dict[str, Column], Mapped]:
    """Return the roles and the mapped columns with the types in which they are to be read.

    Scores of truth values are 0 and 1. Classes that are not whole numbers are compared as texts,
    and the same number of another type has another text (1, 1.0, 1.00): numbers of several types
    are read as DOUBLE.

    Parameters
    ----------
    task : str
        The task.
    roles : mapping of str to Column
        The column of each role.
    mapped_role : str
        The role of the mapped columns.
    mapped : sequence of (name, Column)
        The columns of several models or classes.

    Raises
    ------
    RequestError
        If columns have types whose values cannot be compared.

    Examples
    --------
    >>> roles = {"label": Column("y", "DOUBLE"), "prediction": Column("c", "BIGINT")}
    >>> unify_types("multiclass", roles, "score", [])[0]["prediction"].type
    'DOUBLE'
    """
    roles = dict(roles)
    if "score" in roles:
        roles["score"] = _read_truth_values(roles["score"])
    if task not in ("binary", "multiclass"):
        return roles, mapped
    if mapped_role == "prediction":
        _check_families([column for _, column in mapped])
    if mapped_role == "score" or any(is_number(column.type) for _, column in mapped):
        # One expression reads the columns of all models.
        mapped = [(name, _read_truth_values(column)) for name, column in mapped]
    classes = [roles[role] for role in ("label", "prediction") if role in roles]
    if mapped_role == "prediction":
        classes += [column for _, column in mapped]
    if task == "multiclass":
        _check_texts(classes)
    if task != "multiclass" or not _have_different_texts(classes):
        return roles, mapped
    for role in {"label", "prediction"} & roles.keys():
        roles[role] = _read_as_double(roles[role])
    if mapped_role == "prediction":
        mapped = [(name, _read_as_double(column)) for name, column in mapped]
    return roles, mapped


def _check_families(columns: Sequence[Column]) -> None:
    """Raise if the predictions of several models are not all numbers, all texts ..."""
    families = {
        "number" if column.kind == "boolean" or is_number(column.type)
        else "text" if column.kind in _TEXTS
        else column.type
        for column in columns
    }  # fmt: skip
    if len(families) > 1:
        types = ", ".join(f"{column.name!r} is {column.type}" for column in columns)
        raise RequestError(
            f"the predictions of several models need types that can be compared, and {types}"
        )


def _check_texts(columns: Sequence[Column]) -> None:
    """Raise if texts would be compared with the texts of real numbers: '1' is not '1.0'."""
    texts = [column for column in columns if column.kind in _TEXTS]
    real = [column for column in columns if column.kind in ("decimal", "float32", "float64")]
    if texts and real:
        raise RequestError(
            f"{texts[0].name!r} is {texts[0].type} and {real[0].name!r} is {real[0].type}: their "
            "classes cannot be compared; give both one type, as with CAST in query="
        )


def _have_different_texts(columns: Sequence[Column]) -> bool:
    """Whether columns are numbers of several types, not all of whole numbers."""
    if not all(is_number(column.type) for column in columns):
        return False
    return (
        not all(is_integer(column.type) for column in columns)
        and len({column.type for column in columns}) > 1
    )


def _read_as_double(column: Column) -> Column:
    return Column(column.name, "DOUBLE", is_assumed=True)


def _read_truth_values(column: Column) -> Column:
    """Return a column of truth values as one that is read as 0 and 1; any other as it is."""
    if column.kind != "boolean":
        return column
    return Column(column.name, "TINYINT", is_assumed=True)
