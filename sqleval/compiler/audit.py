"""Turns the audit's counts into what the user reads: the SQL of ``_problems``.

The sentence is written by the statement itself, so whoever pastes the SQL into a
console sees the same words; the engine raises them.
"""

from collections.abc import Callable, Sequence

from sqleval.common.columns import Column, is_integer
from sqleval.common.sql_text import literal, present, quote, scalar, select
from sqleval.compiler.rows import (
    FINITE,
    OUTSIDE,
    class_value,
    internal_columns,
    positive_value,
    row_count,
    usable,
)
from sqleval.inputs.binding import ROLES, Binding


def audit(binding: Binding, origin: str, *, domain: bool, binned: bool = False) -> str:
    """Return the audit: per slice, the rows used and the rows that break a rule.

    Parameters
    ----------
    binding : Binding
        The bound input.
    origin : str
        ``_source``, or ``_grouped`` with its counts of rows.
    domain : bool
        Whether a metric cares if scores lie in 0 .. 1.
    binned : bool
        Whether rows of ``_grouped`` stand for different scores, of which they count those outside.
    """
    # Every aggregate here is paid for in planning time, so each is left out where it can be.
    size = "_rows" if origin == "_grouped" else row_count(binding) if binding.counted else "1"
    # A sum over no rows is NULL where a count is 0.
    total = "COUNT(*)" if size == "1" else f"COALESCE(SUM({size}), 0)"
    strict = binding.nulls == "error" and not binding.labels

    def count(*conditions: str, of: str = size) -> str:
        test = "\n    AND ".join(condition for condition in conditions if condition)
        return f"SUM(CASE WHEN {test} THEN {of} ELSE 0 END)" if test else f"SUM({of})"

    matched = "_side = 'both'" if binding.labels else ""
    sound = "" if strict else usable(binding)
    items = {key: key for key in binding.keys}
    items["_rows"] = total
    items["_used"] = total if strict else f"COALESCE({count(sound)}, 0)"
    if binding.labels:
        items["_unmatched"] = count("_side = 'row'")
    if binding.nulls == "error":
        whole = count(matched) if matched else total
        for name, role, column in internal_columns(binding):
            finite = role in FINITE or binding.task == "regression"
            known = present(name, column.type, finite=finite)
            items[f"{name}_missing"] = f"{whole} - {count(matched, known)}"
            if role == "count":
                items["count_missing"] = f"SUM(CASE WHEN {known} THEN 0 ELSE 1 END)"
    if binding.weighted:
        items["weight_negative"] = count("weight < 0")
    if binding.counted:
        items["count_wrong"] = "SUM(CASE WHEN count < 0 OR count <> FLOOR(count) THEN 1 ELSE 0 END)"
    if "role" in binding.role:
        known = ", ".join(literal(name) for name in ROLES)
        items["role_other"] = f"MIN(CASE WHEN role NOT IN ({known}) THEN role END)"
    if domain:
        scores = [name for name, role, _ in internal_columns(binding) if role == "score"]
        outside = " OR ".join(OUTSIDE.replace("score", name) for name in scores)
        of = "_outside" if binned else size
        items["score_outside"] = count(sound, f"({outside})" if not binned else "", of=of)
    if binding.task == "binary":
        for role in ("label", "prediction"):
            if role in binding.role:
                items |= _tells_two_values(binding, role, count)
    if binding.task == "multiclass" and binding.classes:
        known = ", ".join(scalar(value) for value, _ in binding.classes)
        unknown = f"{class_value(binding.role['label'], 'label')} NOT IN ({known})"
        items["label_unknown"] = count(sound, unknown)
        items["label_other"] = f"MIN(CASE WHEN {unknown} THEN label END)"
    group = "\nGROUP BY " + ", ".join(binding.keys) if binding.keys else ""
    where = "\nWHERE _side <> 'label'" if binding.labels else ""
    return select(items, f"FROM {origin}{where}{group}")


def _may_have_others(binding: Binding, column: Column) -> bool:
    """Whether a label may hold more than two values: a truth value cannot."""
    if not column.type:
        return not isinstance(binding.positive, bool)
    return column.kind != "boolean" or binding.positive is not None


def _tells_two_values(binding: Binding, role: str, count: Callable[..., str]) -> dict[str, str]:
    """Return what tells whether a label (or a prediction) has no more than two values."""
    kind = binding.role[role].type
    if not _may_have_others(binding, binding.role[role]):
        return {}
    if binding.positive is not None:
        other = f"CASE WHEN {role} <> {positive_value(binding, role)} THEN {role} END"
        return {f"{role}_low": f"MIN({other})", f"{role}_high": f"MAX({other})"}
    checks = {
        f"{role}_low": f"MIN({role})",
        f"{role}_high": f"MAX({role})",
        f"{role}_zeros": count(f"{role} = 0"),
    }
    if not is_integer(kind):
        known = present(role, kind, finite=False)
        checks[f"{role}_between"] = count(known, f"{role} NOT IN (-1, 0, 1)")
    return checks


