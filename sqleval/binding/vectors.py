"""Reads the scores of classes from one column of lists, arrays or structs."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqleval.binding.slice_keys import SliceKey
from sqleval.common.columns import Column, is_number
from sqleval.common.sql_text import Scalar, quote, write_literal
from sqleval.errors import RequestError

#: Words in the error about a vector with another number of scores.
OTHER_LENGTH = "where each class needs one: "
_ELEMENT = re.compile(r"(.+)\[(\d*)\]")
_FIELD = re.compile(r'(?:"((?:[^"]|"")+)"|(\w+)) ((?:[^,()]|\([^()]*\))+)(?:, |$)')


class Vector(NamedTuple):
    """A column that holds the scores of all classes of a row.

    Attributes
    ----------
    text : str
        The column's name, or its expression as the user wrote it.
    values : str
        The path from the column to its list: ``.values`` in Spark's struct of a vector.
    size : int
        The number of scores in each row; 0 if it is not part of the type.
    fields : tuple of str
        The fields of a struct with one score per class; empty for a list.
    is_sparse : bool
        Whether it is Spark's struct, in which a sparse vector leaves out zeros.
    """

    text: str
    values: str = ""
    size: int = 0
    fields: tuple[str, ...] = ()
    is_sparse: bool = False

    @property
    def _column(self) -> str:
        return f"s.{quote(self.text)}"

    @property
    def _list(self) -> str:
        return f"{self._column}.{quote(self.values[1:])}" if self.values else self._column

    def write_length(self, dialect: str) -> str:
        """Return the SQL of the number of scores of a row."""
        length = f"{_LENGTHS.get(dialect, 'LEN')}({self._list})"
        if not self.is_sparse:
            return length
        return f"CASE WHEN {self._column}.type = 0 THEN {self._column}.size ELSE {length} END"

    def write_extremes(self, dialect: str) -> tuple[str, str]:
        """Return the SQL of the lowest and the highest score of a row, whatever its length."""
        if self.fields:
            listed = ", ".join(f"{self._column}.{quote(field)}" for field in self.fields)
            return f"LEAST({listed})", f"GREATEST({listed})"
        lowest, highest = (_name_function(each, dialect) for each in ("MIN", "MAX"))
        return f"{lowest}({self._list})", f"{highest}({self._list})"

    def write_score(self, place: int, count: int, dialect: str) -> SliceKey:
        """Return the computed column of the score of the class at a place, which starts at 0.

        A row with another number of scores is an error that shows the row's scores. Engines
        without such errors give NULL, which the audit reports.
        """
        name = f"{self.text}{self.values}[{place + 1}]"
        # sqlglot writes the place as each dialect counts it. In brackets, because it reads
        # "list"[1] as the list of the number 1.
        score = f"({self._list})[{place + 1}]"
        if self.is_sparse:
            position = _name_function("POSITION", dialect)
            # Spark's indices start at 0, and the result at 1; it is 0 or NULL without the index.
            at = f"{position}({self._column}.indices, CAST({place} AS INTEGER))"
            # Sail reads only a literal place in brackets.
            value = f"{'LIST_EXTRACT' if dialect == 'duckdb' else 'ELEMENT_AT'}({self._list}, {at})"
            sparse = f"CASE WHEN {at} > 0 THEN {value} ELSE 0 END"
            score = f"CASE WHEN {self._column}.type = 0 THEN {sparse} ELSE {score} END"
        length = self.write_length(dialect)
        wrong = ""
        if error := _ERRORS.get(dialect):
            before = f"score={self.text!r} has "
            after = f" scores in a row, and there are {count} classes, {OTHER_LENGTH}"
            message = (
                f"{write_literal(before)} || CAST({length} AS VARCHAR) || {write_literal(after)} "
                f"|| CAST({self._list} AS VARCHAR)"
            )
            wrong = f" WHEN {length} <> {count} THEN CAST({error}({message}) AS DOUBLE)"
        sql = f"CASE WHEN {length} = {count} THEN {score}{wrong} END"
        return SliceKey(name, sql, (self.text,))

    def write_field(self, field: str) -> SliceKey:
        """Return the computed column of a field of a struct."""
        return SliceKey(f"{self.text}.{field}", f"{self._column}.{quote(field)}", (self.text,))


#: The function that counts a list's values, and the one that raises an error; LEN is DuckDB's.
_LENGTHS = {"spark": "ARRAY_LENGTH", "databricks": "ARRAY_LENGTH", "trino": "ARRAY_LENGTH"}
_ERRORS = {"duckdb": "ERROR", "spark": "RAISE_ERROR"}


def _name_function(name: str, dialect: str) -> str:
    """Return the function of lists that is called LIST_... in DuckDB and ARRAY_... elsewhere."""
    return f"{'LIST' if dialect == 'duckdb' else 'ARRAY'}_{name}"


def find_vector(text: str, column: Column) -> Vector | None:
    """Return the vector in a column of lists or structs of numbers; None for another column.

    Raises
    ------
    RequestError
        For a vector in a DataFrame of Spark.

    Examples
    --------
    >>> find_vector("p", Column("p", "DOUBLE[3]")).size
    3
    >>> find_vector("p", Column("p", "STRUCT(setosa DOUBLE, virginica DOUBLE)")).fields
    ('setosa', 'virginica')
    """
    if column.type == "VECTOR":
        raise RequestError(
            f"score={text!r} is a vector of Spark ML, which Spark's SQL cannot read: convert it by "
            f"pyspark.ml.functions.vector_to_array({text!r})"
        )
    if column.kind != "nested":
        return None
    if match := _ELEMENT.fullmatch(column.type):
        element, size = match.groups()
        return Vector(text, size=int(size or 0)) if is_number(element) else None
    fields = _list_fields(column.type)
    if (element := _ELEMENT.fullmatch(fields.get("values", ""))) and is_number(element[1]):
        return Vector(text, ".values", is_sparse={"type", "size", "indices"} <= fields.keys())
    if fields and all(map(is_number, fields.values())):
        return Vector(text, fields=tuple(fields))
    return None


def _list_fields(kind: str) -> dict[str, str]:
    """Return the fields of a struct's type, and their types.

    Examples
    --------
    >>> _list_fields('STRUCT("type" TINYINT, "values" DOUBLE[], d DECIMAL(9, 2))')
    {'type': 'TINYINT', 'values': 'DOUBLE[]', 'd': 'DECIMAL(9, 2)'}
    """
    if not kind.startswith("STRUCT("):
        return {}
    inside = kind.removeprefix("STRUCT(").removesuffix(")")
    fields = {
        (quoted.replace('""', '"') or plain): of for quoted, plain, of in _FIELD.findall(inside)
    }
    # Nested structs are not read.
    return fields if sum(len(of) for of in fields.values()) < len(inside) else {}


def name_classes(
    vector: Vector,
    classes: Sequence[Scalar] | None,
    label: Column | None,
    size: int,
    list_labels: Callable[[], Sequence[object]],
) -> tuple[Scalar, ...]:
    """Return the class at each place of a vector.

    Parameters
    ----------
    vector : Vector
        The vector.
    classes : sequence of scalar or None
        The classes from the user, in the order of the places.
    label : Column or None
        The label's column.
    size : int
        The number of scores in the first rows.
    list_labels : callable
        Returns the label's first values, which the message lists.

    Raises
    ------
    RequestError
        If there are no names for the places of labels that are texts.
    """
    if classes is not None:
        return tuple(classes)
    if label is not None and label.kind in ("text", "enum", "uuid", "date"):
        values = sorted({str(value) for value in list_labels()})
        shown = ", ".join(map(repr, values[:20]))
        raise RequestError(
            f"score={vector.text!r} is {size} scores in each row, and the label is a text: name "
            "the class of each place with classes= (--classes A,B,C). In alphabetical order, as "
            f"scikit-learn has them, they are classes=[{shown}]; Spark's StringIndexer puts the "
            "most frequent class first"
        )
    if label is not None and label.kind == "boolean" and size > 2:
        raise RequestError(
            f"score={vector.text!r} is {size} scores in each row, and label={label.name!r} is a "
            f"truth value: name the score of True, such as score='{vector.text}{vector.values}[2]'"
        )
    return tuple(range(size))
