"""Writes the score and the prediction of a row's model, from the columns of all models."""

from collections.abc import Sequence

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import read_column
from sqleval.catalog.roles import must_be_finite
from sqleval.common.columns import Column, is_float
from sqleval.common.sql_text import quote, write_literal, write_present_test
from sqleval.compiler.singles import write_decision_of_model


def read_score(binding: Binding, column: Column, home: str = "s") -> str:
    """Return a score as SQL; -0.0 becomes 0.0, because ClickHouse would make two groups."""
    sql = read_column(column, home, binding.dialect)
    return add_zero(sql, column) if binding.dialect == "clickhouse" else sql


def add_zero(sql: str, column: Column) -> str:
    """Return a number as SQL in which -0.0 becomes 0.0."""
    return f"{sql} + CAST(0 AS {column.type})" if is_float(column.type) else sql


def write_score_case(binding: Binding, place: int = 0) -> str:
    """Return the SQL that takes the value of the row's model, from its column at a place."""
    scores = [read_score(binding, columns[place]) for _, columns in binding.models]
    return _write_model_case(binding, scores)


def write_decision_case(binding: Binding) -> str:
    """Return the SQL of the prediction of the row's model, from its column or its threshold."""
    if binding.predictions:
        values = [read_column(column, "s", binding.dialect) for column in binding.predictions]
        return _write_model_case(binding, values)
    columns = [column for _, (column,) in binding.models]
    return _write_model_case(
        binding,
        [
            write_decision_of_model(read_score(binding, column), column, threshold)
            for column, threshold in zip(columns, binding.thresholds, strict=True)
        ],
    )


def _write_model_case(binding: Binding, values: Sequence[str]) -> str:
    """Return the SQL that takes the row's model's value among those of all models."""
    cases = " ".join(
        f"WHEN {write_literal(name)} THEN {value}"
        for (name, _), value in zip(binding.models, values, strict=True)
    )
    value = f"CASE m.model {cases} END"
    return f"CASE WHEN {write_all_present(binding)} THEN {value} END" if binding.common else value


def write_role_test(binding: Binding, name: str, role: str, column: Column) -> str:
    """Return the SQL condition that a role has a usable value, which may be NULL in a ranking."""
    finite = must_be_finite(role) or binding.has_values
    null = role in binding.facts.may_be_null
    return write_present_test(name, column.type, finite=finite, null=null)


def write_all_present(binding: Binding, others: Sequence[Column] = ()) -> str:
    """Return the condition that all models' values, and other columns, are present."""
    tests = [
        write_role_test(
            binding, read_column(column, "s", binding.dialect), binding.model_role, column
        )
        for column in binding.mapped_columns
    ]
    tests += [write_present_test(f"s.{quote(e.name)}", e.type, finite=False) for e in others]
    return " AND ".join(tests)


def is_computed(binding: Binding, role: str) -> bool:
    """Whether a role is the prediction 1 or 0 at each model's threshold."""
    return role == "prediction" and bool(binding.thresholds)