_DROP = "; nulls='drop' (--nulls drop) leaves them out and counts them"
_SEVERAL = "task='multiclass' (--task multiclass) takes several classes"

_NOTHING = "CAST(NULL AS VARCHAR)"

#: A condition, and the SQL of the sentence to show when it holds.
Case = tuple[str, str]


def text(*parts: str | tuple[str]) -> str:
    """Concatenate literals and (in one-tuples) SQL expressions."""
    pieces = (literal(p) if isinstance(p, str) else f"CAST({p[0]} AS VARCHAR)" for p in parts)
    return f"CONCAT({', '.join(pieces)})"


def _overall(binding: Binding, aggregate: str, column: str) -> str:
    """Return an aggregate of a column of the audit, over all slices."""
    return f"{aggregate}({column})" if binding.keys else column


def _once(binding: Binding, count: str, *, own: bool = False) -> str:
    """Return a count of rows, each of which stands once a model and set of keys.

    With ``own`` it is of values that each model has of its own.
    """
    copies = max(len(binding.sets), 1) * (1 if own else max(len(binding.models), 1))
    return f"CAST({count} / {copies} AS BIGINT)" if copies > 1 else count


def _among(binding: Binding, column: str, role: str) -> tuple[str]:
    """Return SQL of "3 of 40 rows", or scores, where each model has its own."""
    own = bool(binding.models) and role == binding.model_role
    count, rows = (
        _once(binding, _overall(binding, "SUM", of), own=own) for of in (column, "_rows")
    )
    return (text((count,), " of ", (rows,), f" {role}s" if own else " rows"),)


def _called(binding: Binding, role: str, column: Column) -> str:
    """Return what a bound column is called; where each model has one, nobody knows which it is."""
    if not binding.models or role != binding.model_role:
        return f"{role}={column.name!r}"
    return f"{role}= of " + ", ".join(repr(each.name) for _, each in binding.models)


def _missing(binding: Binding) -> list[Case]:
    cases: list[Case] = []
    for name, role, column in internal_columns(binding):
        what = _called(binding, role, column)
        finite = binding.task == "regression" or role in FINITE
        bad = "NULL, NaN or infinite" if finite else "NULL or NaN"
        found = _among(binding, f"{name}_missing", role)
        test = f"{_overall(binding, 'SUM', f'{name}_missing')} > 0"
        cases.append((test, text(f"{what} is {bad} in ", found, _DROP)))
    return cases


def _two_values(binding: Binding, role: str) -> list[Case]:
    column = binding.role.get(role)
    if column is None or not _may_have_others(binding, column):
        return []
    low, high = _overall(binding, "MIN", f"{role}_low"), _overall(binding, "MAX", f"{role}_high")
    what = _called(binding, role, column)
    if binding.positive is not None:
        beside = f"{what} has more than two values: beside positive={binding.positive!r} there are "
        return [(f"{low} <> {high}", text(beside, (low,), " and ", (high,), f"; {_SEVERAL}"))]
    zeros = _overall(binding, "SUM", f"{role}_zeros")
    test = f"{low} < -1 OR {high} > 1 OR ({low} = -1 AND {zeros} > 0)"
    if not is_integer(column.type):
        test += f" OR {_overall(binding, 'SUM', f'{role}_between')} > 0"
    said = text(
        f"{what} must hold 0 and 1 (or -1 and 1); its values run from ",
        (low,),
        " to ",
        (high,),
        f"; positive= (--positive) names the positive value of two, {_SEVERAL}",
    )
    return [(test, said)]


def _classes(binding: Binding) -> list[Case]:
    column = binding.role["label"]
    known = ", ".join(repr(value) for value, _ in binding.classes)
    said = text(
        f"label={column.name!r} holds ",
        (_overall(binding, "MIN", "label_other"),),
        ", a class without a score column, in ",
        _among(binding, "label_unknown", "label"),
        f" (or others like it); score= names {known}",
    )
    return [(f"{_overall(binding, 'SUM', 'label_unknown')} > 0", said)]


def _domain(binding: Binding, needing: Sequence[str], defaulted: Sequence[str]) -> list[Case]:
    columns = ", ".join(repr(column.name) for column in binding.columns_of("score"))
    test = f"{_overall(binding, 'SUM', 'score_outside')} > 0"
    found = _among(binding, "score_outside", "score")
    cases: list[Case] = []
    if needing:
        who = f"{', '.join(needing)} {'needs' if len(needing) == 1 else 'need'} scores in 0 .. 1"
        cases.append((test, text(f"{who}; score={columns} is outside in ", found)))
    if defaulted:
        who = f"{', '.join(defaulted)}: the default threshold 0.5 is for scores in 0 .. 1"
        outside = f"{who}, and score={columns} is outside in "
        cases.append((test, text(outside, found, "; give threshold= (--threshold)")))
    return cases


