"""Reads text whose lines SQL splits: TREC runs and qrels, white-space tables and ARFF.

The engine reads each line as one text, splits it, and converts the values. Types come from the
format, or from the first rows; a later value that does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqleval.common.sql_text import quote, write_literal
from sqleval.sources.source import Ask, Source

#: The column that holds a line, and the one that holds its values.
LINE, _VALUES = "_sqleval_line", "_sqleval_values"
#: The words that precede the reason why a line or a value cannot be read.
MISFIT = "cannot be read: "
#: Number of rows from which types are guessed, as many as DuckDB takes for CSV.
_SAMPLE = 20_480


@dataclass(frozen=True)
class LineColumn:
    """A column of a text table.

    Attributes
    ----------
    name : str
        Its name.
    type : str
        Its type; empty if the first rows decide it.
    text : str
        The SQL of its text, NULL for a missing value, where ``{}`` is the value in the line.
    number : str
        The SQL of the text of a number with a decimal point, where ``{}`` is the text.
    time_format : str
        The format of times, as in ``strptime``; empty for ISO 8601.
    allowed : tuple of str or None
        The texts that it may have; None for any.
    is_guessed : bool
        Whether its type is that of the first rows.
    """

    name: str
    type: str
    text: str = "{}"
    number: str = "{}"
    time_format: str = ""
    allowed: tuple[str, ...] | None = None
    is_guessed: bool = False

    def write(self, place: int) -> str:
        """Return the SQL of the column, which is the value at a place of a line."""
        text = self.text.replace("{}", f"{_VALUES}[{place}]")
        if self.type == "VARCHAR" and self.allowed is None:
            return f"{text} AS {quote(self.name)}"
        message = f"{MISFIT}column {self.name} must be {self._describe()}, but a value is "
        advice = ""
        if self.is_guessed:
            given = (
                f"csv={{'types': {{{self.name!r}: 'VARCHAR'}}}} (--csv types={self.name}:VARCHAR)"
            )
            advice = f"; its type is that of the first rows, and {given} gives another one"
        error = f"ERROR({write_literal(message)} || {text} || {write_literal(advice)})"
        wrong = f"CASE WHEN {text} IS NOT NULL THEN {error} END"
        return f"COALESCE({self._convert(text)}, {wrong}) AS {quote(self.name)}"

    def _convert(self, text: str) -> str:
        """Return the SQL of the value of a text, NULL if the text does not fit."""
        if self.allowed is not None:
            allowed = ", ".join(map(write_literal, self.allowed)) or "NULL"
            return f"CASE WHEN {text} IN ({allowed}) THEN {text} END"
        if self.time_format:
            parsed = f"TRY_STRPTIME({text}, {write_literal(self.time_format)})"
            return f"CAST({parsed} AS {self.type})"
        if self.type == "BIGINT":  # a cast of '1.5' would round it
            return (
                f"CASE WHEN REGEXP_FULL_MATCH({text}, '[+-]?[0-9]+') "
                f"THEN TRY_CAST({text} AS BIGINT) END"
            )
        number = self.number.replace("{}", text) if self.type == "DOUBLE" else text
        return f"TRY_CAST({number} AS {self.type})"

    def _describe(self) -> str:
        if self.allowed is not None:
            return f"one of {', '.join(map(repr, self.allowed))[:200]}"
        return f"{self.type}{f' ({self.time_format})' if self.time_format else ''}"


@dataclass(frozen=True)
class LineTable:
    """The columns of text files, and how a line is split into their values.

    Attributes
    ----------
    columns : tuple of LineColumn
        The columns, in the order of the values.
    split : str
        The SQL of the list of the values of a line.
    drop : str
        The SQL of whether a line is not a row.
    skip : int
        The number of lines before the rows.
    """

    columns: tuple[LineColumn, ...]
    split: str
    drop: str = f"{LINE} IS NULL OR TRIM({LINE}, CONCAT(' ', CHR(9))) = ''"
    skip: int = 0

    def wrap(self, source: Source, keys: Sequence[str] = ()) -> Source:
        """Return the source of the rows in a source of lines.

        ``keys`` are the columns in the paths of the files, which replace those of the same name.
        """
        lines = source.relation
        wrapped = replace(source, relation=self.write(lines, keys), text_reader="")
        if all(column.type for column in self.columns):
            return wrapped
        return replace(wrapped, settle=_Guess(self, lines, tuple(keys)))

    def write(self, lines: str, keys: Sequence[str] = ()) -> str:
        """Return the relation of the rows in a relation of lines."""
        hidden = {key.casefold() for key in keys}
        columns = [
            column.write(place)
            for place, column in enumerate(self.columns, 1)
            if column.name.casefold() not in hidden
        ]
        columns.append(f"* EXCLUDE ({LINE}, {_VALUES})")
        count = len(self.columns)
        message = write_literal(f"{MISFIT}a line must have {count} values, and one is: ")
        return (
            f"(SELECT {', '.join(columns)} FROM {self.write_values(lines)} "
            f"WHERE CASE WHEN {self.drop} THEN FALSE WHEN LEN({_VALUES}) = {count} THEN TRUE "
            f"ELSE ERROR({message} || SUBSTRING({LINE}, 1, 200)) END)"
        )

    def write_values(self, lines: str) -> str:
        """Return the relation of the lines with the list of their values."""
        return f"(SELECT *, {self.split} AS {_VALUES} FROM {lines})"


@dataclass(frozen=True)
class _Guess:
    """Guesses the types of columns from the first rows; equal for equal text."""

    table: LineTable
    lines: str
    keys: tuple[str, ...]

    def __call__(self, source: Source, ask: Ask) -> Source:
        table = self.table
        places = [i for i, column in enumerate(table.columns, 1) if not column.type]
        # All columns have the same texts of NULL, and the same decimal sign.
        text = table.columns[0].text.replace("{}", "v")
        number = table.columns[0].number.replace("{}", "t")
        statement = (
            "SELECT i, COUNT(t), COUNT_IF(REGEXP_FULL_MATCH(t, '[+-]?(0|[1-9][0-9]{0,17})')), "
            # Texts with leading zeros are keys, as in CSV files.
            "COUNT(CASE WHEN NOT REGEXP_MATCHES(t, '^[+-]?0[0-9]') "
            f"THEN TRY_CAST({number} AS DOUBLE) END), COUNT_IF(LOWER(t) IN ('true', 'false')), "
            "COUNT_IF(LENGTH(t) < 11 AND TRY_CAST(t AS DATE) IS NOT NULL), "
            f"COUNT(TRY_CAST(t AS TIMESTAMP)) FROM (SELECT i, {text} AS t FROM (SELECT "
            f"UNNEST({_VALUES}) AS v, GENERATE_SUBSCRIPTS({_VALUES}, 1) AS i FROM (SELECT * FROM "
            f"{table.write_values(self.lines)} WHERE NOT ({table.drop}) LIMIT {_SAMPLE}))) "
            "GROUP BY i"
        )
        _, rows = ask(statement)
        kinds = ("BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP")
        types: dict[int, str] = {}
        for place, filled, *fitting in rows:
            fits = (kind for kind, n in zip(kinds, fitting, strict=True) if n == filled > 0)
            types[place] = next(fits, "VARCHAR")
        columns = list(table.columns)
        for place in places:
            kind = types.get(place, "VARCHAR")
            columns[place - 1] = replace(columns[place - 1], type=kind, is_guessed=True)
        relation = replace(table, columns=tuple(columns)).write(self.lines, self.keys)
        return replace(source, relation=relation, settle=None)
