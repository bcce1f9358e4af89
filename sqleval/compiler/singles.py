"""Compares scores with a threshold at the precision in which they were stored.

A FLOAT represents the decimal number that was written: 0.7 as FLOAT is not 0.7 as DOUBLE. If all
scores are FLOAT, the threshold is rounded to FLOAT, too. If FLOAT and DOUBLE are mixed, every score
is a DOUBLE, and a score that equals the rounded threshold reaches the threshold.
"""

from collections.abc import Mapping
from ctypes import c_float
from dataclasses import replace

import sqlglot
from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.catalog.contract import Relation
from sqleval.common.columns import Column
from sqleval.common.sql_text import Value, write_double


def round_threshold(binding: Binding, threshold: Value) -> Value:
    """Round a threshold to FLOAT if all scores are FLOAT; otherwise return it unchanged."""
    kinds = {column.kind for column in binding.score_columns}
    if kinds == {"float32"} and isinstance(threshold, (int, float)):
        return c_float(threshold).value
    return threshold


def has_singles(binding: Binding) -> bool:
    """Whether some scores were FLOAT, but all are compared as DOUBLE."""
    kinds = {column.kind for column in binding.score_columns}
    mixed = "float32" in kinds and len(kinds) > 1
    return mixed or any(column.has_singles for column in binding.score_columns)


def write_decision(binding: Binding, score: str, threshold: Value) -> str:
    """Return the SQL of the prediction 1 or 0 at a threshold."""
    assert isinstance(threshold, (int, float))
    return _write_test(score, threshold, has_singles=has_singles(binding))


def write_decision_of_model(score: str, column: Column, threshold: float) -> str:
    """Return the SQL of the prediction 1 or 0 of a model with its own score and threshold."""
    if column.kind == "float32":
        threshold = c_float(threshold).value
    return _write_test(score, threshold, has_singles=column.has_singles)


def _write_test(score: str, threshold: float, *, has_singles: bool) -> str:
    test = f"{score} >= {write_double(threshold)}"
    if has_singles:
        test += f" OR {score} = {write_double(c_float(threshold).value)}"
    return f"CASE WHEN {test} THEN 1 ELSE 0 END"


def compare_as_singles(
    relation: Relation, binding: Binding, values: Mapping[str, Value]
) -> Relation:
    """Rewrite a file so that a score equal to the rounded threshold reaches the threshold."""
    param = relation.params.get("threshold")
    if param is None or not has_singles(binding):
        return relation
    threshold = values.get("threshold", param.default)
    assert isinstance(threshold, (int, float))
    return _rewrite(relation, threshold)


def _rewrite(relation: Relation, threshold: float) -> Relation:
    """Rewrite the comparisons of a file with ``$threshold`` to accept the rounded threshold."""
    rounded = sqlglot.parse_one(write_double(c_float(threshold).value), dialect="duckdb")

    def rewrite(node: exp.Expr) -> exp.Expr:
        is_compared = isinstance(node, (exp.GTE, exp.LT)) and node.expression.name == "threshold"
        if not is_compared:
            return node
        score = node.this.copy()
        if isinstance(node, exp.GTE):
            return exp.paren(exp.or_(node.copy(), exp.EQ(this=score, expression=rounded.copy())))
        return exp.paren(exp.and_(node.copy(), exp.NEQ(this=score, expression=rounded.copy())))

    return replace(relation, query=relation.query.copy().transform(rewrite))
