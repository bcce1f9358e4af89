"""Opens the two samples of a drift, and counts their rows by slice and value."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import polars as pl

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import write_canonical
from sqleval.binding.lookup import find_column
from sqleval.binding.positive import convert_positive
from sqleval.binding.reading import read_drift_task
from sqleval.binding.slice_keys import parse_slice_keys
from sqleval.binding.whole_numbers import read_numbers_exactly
from sqleval.common.columns import Column, is_number
from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import select, write_present_test, write_with
from sqleval.compiler import rows
from sqleval.compiler.bins import Bins, write_bin
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError, RequestError
from sqleval.frontend.binding import bind_source, check_has_rows
from sqleval.frontend.bound import refuse_many_labels
from sqleval.frontend.computing import Described, compute_roles
from sqleval.frontend.first_values import FirstValues
from sqleval.frontend.from_state import create_state_predictions
from sqleval.frontend.predictions import Predictions
from sqleval.frontend.texts import advise_on_texts
from sqleval.resampling.cells import Input, write_weight
from sqleval.sources.opening import open_source
from sqleval.sources.source import Source
from sqleval.states.reading import open_states

#: The roles whose distributions are compared, in the order of the result.
DISTRIBUTIONS = ("score", "prediction", "label")
#: A table with these columns is a state.
_OF_STATE = ("definition", "used", "n")
#: Arguments for the columns of rows; states and predictions have their own columns.
_OF_ROWS = ("score", "prediction", "label", "weight", "positive")


class Counts(NamedTuple):
    """The rows of a sample per slice and value of a role.

    Attributes
    ----------
    table : Source
        A table of the embedded engine: the slice keys, ``value`` (NULL if it is missing),
        ``lowest`` and ``highest`` (the extremes of a bin, if there are bins), ``n`` (rows),
        ``weight``, and ``wrong`` (rows with a wrong weight).
    sizes : polars.DataFrame
        The slice keys, ``has_value``, ``n`` and ``weight`` of all values together.
    """

    table: Source
    sizes: pl.DataFrame


class Sample(NamedTuple):
    """The reference or the current sample.

    Attributes
    ----------
    name : str
        Its name in messages: ``reference`` or ``current``.
    input : Input
        The bound rows, or states.
    """

    name: str
    input: Input

    @property
    def binding(self) -> Binding:
        """The binding of its rows."""
        return self.input.binding

    @property
    def bits(self) -> int:
        """The significant bits of the scores of a state; 0 for rows."""
        return self.binding.state.bits if self.binding.state is not None else 0

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles whose distributions it has."""
        if self.binding.state is not None and self.binding.has_values:
            return ()  # A state of a regression holds sums, so its distributions are lost.
        return tuple(role for role in DISTRIBUTIONS if role in self.binding.role)

    def is_number(self, role: str) -> bool:
        """Return whether the values of a role are numbers with an order and distances."""
        return role == "score" or self.binding.has_values

    @contextmanager
    def count_rows(self, role: str, bits: int) -> Generator[Counts]:
        """Count the rows per slice and value of a role.

        Parameters
        ----------
        role : str
            One of `DISTRIBUTIONS`.
        bits : int
            The significant bits to which numbers are rounded; 0 for exact numbers.

        Yields
        ------
        Counts
            The counts, which are dropped afterwards.

        Raises
        ------
        DataError
            If a weight is missing, negative or not finite.
        """
        with self.input.keep(self._write_counts(role, bits)) as table:
            kind = "DOUBLE" if self.is_weighted else "BIGINT"
            keys = {key: key for key in self.binding.keys}
            sums = {
                "has_value": "value IS NOT NULL",
                "n": "CAST(SUM(n) AS BIGINT)",
                "weight": f"CAST(SUM(weight) AS {kind})",
                "wrong": "CAST(SUM(wrong) AS BIGINT)",
            }
            places = ", ".join(str(i) for i in range(1, len(keys) + 2))
            sql = select(keys | sums, f"FROM {table.relation}\nGROUP BY {places}")
            sizes = embedded().run(sql, {}, [table], {}, pl.DataFrame)
            if wrong_weights := sizes["wrong"].sum():
                raise DataError(
                    f"{self.name}: {format_row_count(int(wrong_weights))} with a weight that is "
                    "NULL, NaN, infinite or negative"
                )
            yield Counts(table, sizes.drop("wrong"))

    def list_values(self, role: str) -> set[str]:
        """Return the classes of a role as texts."""
        values = self.input.run(
            f"SELECT DISTINCT value FROM (\n{self._write_counts(role, 0)}\n) AS counted"
        )
        return set(values["value"].drop_nulls())

    def _write_counts(self, role: str, bits: int) -> str:
        """Return the statement that counts rows per slice and value; see `Counts`."""
        binding = self.binding
        is_state = binding.state is not None
        also = {"_rows": "s.n", "_usable": "s.used"} if is_state else {}
        if is_state and role == "score":
            also |= {"_low": "s.score_low", "_high": "s.score_high"}
        ctes = rows.write_source(binding, None, also)
        value, ends = self._write_value(role, bits)
        items = {key: key for key in binding.keys} | {"value": value}
        places = ", ".join(str(i) for i in range(1, len(items) + 1))
        only = "\nWHERE _side <> 'label'" if binding.labels else ""
        rest = f"FROM _source{only}\nGROUP BY {places}"
        return write_with(ctes, select(items | ends | self._write_sums(), rest))

    def _write_sums(self) -> dict[str, str]:
        """Return SQL for a group's rows, their weight, and the rows with a wrong weight."""
        weight = write_weight(self.binding)
        n = "SUM(_rows)" if self.binding.state is not None else "COUNT(*)"
        n = f"SUM({weight})" if self.binding.has_counts else n
        wrong_weights = "CAST(0 AS BIGINT)"
        if self.is_weighted:
            fine = f"({write_present_test('weight', 'DOUBLE', finite=True)} AND weight >= 0)"
            wrong_weights = f"SUM(CASE WHEN {fine} THEN 0 ELSE 1 END)"
        kind = "DOUBLE" if self.is_weighted else "BIGINT"
        return {
            "n": f"CAST({n} AS BIGINT)",
            "weight": f"CAST(SUM({weight}) AS {kind})",
            "wrong": wrong_weights,
        }

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.binding.is_weighted

    def _write_value(self, role: str, bits: int) -> tuple[str, dict[str, str]]:
        """Return SQL for a value (NULL if it is missing), and for the ends of its bin."""
        is_state = self.binding.state is not None
        valid = write_present_test(role, self.binding.role[role].type, finite=False)
        if is_state and role != "score":
            valid = "_usable"  # A state of two classes stores a missing label as 0.
        if not self.is_number(role):
            return f"CASE WHEN {valid} THEN {self._write_category(role)} END", {}
        number = f"CAST({role} AS DOUBLE)"
        value = write_bin(role, Bins(bits)) if bits and not is_state else number
        low, high = ("_low", "_high") if is_state else (number, number)
        has_bins = bits or is_state
        ends = {"lowest": f"MIN({low})", "highest": f"MAX({high})"} if has_bins else {}
        return f"CASE WHEN {valid} THEN {value} END", ends

    def _write_category(self, role: str) -> str:
        """Return SQL for a class as a text."""
        if self.binding.has_two_classes:
            return f"CAST({rows.write_zero_or_one(self.binding, role)} AS VARCHAR)"
        # Equal numbers or truth values get the same text, whatever their types.
        return write_canonical(role, self.binding.role[role].type, "number", self.binding.dialect)


