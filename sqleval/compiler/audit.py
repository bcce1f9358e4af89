"""Writes the audit: counts of rows used and of rows that break a rule. `problems` words them."""

from collections.abc import Callable
from functools import partial

from sqleval.binding.binding import Binding
from sqleval.binding.many_labels import ROW
from sqleval.catalog.roles import ROLES, must_be_finite
from sqleval.common.columns import FRACTIONS, TEXTS, Column, is_float, is_integer
from sqleval.common.sql_text import write_literal, write_present_test
from sqleval.compiler.classes import write_class, write_class_value, write_sum_test
from sqleval.compiler.late_labels import write_rows_only
from sqleval.compiler.model_rows import is_computed, write_role_test
from sqleval.compiler.rows import (
    OUTSIDE,
    list_internal_columns,
    may_be_missing,
    write_positive,
    write_row_count,
    write_usable,
)
from sqleval.compiler.weights import audit_weights

#: The counts of items with a NULL that is not a missing value, each with its role.
UNKNOWN = {"_not_retrieved": "score", "_not_judged": "label"}


def write_audit(
    binding: Binding, origin: str, *, domain: bool, ci: bool = False, binned: bool = False
) -> tuple[dict[str, str], str]:
    """Return the SQL of ``_audit``: per slice, the rows used and the rows that break a rule.

    The first part has the columns by name, the second one the rest of the SELECT, beginning with
    FROM.

    Parameters
    ----------
    binding : Binding
        The bound input.
    origin : str
        ``_source``, or ``_grouped`` with its counts of rows.
    domain : bool
        Whether to count scores outside 0 .. 1.
    ci : bool
        Whether to add up weights and their squares, for the note on intervals.
    binned : bool
        Whether rows of ``_grouped`` are score bins, which have the count ``_outside``.
    """
    # Every aggregate costs planning time, so only the needed ones are written.
    size = write_row_count(binding) if binding.has_counts else "1"
    size = "_rows" if origin == "_grouped" else size
    strict = binding.nulls == "error" and not binding.labels
    usable, count = "" if strict else write_usable(binding), partial(_count, size)
    # Over no rows a SUM is NULL, and a COUNT is 0.
    total = "COUNT(*)" if size == "1" else f"COALESCE(SUM({size}), 0)"
    items = {key: key for key in binding.keys}
    items |= {"_rows": total, "_used": total if strict else f"COALESCE({count(usable)}, 0)"}
    items |= _audit_missing(binding, total, count)
    items |= _audit_sizes(binding, is_grouped=origin == "_grouped", ci=ci)
    items |= _audit_allowed(binding, count)
    if domain:
        scores = [name for name, role, _ in list_internal_columns(binding) if role == "score"]
        outside = " OR ".join(OUTSIDE.replace("score", name) for name in scores)
        of = "_outside" if binned else size
        items["score_outside"] = _count(of, usable, "" if binned else f"({outside})")
    items |= _audit_values(binding, usable, count)
    if binding.many is not None and has_key(binding):
        row = f"CASE WHEN {usable} THEN query END" if usable else "query"
        labels = len(binding.many.names)
        items["row_again"] = f"COUNT({row}) - {labels} * COUNT(DISTINCT {row})"
    listed = f"SELECT DISTINCT label AS _label_class FROM {origin} WHERE label IS NOT NULL"
    join = f"\nLEFT JOIN ({listed}) AS k ON prediction = _label_class"
    classes = join if has_other_types(binding) else ""
    group = "\nGROUP BY " + ", ".join(binding.keys) if binding.keys else ""
    return items, f"FROM {origin}{classes}{write_rows_only(binding)}{group}"


def has_key(binding: Binding) -> bool:
    """Whether a column of the user tells rows of many labels apart, within a slice.

    Folds of ``over=`` may each have the same rows.
    """
    row = binding.many.row if binding.many else None
    return row is not None and row.name != ROW and not binding.over


def _count(size: str, *conditions: str) -> str:
    """Return the SQL that counts rows which meet conditions; each counts as its size."""
    test = "\n    AND ".join(condition for condition in conditions if condition)
    return f"SUM(CASE WHEN {test} THEN {size} ELSE 0 END)" if test else f"SUM({size})"


def _audit_missing(binding: Binding, total: str, count: Callable[..., str]) -> dict[str, str]:
    """Return the columns that count rows without a label, and values that are missing."""
    items = {"_unmatched": count("_side = 'row'")} if binding.labels else {}
    if binding.nulls != "error":
        return items
    matched = "_side = 'both'" if binding.labels and not binding.has_queries else ""
    whole = count(matched) if matched else total
    for name, role, column in list_internal_columns(binding):
        if not may_be_missing(binding, role, column):
            continue
        is_present = write_role_test(binding, name, role, column)
        items[f"{name}_missing"] = f"{whole} - {count(matched, is_present)}"
        if role == "count":
            items["count_missing"] = f"SUM(CASE WHEN {is_present} THEN 0 ELSE 1 END)"
    return items


def _audit_sizes(binding: Binding, *, is_grouped: bool, ci: bool) -> dict[str, str]:
    """Return the columns about the sizes of rows: weights and counts."""
    items: dict[str, str] = {}
    if binding.is_weighted:
        is_finite = write_present_test("weight", "DOUBLE", finite=True)
        items["weight_largest"] = f"MAX(CASE WHEN {is_finite} THEN weight END)"
        sums = audit_weights(write_usable(binding), binned=is_grouped) if ci else {}
        if binding.many is not None:  # each label of a row has its weight
            count = f"{len(binding.many.names)}e0"
            sums = {n: s if "least" in n else f"({s}) / {count}" for n, s in sums.items()}
        items |= sums
    if binding.has_counts:
        items["count_wrong"] = "SUM(CASE WHEN count < 0 OR count <> FLOOR(count) THEN 1 ELSE 0 END)"
    return items


