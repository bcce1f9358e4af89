"""Writes the rows of many labels as one row per label, from columns, lists or arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ctypes import c_float
from typing import NamedTuple

from sqleval.binding.canonical import read_column
from sqleval.common.columns import Column, is_float, is_number
from sqleval.common.sql_text import (
    Scalar,
    quote,
    write_double,
    write_literal,
    write_present_test,
    write_scalar,
)

#: The columns that a row per label adds: the label, and the number of the row.
LABEL, ROW = "_sqleval_class", "_sqleval_row"
#: Begins the message of a row whose lists do not fit the labels; the engine raises it as
#: `DataError`.
WRONG_LABELS = "many labels: "
_LIST = re.compile(r"(.+)\[\d*\]")


class ManyLabels(NamedTuple):
    """The labels of rows of many labels, each of which is a row of the relation.

    Attributes
    ----------
    names : tuple of scalar
        The labels, in the order of their columns or places.
    label : Column
        The column that holds the label.
    row : Column or None
        The column that tells rows apart; None if rows have no key.
    """

    names: tuple[Scalar, ...]
    label: Column
    row: Column | None


def find_element(column: Column) -> str | None:
    """Return the type of the values of a list or array; None for another column.

    Examples
    --------
    >>> find_element(Column("p", "DOUBLE[20]")), find_element(Column("p", "DOUBLE"))
    ('DOUBLE', None)
    """
    match = _LIST.fullmatch(column.type)
    return match[1] if match else None


def is_flag(kind: str) -> bool:
    """Whether values of a type can be 0 and 1."""
    return is_number(kind) or kind == "BOOLEAN"


class Part(NamedTuple):
    """How a role's value for one label is read from a row.

    Attributes
    ----------
    name : str
        The name of the role's column in the relation of labels.
    role : str
        The role, for messages.
    columns : tuple of Column
        A column per label; or one column with the list of all values, or of the row's labels.
    form : {"columns", "values", "names"}
        What the columns hold.
    is_checked : bool
        Whether a list of labels may hold one that is unknown.
    thresholds : tuple of float
        For a prediction that is computed, the threshold of each label's score.
    """

    name: str
    role: str
    columns: tuple[Column, ...]
    form: str
    is_checked: bool = False
    thresholds: tuple[float, ...] = ()

    def write_whole(self, names: Sequence[Scalar], shown: str) -> str:
        """Return the SQL test that a row has a value for each label."""
        if self.form == "columns":
            tests = [
                write_present_test(read_column(each), each.type, finite=False)
                for each in self.columns
            ]
            return " AND ".join(tests)
        (column,) = self.columns
        name = f"s.{quote(column.name)}"
        if self.form == "names":
            return self._write_known(name, names, shown)
        count = len(names)
        is_missing = f"LIST_COUNT({name}) < {count}"
        if is_float(find_element(column) or ""):
            # NaN is the largest value.
            is_missing += f" OR ISNAN(LIST_MAX({name}))"
        message = (
            f"{write_literal(f'{WRONG_LABELS}{self.role}={column.name!r} has ')} "
            f"|| CAST(LEN({name}) AS VARCHAR) || "
            f"{write_literal(f' values in a row, and there are {count} labels: ')} "
            f"|| CAST({name} AS VARCHAR)"
        )
        return (
            f"CASE WHEN {name} IS NULL THEN FALSE"
            f" WHEN LEN({name}) <> {count} THEN CAST(ERROR({message}) AS BOOLEAN)"
            f" ELSE NOT ({is_missing}) END"
        )

    def _write_known(self, name: str, names: Sequence[Scalar], shown: str) -> str:
        """Return the test that a row has a list, and no unknown label in it."""
        if not self.is_checked:
            return f"{name} IS NOT NULL"
        (column,) = self.columns
        known = ", ".join(map(write_scalar, names))
        rest = f"LIST_FILTER({name}, lambda x: x IS NOT NULL AND x NOT IN ({known}))"
        message = (
            f"{write_literal(f'{WRONG_LABELS}{self.role}={column.name!r} holds ')} "
            f"|| CAST({rest} AS VARCHAR) || {write_literal(f'; the labels are {shown}')}"
        )
        return (
            f"CASE WHEN {name} IS NULL THEN FALSE"
            f" WHEN LEN({rest}) > 0 THEN CAST(ERROR({message}) AS BOOLEAN) ELSE TRUE END"
        )

    def write_value(self, whole: str) -> str:
        """Return the SQL of the value of the label ``c``; NULL in a row that lacks some value."""
        if self.form == "names":
            (column,) = self.columns
            value = f"LIST_CONTAINS(s.{quote(column.name)}, c.label)"
        elif self.form == "values":
            (column,) = self.columns
            value = f"s.{quote(column.name)}[c.place]"
        else:
            value = self._write_case([read_column(each) for each in self.columns])
        if self.thresholds:
            value = self._write_decision(value)
        return f"CASE WHEN {whole} THEN {value} END"

    def _write_decision(self, score: str) -> str:
        """Return the SQL of the prediction 1 or 0, at the precision of the scores."""
        kinds = {find_element(each) or each.type for each in self.columns}
        limits = self._write_case([write_double(each) for each in self.thresholds])
        singles = self._write_case([write_double(c_float(t).value) for t in self.thresholds])
        if kinds == {"FLOAT"}:
            limits = singles
        test = f"{score} >= {limits}"
        if len(kinds) > 1 and "FLOAT" in kinds:
            test += f" OR {score} = {singles}"
        return f"CASE WHEN {test} THEN 1 ELSE 0 END"

    def _write_case(self, values: Sequence[str]) -> str:
        cases = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(values, start=1))
        return f"CASE c.place {cases} END"


def write_labels(
    relation: str, parts: Sequence[Part], names: Sequence[Scalar], row: str | None
) -> str:
    """Return the relation of one row per row of a relation and label.

    Parameters
    ----------
    relation : str
        The text after FROM, with the rows.
    parts : sequence of Part
        The roles whose values differ between the labels.
    names : sequence of scalar
        The labels.
    row : str or None
        The SQL of the key of a row; None if rows have no key.
    """
    shown = ", ".join(map(str, names[:10])) + (" ..." if len(names) > 10 else "")
    flags = {f"_sqleval_whole_{i}": part.write_whole(names, shown) for i, part in enumerate(parts)}
    items = flags | ({ROW: row} if row else {})
    inner = "".join(f", {sql} AS {name}" for name, sql in items.items())
    columns = {LABEL: "c.label"}
    columns |= {
        part.name: part.write_value(f"s.{flag}") for part, flag in zip(parts, flags, strict=True)
    }
    outer = "".join(f", {sql} AS {quote(name)}" for name, sql in columns.items())
    listed = ", ".join(f"({i}, {write_scalar(name)})" for i, name in enumerate(names, start=1))
    return (
        f"(SELECT s.*{outer} FROM (SELECT s.*{inner} FROM {relation} AS s) AS s\n"
        f"CROSS JOIN (VALUES {listed}) AS c(place, label))"
    )


def write_names(columns: Sequence[tuple[Column, str]]) -> str:
    """Return the SELECT of the labels in columns of lists, each with its relation, in order."""
    each = " UNION ALL ".join(
        f"SELECT UNNEST(s.{quote(column.name)}) AS label FROM {relation} AS s"
        for column, relation in columns
    )
    return f"SELECT DISTINCT label FROM ({each}) AS r WHERE label IS NOT NULL ORDER BY label"


def write_extremes(column: Column, relation: str) -> str:
    """Return the SELECT of the shortest and longest list, and its smallest and largest value."""
    name = f"s.{quote(column.name)}"
    value = f"CAST({name} AS DOUBLE[])"
    return (
        f"SELECT MIN(LEN({name})), MAX(LEN({name})), MIN(LIST_MIN({value})), "
        f"MAX(LIST_MAX({value})) FROM {relation} AS s"
    )