def keep_stream(source: object) -> object:
    """Return a source that can be read twice; a stream is read into a frame."""
    is_named = isinstance(source, (str, os.PathLike, Predictions))
    is_stream = not is_named and open_source(source, name="_sqleval_both").once
    return pl.DataFrame(cast("Any", source)) if is_stream else cast("object", source)


def open_sample(source: object, name: str, roles: Mapping[str, Any]) -> Sample:
    """Open the reference or the current sample: rows, a state, or predictions.

    Parameters
    ----------
    source : path, frame, table or Predictions
        As for `sqleval.drift`.
    name : str
        Its name in messages: ``reference`` or ``current``.
    roles : mapping
        ``score``, ``label``, ``prediction``, ``weight``, ``positive``, ``by``, ``sets``, ``where``.

    Raises
    ------
    RequestError
        If no column is named, or one does not exist.
    """
    if isinstance(source, Predictions):
        _refuse_arguments(name, "predictions", [*_OF_ROWS, "by", "sets", "where"], roles)
        return _create_sample(name, source)
    opened = open_source(source, name=f"_sqleval_{name}")
    if opened.once:
        source = pl.DataFrame(cast("Any", source))  # Each distribution reads the rows again.
        opened = open_source(source, name=f"_sqleval_{name}")
    _, columns = embedded().describe(opened)
    if not all(column in columns for column in _OF_STATE):
        return _bind_rows(opened, columns, name, roles)
    _refuse_arguments(name, "a state", ["weight"], roles)
    if isinstance(roles["by"], Mapping):
        raise RequestError(f"{name} is a state: by= names its slice keys, not expressions")
    predictions = create_state_predictions(
        open_states(source), by=roles["by"] or (), sets=roles["sets"], where=roles["where"]
    )
    return _create_sample(name, predictions)


