"""Checks of the columns in their roles: missing values, classes, scores, keys."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqleval.common.columns import is_float, is_number
from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import quote, write_present_test, write_scalar
from sqleval.inspection.choosing import Choice, Inspected, find_positive
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.findings import Finding, format_number, format_share, problem, write_name
from sqleval.inspection.roles import Roles

#: Values of a label that are listed; more are counted.
_SHOWN = 12
#: Fewer labels of a class than this make wide intervals.
_FEW = 30


def list_evaluated(roles: Roles) -> list[str]:
    """Return the columns that an evaluation reads, so that a NULL in one of them matters."""
    single = [roles.label, roles.weight, roles.query]
    columns = [*single, *roles.scores.values(), *roles.predictions.values()]
    return list(dict.fromkeys(name for name in columns if name is not None))


def check_missing(facts: Facts, where: str | None = None) -> Iterator[Finding]:
    """Yield the NULL, NaN and infinite values of a column; ``where`` is advised against NaN."""
    name, rows = facts.name, facts.rows
    if rows > facts.present:
        count = rows - facts.present
        value = f"{count:,} of {format_row_count(rows)}"
        advice = "--nulls drop" if facts.present else "the column is empty"
        yield problem("NULL", name, value, advice)
    if facts.nan:
        advice = f"--where {shlex.quote(where)}" if where is not None else "--nulls drop"
        yield problem("NaN", name, f"{facts.nan:,} of {format_row_count(rows)}", advice)
    if facts.infinite:
        finite = shlex.quote(f"isfinite({write_name(name)})")
        advice = f"legal for ranking metrics; otherwise --where {finite}"
        yield problem("infinite", name, f"{facts.infinite:,} of {format_row_count(rows)}", advice)


def check_classes(label: Facts, choice: Choice) -> Iterator[Finding]:
    """Yield the classes of a label, or its range."""
    counts, task = choice.classes, choice.roles.facts
    if not counts or not task.has_classes:
        return
    shown = ", ".join(f"{value!s}: {n:,}" for value, n in counts[:_SHOWN])
    more = ", ..." if len(counts) > _SHOWN else ""
    values, advice = {value for value, _ in counts}, None
    if len(counts) == 1:
        advice = "one class only: metrics that need both classes are NULL"
    elif len(counts) == 2 and not (values <= {0, 1} or values <= {-1, 1}):
        advice = f"name the positive value: --positive {shlex.quote(str(find_positive(choice)))}"
    elif 2 < len(counts) <= _SHOWN and not choice.roles.has_classes and choice.roles.scores:
        advice = "several classes: --task multiclass, or --positive VALUE with --where"
    elif len(counts) <= _SHOWN and counts[-1][1] < _FEW and label.rows > 2 * _FEW:
        advice = "few rows of a class: intervals are wide, --ci 0.95 shows them"
    is_problem = advice is not None and not advice.startswith("name the positive")
    yield Finding("classes", label.name, shown + more, advice, "problem" if is_problem else "role")


def check_score_type(facts: Facts) -> Iterator[Finding]:
    """Yield the type of a score, where it is not a number."""
    if not is_number(facts.column.type) and facts.column.kind != "boolean":
        column = write_name(facts.name)
        number = f"CAST({column} AS DOUBLE) AS {column}"
        advice = f'--query "SELECT * REPLACE ({number}) FROM ..."'
        yield problem("score type", facts.name, facts.column.type, advice)


def check_score_range(data: Inspected, facts: Facts) -> Iterator[Finding]:
    """Yield a score that is constant, or no probability."""
    low, high, name = facts.low, facts.high, facts.name
    if low is None or not is_number(facts.column.type):
        return
    if low == high:
        advice = "every rank metric is that of chance; look at the model or the column"
        yield problem("constant score", name, str(low), advice)
    elif low < 0 or high > 1:
        value = f"s.{quote(name)}"
        finite = write_present_test(value, facts.column.type, finite=True)
        condition = f"{finite} AND NOT ({value} >= 0 AND {value} <= 1)"
        select = f"COUNT(CASE WHEN {condition} THEN 1 END)"
        ((outside,),) = read_rows(data.source, select, [name])
        share = f"{outside:,} of {format_row_count(facts.rows)} outside 0 .. 1"
        advice = "no probability: give --threshold T; log_loss and brier_score do not apply"
        if 0 < outside < 0.01 * facts.rows:
            advice = "few rows: probably errors; otherwise give --threshold T"
        span = f"{format_number(low)} to {format_number(high)}"
        yield problem("score range", name, f"{share} ({span})", advice)


def check_auc(data: Inspected, choice: Choice, score: Facts) -> Iterator[Finding]:
    """Yield the ROC AUC of a score, and whether it is the label itself or points the other way."""
    roles, auc = choice.roles, choice.aucs.get(score.name)
    if auc is None:
        return
    if auc.error or auc.value is None or auc.high is None:
        if auc.error:
            yield problem("roc_auc", score.name, "cannot be computed", auc.error)
        return
    shown, name = f"{auc.value:.6f}", score.name
    if auc.value >= 0.999:
        advice = "the score separates the classes: is it computed from the label, a leak?"
        yield problem("roc_auc", name, shown, advice)
    elif auc.high < 0.5 or auc.value == 0:
        values = [value for value, _ in choice.classes]
        other = next((v for v in values if v != find_positive(choice)), "VALUE")
        option = f"--positive {shlex.quote(str(other))}"
        positive, negative = _compare_means(
            data, data.facts[str(roles.label)], score, find_positive(choice)
        )
        advice = (
            f"the score or the positive class is inverted: its mean is {positive} for positives, "
            f"{negative} for negatives; {option}, or negate it with "
            f'--query "SELECT *, -{write_name(name)} AS negated FROM ..."'
        )
        yield problem("roc_auc", name, shown, advice)
    else:
        yield Finding("roc_auc", name, shown, None, "role")


def _compare_means(data: Inspected, label: Facts, score: Facts, positive: Any) -> tuple[str, str]:
    """Return the mean scores of positives and of negatives."""
    value = f"s.{quote(score.name)}"
    finite = write_present_test(value, score.column.type, finite=True)
    number = f"CAST({value} AS DOUBLE)"
    name = f"s.{quote(label.name)}"
    is_known = write_present_test(name, label.column.type, finite=False)
    is_positive = f"{name} = {write_scalar(positive)}"
    parts = [
        f"AVG(CASE WHEN {finite} AND {is_known} AND {test} THEN {number} END)"
        for test in (is_positive, f"NOT ({is_positive})")
    ]
    ((first, second),) = read_rows(data.source, ", ".join(parts), [label.name, score.name])
    return format_number(first), format_number(second)


def check_equal(data: Inspected, label: Facts, column: Facts) -> Iterator[Finding]:
    """Yield a score or prediction that equals the label in every row."""
    both = is_number(label.column.type) and is_number(column.column.type)
    if column.name == label.name or not (both or label.column.type == column.column.type):
        return
    left, right = f"s.{quote(label.name)}", f"s.{quote(column.name)}"
    equal = f"COUNT(CASE WHEN {left} = {right} THEN 1 END)"
    select = f"COUNT(CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL THEN 1 END), {equal}"
    ((together, same),) = read_rows(data.source, select, [label.name, column.name])
    if together and same >= 0.999 * together and label.distinct > 1:
        share = format_share(same, together)
        advice = "a copy of the label is not a prediction: a leak, or the wrong column"
        yield problem("equals the label", column.name, f"in {share} of the rows", advice)


def check_key(data: Inspected, key: Facts, *, is_given: bool) -> Iterator[Finding]:
    """Yield the number of repeated keys.

    Of many rows they are counted only for a key that is given: that takes as long as all else,
    and memory for each key.
    """
    if not key.is_exact and not is_given:
        yield Finding("duplicate keys", key.name, "not counted", f"--key {key.name}", "role")
        return
    value = f"s.{quote(key.name)}"
    if key.is_exact and not is_float(key.column.type):
        again = key.present - key.distinct
    else:
        # As groups, which the engine can spill to disk where it cannot a set of values.
        inside = f"SELECT {value} FROM {data.source.relation} AS s WHERE {value} IS NOT NULL"
        statement = f"{inside} GROUP BY {value}"
        distinct = _count_rows(data, statement, key.name)
        again = key.present - distinct
    advice = f'--query "SELECT DISTINCT ON ({write_name(key.name)}) * FROM ..." keeps one row a key'
    if again:
        yield problem("duplicate keys", key.name, f"{again:,}", advice)
    else:
        yield Finding("duplicate keys", key.name, "0", None, "role")


def _count_rows(data: Inspected, statement: str, column: str) -> int:
    nested = replace(data.source, relation=f"({statement})")
    ((count,),) = read_rows(nested, "COUNT(*)", [column])
    return int(count)


def check_constants(data: Inspected, evaluated: list[str]) -> Iterator[Finding]:
    """Yield the columns with the same value in all rows, and those without any."""
    others = [f for f in data.facts.values() if f.name not in evaluated]
    for check, names in (
        ("constant", [f.name for f in others if f.is_constant]),
        ("empty", [f.name for f in others if f.rows and not f.present]),
    ):
        if names:
            more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield problem(f"{check} columns", None, ", ".join(names[:_SHOWN]) + more)