def _weights(binding: Binding) -> list[Case]:
    what = f"weight={binding.role['weight'].name!r} is negative in "
    found = _among(binding, "weight_negative", "weight")
    test = f"{_overall(binding, 'SUM', 'weight_negative')} > 0"
    return [(test, text(what, found, "; weights are 0 or more"))]


def _counts(binding: Binding) -> list[Case]:
    count = _overall(binding, "SUM", "count_wrong")
    wrong = (_once(binding, count),)
    said = text("counts are whole numbers from 0 up, and ", wrong, " are not; use weight=")
    return [(f"{count} > 0", said)]


def _roles(binding: Binding) -> list[Case]:
    other = _overall(binding, "MIN", "role_other")
    what = f"role={binding.role['role'].name!r} holds '"
    known = ", ".join(ROLES)
    said = text(what, (other,), f"'; its values must be among {known}")
    return [(f"{other} IS NOT NULL", said)]


def _notice(binding: Binding, origin: str) -> str:
    if not binding.labels:
        return _NOTHING
    size = "COALESCE(SUM(_rows), 0)" if origin == "_grouped" else "COUNT(*)"
    # As many copies as there are of a row there are of a label that no row has.
    alone = f"(SELECT {size} FROM {origin} WHERE _side = 'label')"
    counts = (alone, _overall(binding, "SUM", "_unmatched"), _overall(binding, "SUM", "_rows"))
    alone, unmatched, rows = (_once(binding, count) for count in counts)
    said = text(
        "labels=: ", (unmatched,), " of ", (rows,),
        " rows have no label yet and are left out; ", (alone,), " labels match no row",
    )  # fmt: skip
    return f"CASE WHEN {unmatched} > 0 OR {alone} > 0 THEN {said} END"


def problems(
    binding: Binding,
    needing: Sequence[str],
    defaulted: Sequence[str],
    *,
    domain: bool,
    origin: str = "_source",
) -> str:
    """Return ``_problems``: one row with the first ``problem``, if any, and a ``notice``.

    Parameters
    ----------
    binding : Binding
        The bound input.
    needing : sequence of str
        Metrics asked for by name whose domain is scores in 0 .. 1.
    defaulted : sequence of str
        Metrics asked for by name that rely on the default threshold.
    domain : bool
        Whether the audit counted scores outside 0 .. 1.
    origin : str
        ``_source``, or ``_grouped`` with its counts of rows.
    """
    cases: list[Case] = []
    if binding.labels:
        key = f"l.{quote(binding.labels.on)}"
        again = f"(SELECT COUNT({key}) - COUNT(DISTINCT {key}) FROM _labels AS l)"
        said = text(f"labels= repeats keys: on={binding.labels.on!r} has ", (again,), " repeats")
        cases.append((f"{again} > 0", said))
    if binding.nulls == "error":
        cases += _missing(binding)
    if binding.weighted:
        cases += _weights(binding)
    if binding.counted:
        cases += _counts(binding)
    if "role" in binding.role:
        cases += _roles(binding)
    if binding.task == "binary":
        cases += _two_values(binding, "label")
        cases += _two_values(binding, "prediction")
    if binding.task == "multiclass" and binding.classes:
        cases += _classes(binding)
    if domain:
        cases += _domain(binding, needing, defaulted)
    return _verdict(binding, cases, _notice(binding, origin), domain=domain)


def of_domain(
    binding: Binding, needing: Sequence[str], defaulted: Sequence[str], *, domain: bool
) -> str:
    """Return ``_problems`` of rows that were judged before: what scores must be is left to ask."""
    cases = _domain(binding, needing, defaulted) if domain else []
    return _verdict(binding, cases, _NOTHING, domain=domain)


def _verdict(binding: Binding, cases: Sequence[Case], notice: str, *, domain: bool) -> str:
    problem = _NOTHING
    if cases:
        branches = "\n    ".join(f"WHEN {test}\n    THEN {said}" for test, said in cases)
        problem = f"CASE\n    {branches}\n  END"
    items = f"  {problem} AS problem,\n  {notice} AS notice"
    if domain:
        items += f",\n  {_overall(binding, 'SUM', 'score_outside')} AS score_outside"
    # Without an aggregate it would have a row for each slice.
    audited = "\nFROM _audit" if cases or notice != _NOTHING or domain else ""
    return f"SELECT\n{items}{audited}"