def _refuse_arguments(name: str, what: str, arguments: list[str], roles: Mapping[str, Any]) -> None:
    """Raise if an argument is given that the sample already defines."""
    for argument in arguments:
        if roles.get(argument) not in (None, ()):
            advice = ", and open the other sample by sqleval.scan" if what == "predictions" else ""
            raise RequestError(
                f"{name} is {what}, which has its own columns; leave out {argument}={advice}"
            )


def _create_sample(name: str, predictions: Predictions) -> Sample:
    if predictions.binding.over or predictions.binding.classes or predictions.binding.has_queries:
        raise RequestError(f"{name}: drift() takes no over=, qid= or score per class")
    refuse_many_labels(predictions, f"{name}: drift()")
    if predictions.binding.cells:
        raise RequestError(f"{name} is a table of counts, which has no scores")
    for column in predictions.binding.by:
        if column.kind in ("binary", "nested"):
            raise RequestError(
                f"{name}: the slice key {column.name!r} is {column.type}; use a number, a text, a "
                "date or a boolean"
            )
    return Sample(
        name, Input(predictions.binding, predictions.source, predictions.labels, predictions.engine)
    )


def _bind_rows(
    opened: Any, columns: Mapping[str, Column], name: str, roles: Mapping[str, Any]
) -> Sample:
    """Return the sample of rows; no label is needed."""
    named = {role: roles[role] for role in (*DISTRIBUTIONS, "weight") if roles[role] is not None}
    first = next((named[role] for role in DISTRIBUTIONS if role in named), None)
    if first is None:
        raise RequestError("give score=, label= or prediction=, the column to compare")
    for role, column in named.items():
        if not isinstance(column, str):
            raise RequestError(f"{role}={column!r} must be the name of one column")
    described = compute_roles(Described(opened, columns), named, embedded())
    opened, columns = described.source, described.columns
    for role, column in named.items():
        find_column(columns, column, role, opened.label)  # The error then names the right role.
    _refuse_quantiles(roles["by"], columns, opened.label)
    # Binding needs a label, so any column stands in until the roles are bound.
    stand_in = {"label": first, "prediction": first, "task": "multiclass"}
    rows_and_keys = {key: roles[key] for key in ("sets", "where")} | {"by": roles["by"] or ()}
    predictions = bind_source(opened, None, stand_in | rows_and_keys, is_provisional=True)
    columns = embedded().describe(predictions.source)[1]
    about = predictions.source.label
    role_columns = tuple(
        (role, find_column(columns, column, role, about)) for role, column in named.items()
    )
    _check_numbers(name, role_columns, predictions)
    positive, written = convert_positive(roles["positive"], dict(role_columns))
    classes = {role: column for role, column in role_columns if role in ("label", "prediction")}
    look = partial(
        FirstValues(predictions.source, None, embedded()).read,
        None, predictions.binding.where, predictions.binding.where_columns,
    )  # fmt: skip
    binding = replace(
        predictions.binding,
        # Without a positive value, 0 and 1 count as two of several classes.
        task=read_drift_task(classes, positive, look),
        roles=role_columns,
        positive=positive,
        positive_as_written=written,
    )
    exact = read_numbers_exactly(predictions.source, columns, binding, described.computed)
    if exact != predictions.source:
        exact, columns = embedded().describe(exact)
        role_columns = tuple((role, columns[column.name]) for role, column in role_columns)
        binding = replace(binding, roles=role_columns, relation=exact.relation)
    return _create_sample(name, replace(predictions, binding=binding, source=exact))


def _check_numbers(
    name: str, roles: Sequence[tuple[str, Column]], predictions: Predictions
) -> None:
    """Raise if a score or a weight is not a number."""
    for role, column in roles:
        if role in ("score", "weight") and not (is_number(column.type) or column.kind == "boolean"):
            check_has_rows(predictions.source, embedded())
            advice = ""
            if column.kind == "text":
                advice = advise_on_texts(predictions.source, column.name, embedded())
            raise RequestError(
                f"{name}: {role}={column.name!r} must be a number and is {column.type}{advice}"
            )


def _refuse_quantiles(by: object, columns: Mapping[str, Column], where: str) -> None:
    """Raise if slices are quantiles, whose ends would differ between the samples."""
    if not isinstance(by, Mapping):
        return
    for key in parse_slice_keys(cast("Mapping[str, str]", by), columns, where):
        if key.intervals:
            raise RequestError(
                f"by={key.name!r}: the ends of qcut() would differ between the samples; give the "
                "ends with cut()"
            )
