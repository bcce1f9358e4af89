"""Checks the columns in their roles: missing values, classes, scores, keys."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqleval.binding.vectors import find_vector
from sqleval.catalog.roles import ROLES
from sqleval.common.columns import is_float, is_number
from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import write_name, write_scalar
from sqleval.inspection.columns import Facts, read_rows, shorten_type
from sqleval.inspection.command import quote_word
from sqleval.inspection.data import Inspection, list_nested
from sqleval.inspection.findings import (
    Finding,
    format_number,
    format_share,
    list_first,
    problem,
)
from sqleval.inspection.number_texts import read_number_texts, write_csv_options

#: The number of label values that are listed; further ones are counted.
_SHOWN = 12
#: A class with fewer labels than this gives wide intervals.
_FEW = 30


def list_evaluated(data: Inspection) -> list[str]:
    """Return the columns that an evaluation reads, in which a NULL matters."""
    single = [data.single.get(role) for role, facts in ROLES.items() if not facts.is_key]
    columns = [*single, *data.scores.values(), *data.predictions.values()]
    if data.shape is not None:
        columns += [name for name in data.shape.columns if name in data.columns]
    return list(dict.fromkeys(name for name in columns if name is not None))


def check_missing(facts: Facts, where: str | None = None) -> Iterator[Finding]:
    """Yield the numbers of NULL, NaN and infinite values of a column.

    The advice against NaN is the condition ``where``.
    """
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


def check_classes(data: Inspection, label: Facts) -> Iterator[Finding]:
    """Yield the classes of a label, or its range."""
    counts = data.classes
    if not counts or not data.task_facts.has_classes:
        return
    advice = None
    if len(counts) == 1:
        advice = "one class only: metrics that need both classes are NULL"
    elif len(counts) == 2 and not any({*counts} <= each for each in ({0, 1}, {-1, 1})):
        advice = f"name the positive value: --positive {shlex.quote(str(data.positive_value))}"
    elif 2 < len(counts) <= _SHOWN and not data.has_classes and data.scores:
        one = quote_word(f"{write_name(label.name)} = {write_scalar(next(iter(counts)))}")
        advice = f"a score for each class: --score CLASS=COLUMN; or one class: --label {one}"
    elif len(counts) <= _SHOWN and min(counts.values()) < _FEW and label.rows > 2 * _FEW:
        advice = "few rows of a class: intervals are wide, --ci 0.95 shows them"
    is_problem = advice is not None and not advice.startswith("name the positive")
    shown = list_first([f"{value!s}: {n:,}" for value, n in counts.items()], ", ...", _SHOWN)
    yield Finding("classes", label.name, shown, advice, "problem" if is_problem else "role")


def check_score_type(data: Inspection, facts: Facts) -> Iterator[Finding]:
    """Yield the type of a score that is not a number."""
    if facts.name in list_nested(data):
        first = quote_word(f"{write_name(facts.name)}[1]")
        advice = f"a list needs a number for each class of the label; one number: --score {first}"
        yield problem("score type", facts.name, shorten_type(facts), advice)
    elif not is_number(facts.column.type) and facts.column.kind != "boolean":
        column = write_name(facts.name)
        number = f"CAST({column} AS DOUBLE) AS {column}"
        advice = f'--query "SELECT * REPLACE ({number}) FROM ..."'
        is_text = facts.column.kind == "text"
        for texts in read_number_texts(data, [facts] if is_text else []):
            advice = write_csv_options(texts.options) or advice
        yield problem("score type", facts.name, facts.column.type, advice)


def check_prediction_type(data: Inspection, facts: Facts) -> Iterator[Finding]:
    """Yield the type of a prediction that is a list or a struct."""
    if facts.name in list_nested(data):
        is_vector = find_vector(facts.name, facts.column) is not None
        score = f"numbers of classes are a score: --score {quote_word(facts.name)}"
        advice = score if is_vector else "a prediction is one class or number"
        yield problem("prediction type", facts.name, shorten_type(facts), advice)


def check_score_range(data: Inspection, facts: Facts) -> Iterator[Finding]:
    """Yield a score that is constant, or that is no probability."""
    low, high, name = facts.low, facts.high, facts.name
    if low is None or not is_number(facts.column.type):
        return
    if low == high:
        advice = "every rank metric is that of chance; look at the model or the column"
        yield problem("constant score", name, str(low), advice)
    elif low < 0 or high > 1:
        is_between = f"({facts.value} >= 0 AND {facts.value} <= 1)"
        condition = f"{facts.write_test(finite=True)} AND NOT {is_between}"
        (outside,) = _count(data, [name], condition)
        share = f"{outside:,} of {format_row_count(facts.rows)} outside 0 .. 1"
        advice = "no probability: give --threshold T; log_loss and brier_score do not apply"
        if 0 < outside < 0.01 * facts.rows:
            advice = "few rows: probably errors; otherwise give --threshold T"
        span = f"{format_number(low)} to {format_number(high)}"
        yield problem("score range", name, f"{share} ({span})", advice)


def check_auc(data: Inspection, label: Facts, score: Facts) -> Iterator[Finding]:
    """Yield the ROC AUC of a score, with advice if it is nearly 1 (a leak) or below 0.5."""
    name, auc = score.name, data.aucs.get(score.name)
    if auc is not None and auc.error:
        yield problem("roc_auc", name, "cannot be computed", auc.error)
    if auc is None or auc.value is None or auc.high is None:
        return
    shown = f"{auc.value:.6f}"
    if auc.value >= 0.999:
        advice = "the score separates the classes: is it computed from the label, a leak?"
        yield problem("roc_auc", name, shown, advice)
    elif auc.high < 0.5 or auc.value == 0:
        other = next((v for v in data.classes if v != data.positive_value), "VALUE")
        positive, negative = _compare_means(data, label, score)
        advice = (
            f"the score or the positive class is inverted: its mean is {positive} for positives, "
            f"{negative} for negatives; --positive {shlex.quote(str(other))}, or negate it with "
            f'--query "SELECT *, -{write_name(name)} AS negated FROM ..."'
        )
        yield problem("roc_auc", name, shown, advice)
    else:
        yield Finding("roc_auc", name, shown, None, "role")


def _compare_means(data: Inspection, label: Facts, score: Facts) -> tuple[str, str]:
    """Return the mean scores of positives and of negatives."""
    are_known = f"{score.write_test(finite=True)} AND {label.write_test(finite=False)}"
    is_positive = f"{label.value} = {write_scalar(data.positive_value)}"
    parts = [
        f"AVG(CASE WHEN {are_known} AND {test} THEN CAST({score.value} AS DOUBLE) END)"
        for test in (is_positive, f"NOT ({is_positive})")
    ]
    ((first, second),) = read_rows(data.source, ", ".join(parts), [label.name, score.name])
    return format_number(first), format_number(second)


def check_equal(data: Inspection, label: Facts, column: Facts) -> Iterator[Finding]:
    """Yield a score or prediction that equals the label in every row."""
    both = is_number(label.column.type) and is_number(column.column.type)
    if column.name == label.name or not (both or label.column.type == column.column.type):
        return
    left, right = label.value, column.value
    tests = (f"{left} IS NOT NULL AND {right} IS NOT NULL", f"{left} = {right}")
    together, same = _count(data, [label.name, column.name], *tests)
    if together and same >= 0.999 * together and label.distinct > 1:
        share = format_share(same, together)
        advice = "a copy of the label is not a prediction: a leak, or the wrong column"
        yield problem("equals the label", column.name, f"in {share} of the rows", advice)


def check_key(data: Inspection, key: Facts, *, is_given: bool) -> Iterator[Finding]:
    """Yield the number of repeated keys.

    In sources of many rows, repeats are counted only if the user gave the key: counting takes as
    long as all other checks together, and memory for each key.
    """
    if not key.is_exact and not is_given:
        yield Finding("duplicate keys", key.name, "not counted", f"--key {key.name}", "role")
        return
    if key.is_exact and not is_float(key.column.type):
        again = key.present - key.distinct
    else:
        # GROUP BY, not COUNT(DISTINCT): the engine can spill groups to disk.
        inside = (
            f"SELECT {key.value} FROM {data.source.relation} AS s WHERE {key.value} IS NOT NULL"
        )
        nested = replace(data.source, relation=f"({inside} GROUP BY {key.value})")
        ((distinct,),) = read_rows(nested, "COUNT(*)", [key.name])
        again = key.present - distinct
    advice = f'--query "SELECT DISTINCT ON ({write_name(key.name)}) * FROM ..." keeps one row a key'
    if again:
        yield problem("duplicate keys", key.name, f"{again:,}", advice)
    else:
        yield Finding("duplicate keys", key.name, "0", None, "role")


def _count(data: Inspection, columns: Sequence[str], *conditions: str) -> Sequence[int]:
    """Return the number of rows that meet each condition."""
    counts = ", ".join(f"COUNT(CASE WHEN {each} THEN 1 END)" for each in conditions)
    return read_rows(data.source, counts, columns)[0]


def check_constants(data: Inspection, evaluated: list[str]) -> Iterator[Finding]:
    """Yield the columns with one value in all rows, and the columns without values."""
    others = [f for f in data.columns.values() if f.name not in evaluated]
    for check, names in (
        ("constant", [f.name for f in others if f.is_constant]),
        ("empty", [f.name for f in others if f.rows and not f.present]),
    ):
        if names:
            yield problem(f"{check} columns", None, list_first(names, most=_SHOWN))