def write_wrong_value(role: str, column: Column) -> str | None:
    """Return the SQL test of a value that a role does not allow, by the table of roles.

    None where any value of the column's type is allowed. Labels and predictions are checked by
    their task, and counts together with their sign.
    """
    facts = ROLES[role]
    if facts.allowed:
        return f"{role} NOT IN ({', '.join(map(write_literal, facts.allowed))})"
    test = facts.value_facts.wrong.format(role)
    if not test or role == "count" or column.kind == "boolean":
        return None
    # NaN counts as missing, not as wrong.
    is_present = write_present_test(role, column.type, finite=must_be_finite(role))
    return f"{is_present} AND ({test})" if is_float(column.type) else test


def is_refused_below_zero(role: str) -> bool:
    """Whether a role's negative values have their own count; negative ``count`` values do not."""
    return not ROLES[role].may_be_negative and role != "count"


def _audit_allowed(binding: Binding, count: Callable[..., str]) -> dict[str, str]:
    """Return the columns that show values which the table of roles does not allow."""
    items: dict[str, str] = {}
    for role, column in binding.role.items():
        if is_refused_below_zero(role):
            items[f"{role}_negative"] = count(f"{role} < 0")
        if (test := write_wrong_value(role, column)) is not None:
            items |= {} if ROLES[role].allowed else {f"{role}_wrong": count(test)}
            items[f"{role}_other"] = f"MIN(CASE WHEN {test} THEN {role} END)"
    return items


def _audit_values(binding: Binding, usable: str, count: Callable[..., str]) -> dict[str, str]:
    """Return the columns that show labels and predictions which do not fit the task."""
    items: dict[str, str] = {}
    if binding.has_two_classes:
        for role in ("label", "prediction"):
            if role in binding.role:
                items |= _audit_two_values(binding, role, count)
    if binding.has_queries:
        items["label_negative"] = count("label < 0")
        for name, role in UNKNOWN.items():
            if role in binding.role:
                items[name] = count(usable, f"{role} IS NULL")
        items |= {"_added": count(usable, "_side = 'label'")} if binding.adds_items else {}
    if binding.has_several_classes and binding.classes:
        label = binding.role["label"]
        classes = ", ".join(write_class_value(label, value) for value, _ in binding.classes)
        unknown = f"{write_class(label, 'label')} NOT IN ({classes})"
        items["label_unknown"] = count(usable, unknown)
        items["label_other"] = f"MIN(CASE WHEN {unknown} THEN label END)"
        items["_sums_off"] = count(usable, write_sum_test(binding))
    for role in list_fractional(binding):
        is_fraction = f"{role} LIKE '%.%'"
        items[f"{role}_fractions"] = count(usable, is_fraction)
        items[f"{role}_fraction"] = f"MIN(CASE WHEN {is_fraction} THEN {role} END)"
    if has_other_types(binding):
        alone = "_label_class IS NULL"
        items["prediction_alone"] = count(write_usable(binding), alone)
        items["prediction_other"] = f"MIN(CASE WHEN {alone} THEN prediction END)"
    return items


def has_other_types(binding: Binding) -> bool:
    """Whether texts are compared with numbers or truth values, so that classes may differ."""
    pair = [binding.role[role] for role in ("label", "prediction") if role in binding.role]
    is_mixed = any((each.kind_stored in TEXTS) != (pair[0].kind_stored in TEXTS) for each in pair)
    return binding.has_several_classes and pair[0].form is not None and is_mixed


def list_fractional(binding: Binding) -> list[str]:
    """Return the roles whose first values are whole classes, while later ones may be fractions."""
    if not binding.has_several_classes or not binding.is_inferred:
        return []
    roles = ("label", "prediction")
    return [r for r in roles if r in binding.role and binding.role[r].kind_stored in FRACTIONS]


def may_have_others(binding: Binding, role: str) -> bool:
    """Whether a label may hold more than two values: a truth value cannot."""
    column = binding.role[role]
    if is_computed(binding, role):
        return False
    if not column.type:
        return not isinstance(binding.positive, bool)
    return column.kind != "boolean" or binding.positive is not None


def _audit_two_values(binding: Binding, role: str, count: Callable[..., str]) -> dict[str, str]:
    """Return the columns that show whether a label or prediction has at most two values."""
    kind = binding.role[role].type
    if not may_have_others(binding, role):
        return {}
    # Leave out NaN, which counts as missing but would be the largest value.
    is_present = write_present_test(role, kind, finite=False)
    if binding.positive is not None:
        is_other = f"{role} <> {write_positive(binding, role)}"
        is_other += f" AND {is_present}" if is_float(kind) else ""
        other = f"CASE WHEN {is_other} THEN {role} END"
        return {f"{role}_low": f"MIN({other})", f"{role}_high": f"MAX({other})"}
    # Two comparisons take two thirds of the time of an IN list.
    is_other = f"{role} < -1 OR {role} > 1"
    if not is_integer(kind):
        is_other = f"{role} NOT IN (-1, 0, 1)" + (f" AND {is_present}" if is_float(kind) else "")
    return {
        f"{role}_others": count(is_other),
        f"{role}_other": f"MAX(CASE WHEN {is_other} THEN {role} END)",
        f"{role}_zeros": count(f"{role} = 0"),
        f"{role}_low": f"MIN({role})",
    }
