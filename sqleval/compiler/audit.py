"""Writes the audit: counts of rows used and rows that break a rule, and the message about them.

The statement itself makes the message (``_problems``), so whoever pastes the SQL into a console
sees the same words; the frontend raises them as `DataError`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqleval.common.columns import Column, is_float, is_integer
from sqleval.common.sql_text import quote, select, write_literal, write_present_test
from sqleval.compiler.classes import write_class, write_class_value
from sqleval.compiler.rows import (
    FINITE,
    OUTSIDE,
    list_internal_columns,
    write_positive,
    write_row_count,
    write_usable,
)
from sqleval.inputs.binding import ROLES, Binding, name_argument


def write_audit(
    binding: Binding, origin: str, *, domain: bool, ci: bool = False, binned: bool = False
) -> str:
    """Return the SQL of ``_audit``: per slice, the rows used and the rows that break a rule.

    Parameters
    ----------
    binding : Binding
        The bound input.
    origin : str
        ``_source``, or ``_grouped`` with its counts of rows.
    domain : bool
        Whether to count scores outside 0 .. 1.
    ci : bool
        Whether to add up weights, as an interval takes them for counts of rows.
    binned : bool
        Whether rows of ``_grouped`` are score bins, which have the count ``_outside``.
    """
    # Every aggregate costs planning time, so each is left out where it is not needed.
    size = write_row_count(binding) if binding.has_counts else "1"
    if origin == "_grouped":
        size = "_rows"
    # A sum over no rows is NULL where a count is 0.
    total = "COUNT(*)" if size == "1" else f"COALESCE(SUM({size}), 0)"
    strict = binding.nulls == "error" and not binding.labels

    def count(*conditions: str, of: str = size) -> str:
        test = "\n    AND ".join(condition for condition in conditions if condition)
        return f"SUM(CASE WHEN {test} THEN {of} ELSE 0 END)" if test else f"SUM({of})"

    matched = "_side = 'both'" if binding.labels else ""
    usable = "" if strict else write_usable(binding)
    items = {key: key for key in binding.keys}
    items["_rows"] = total
    items["_used"] = total if strict else f"COALESCE({count(usable)}, 0)"
    if binding.labels:
        items["_unmatched"] = count("_side = 'row'")
    if binding.nulls == "error":
        whole = count(matched) if matched else total
        for name, role, column in list_internal_columns(binding):
            finite = role in FINITE or binding.task == "regression"
            is_present = write_present_test(name, column.type, finite=finite)
            items[f"{name}_missing"] = f"{whole} - {count(matched, is_present)}"
            if role == "count":
                items["count_missing"] = f"SUM(CASE WHEN {is_present} THEN 0 ELSE 1 END)"
    if binding.is_weighted:
        items["weight_negative"] = count("weight < 0")
        is_finite = write_present_test("weight", "DOUBLE", finite=True)
        items["weight_largest"] = f"MAX(CASE WHEN {is_finite} THEN weight END)"
    if binding.is_weighted and ci:
        each = "weight" if binned or size == "1" else f"weight * {size}"
        items["_weight_sum"] = count(write_usable(binding), of=each)
        items["_weight_rows"] = count(write_usable(binding), "weight > 0")
    if binding.has_counts:
        items["count_wrong"] = "SUM(CASE WHEN count < 0 OR count <> FLOOR(count) THEN 1 ELSE 0 END)"
    if "role" in binding.role:
        allowed = ", ".join(write_literal(name) for name in ROLES)
        items["role_other"] = f"MIN(CASE WHEN role NOT IN ({allowed}) THEN role END)"
    if domain:
        scores = [name for name, role, _ in list_internal_columns(binding) if role == "score"]
        outside = " OR ".join(OUTSIDE.replace("score", name) for name in scores)
        of = "_outside" if binned else size
        items["score_outside"] = count(usable, f"({outside})" if not binned else "", of=of)
    if binding.task == "binary":
        for role in ("label", "prediction"):
            if role in binding.role:
                items |= _audit_two_values(binding, role, count)
    if binding.task == "ranking":
        items["label_negative"] = count("label < 0")
    if binding.task == "multiclass" and binding.classes:
        label = binding.role["label"]
        classes = ", ".join(write_class_value(label, value) for value, _ in binding.classes)
        unknown = f"{write_class(label, 'label')} NOT IN ({classes})"
        items["label_unknown"] = count(usable, unknown)
        items["label_other"] = f"MIN(CASE WHEN {unknown} THEN label END)"
    group = "\nGROUP BY " + ", ".join(binding.keys) if binding.keys else ""
    where = "\nWHERE _side <> 'label'" if binding.labels else ""
    return select(items, f"FROM {origin}{where}{group}")


def _may_have_others(binding: Binding, column: Column) -> bool:
    """Whether a label may hold more than two values: a truth value cannot."""
    if not column.type:
        return not isinstance(binding.positive, bool)
    return column.kind != "boolean" or binding.positive is not None


def _audit_two_values(binding: Binding, role: str, count: Callable[..., str]) -> dict[str, str]:
    """Return the columns that show whether a label or prediction has at most two values."""
    kind = binding.role[role].type
    if not _may_have_others(binding, binding.role[role]):
        return {}
    # NaN would be the largest of the values; it is a missing one.
    is_present = write_present_test(role, kind, finite=False)
    if binding.positive is not None:
        is_other = f"{role} <> {write_positive(binding, role)}"
        is_other += f" AND {is_present}" if is_float(kind) else ""
        other = f"CASE WHEN {is_other} THEN {role} END"
        return {f"{role}_low": f"MIN({other})", f"{role}_high": f"MAX({other})"}
    value = f"CASE WHEN {is_present} THEN {role} END" if is_float(kind) else role
    checks = {
        f"{role}_low": f"MIN({value})",
        f"{role}_high": f"MAX({value})",
        f"{role}_zeros": count(f"{role} = 0"),
    }
    if not is_integer(kind):
        checks[f"{role}_between"] = count(is_present, f"{role} NOT IN (-1, 0, 1)")
    return checks


_DROP = "; nulls='drop' (--nulls drop) leaves them out and counts them"
_SEVERAL = "task='multiclass' (--task multiclass) takes several classes"

#: Between which ends the largest weight of a slice must be. Metrics multiply sums of weights, and
#: the product must not leave the range of DOUBLE. Small weights beside larger ones do no harm.
_WEIGHTS = ("1e-100", "1e100")

_NULL_TEXT = "CAST(NULL AS VARCHAR)"

#: A condition, and the SQL of the sentence to show when it holds.
Case = tuple[str, str]


def concatenate(*parts: str | tuple[str]) -> str:
    """Concatenate literals and (in one-tuples) SQL expressions."""
    pieces = (write_literal(p) if isinstance(p, str) else f"CAST({p[0]} AS VARCHAR)" for p in parts)
    return f"CONCAT({', '.join(pieces)})"


def _aggregate(binding: Binding, aggregate: str, column: str) -> str:
    """Return an aggregate of a column of the audit, over all slices."""
    return f"{aggregate}({column})" if binding.keys else column


def _divide_by_copies(binding: Binding, count: str, *, per_model: bool = False) -> str:
    """Return a count of source rows, which the statement repeats per model and set of keys.

    With ``per_model`` it counts values of the models' columns, which are not repeated per model.
    """
    copies = max(len(binding.sets), 1) * (1 if per_model else max(len(binding.models), 1))
    return f"CAST({count} / {copies} AS BIGINT)" if copies > 1 else count


def _write_share(binding: Binding, column: str, role: str) -> tuple[str]:
    """Return the SQL of "3 of 40 rows", or "3 of 40 scores" where each model has a column."""
    per_model = bool(binding.models) and role == binding.model_role
    count, rows = (
        _divide_by_copies(binding, _aggregate(binding, "SUM", of), per_model=per_model)
        for of in (column, "_rows")
    )
    return (concatenate((count,), " of ", (rows,), f" {role}s" if per_model else " rows"),)


def _describe_column(binding: Binding, role: str, column: Column) -> str:
    """Return a role and its column as a message names them; of several models, all columns."""
    if not binding.models or role != binding.model_role:
        return f"{name_argument(role)}={column.name!r}"
    return f"{role}= of " + ", ".join(repr(each.name) for _, each in binding.models)


def _check_missing(binding: Binding) -> list[Case]:
    cases: list[Case] = []
    for name, role, column in list_internal_columns(binding):
        what = _describe_column(binding, role, column)
        finite = binding.task == "regression" or role in FINITE
        bad = "NULL, NaN or infinite" if finite else "NULL or NaN"
        share = _write_share(binding, f"{name}_missing", role)
        test = f"{_aggregate(binding, 'SUM', f'{name}_missing')} > 0"
        cases.append((test, concatenate(f"{what} is {bad} in ", share, _DROP)))
    return cases


def _check_two_values(binding: Binding, role: str) -> list[Case]:
    column = binding.role.get(role)
    if column is None or not _may_have_others(binding, column):
        return []
    low, high = (
        _aggregate(binding, "MIN", f"{role}_low"),
        _aggregate(binding, "MAX", f"{role}_high"),
    )
    what = _describe_column(binding, role, column)
    if binding.positive is not None:
        others = f" beside positive={binding.positive_as_written}: is that spelled as in the data? "
        sentence = concatenate(f"{what} holds ", (low,), " and ", (high,), others + _SEVERAL)
        return [(f"{low} <> {high}", sentence)]
    zeros = _aggregate(binding, "SUM", f"{role}_zeros")
    test = f"{low} < -1 OR {high} > 1 OR ({low} = -1 AND {zeros} > 0)"
    if not is_integer(column.type):
        test += f" OR {_aggregate(binding, 'SUM', f'{role}_between')} > 0"
    sentence = concatenate(
        f"{what} must hold 0 and 1 (or -1 and 1); its values run from ",
        (low,),
        " to ",
        (high,),
        f"; positive= (--positive) names the positive value of two, {_SEVERAL}",
    )
    return [(test, sentence)]


def _check_classes(binding: Binding) -> list[Case]:
    column = binding.role["label"]
    classes = ", ".join(repr(value) for value, _ in binding.classes)
    sentence = concatenate(
        f"label={column.name!r} holds ",
        (_aggregate(binding, "MIN", "label_other"),),
        ", a class without a score column, in ",
        _write_share(binding, "label_unknown", "label"),
        f" (or others like it); score= names {classes}",
    )
    return [(f"{_aggregate(binding, 'SUM', 'label_unknown')} > 0", sentence)]


@dataclass
class DomainChecks:
    """Why the audit counts scores outside 0 .. 1.

    Attributes
    ----------
    of_probabilities : list of str
        Metrics asked for by name that are defined for scores in 0 .. 1 only.
    at_default_threshold : list of str
        Metrics asked for by name that use the default threshold 0.5.
    has_guards : bool
        Whether a metric of the default set is left out where scores are outside.
    has_remarks : bool
        Whether a metric's note depends on it.
    """

    of_probabilities: list[str] = field(default_factory=list[str])
    at_default_threshold: list[str] = field(default_factory=list[str])
    has_guards: bool = False
    has_remarks: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether scores outside 0 .. 1 change the result or refuse it."""
        names = self.of_probabilities or self.at_default_threshold
        return bool(names or self.has_guards or self.has_remarks)


def _check_domain(binding: Binding, checks: DomainChecks) -> list[Case]:
    columns = ", ".join(map(repr, binding.score_names))
    test = f"{_aggregate(binding, 'SUM', 'score_outside')} > 0"
    share = _write_share(binding, "score_outside", "score")
    cases: list[Case] = []
    if names := checks.of_probabilities:
        who = f"{', '.join(names)} {'needs' if len(names) == 1 else 'need'} scores in 0 .. 1"
        cases.append((test, concatenate(f"{who}; score={columns} is outside in ", share)))
    if names := checks.at_default_threshold:
        who = f"{', '.join(names)}: the default threshold 0.5 is for scores in 0 .. 1"
        outside = f"{who}, and score={columns} is outside in "
        cases.append((test, concatenate(outside, share, "; give threshold= (--threshold)")))
    return cases


def _check_relevance(binding: Binding) -> list[Case]:
    column = binding.role["label"]
    what = f"label={column.name!r} is negative in "
    share = _write_share(binding, "label_negative", "label")
    test = f"{_aggregate(binding, 'SUM', 'label_negative')} > 0"
    return [(test, concatenate(what, share, "; relevance is 0 or more"))]


def _check_weights(binding: Binding) -> list[Case]:
    name = f"weight={binding.role['weight'].name!r}"
    share = _write_share(binding, "weight_negative", "weight")
    test = f"{_aggregate(binding, 'SUM', 'weight_negative')} > 0"
    low, high = _WEIGHTS
    positive = "CASE WHEN weight_largest > 0 THEN weight_largest END"
    least, most = _aggregate(binding, "MIN", positive), _aggregate(binding, "MAX", positive)
    what = f"the largest value of {name} is "
    place = " in a slice" if binding.keys else ""
    advice = f"{place}; it must be in {low} .. {high}, as products of weights must not overflow; "
    advice += "divide all weights by one number"
    return [
        (test, concatenate(f"{name} is negative in ", share, "; weights are 0 or more")),
        (f"{least} < {low}", concatenate(what, (least,), advice)),
        (f"{most} > {high}", concatenate(what, (most,), advice)),
    ]


def _check_counts(binding: Binding) -> list[Case]:
    count = _aggregate(binding, "SUM", "count_wrong")
    violations = (_divide_by_copies(binding, count),)
    sentence = concatenate(
        f"the counts in {binding.role['count'].name!r} must be whole numbers from 0 up; another "
        "number is in ", violations, " of the rows; weight= (--weight) takes any number",
    )  # fmt: skip
    return [(f"{count} > 0", sentence)]


def _check_roles(binding: Binding) -> list[Case]:
    other = _aggregate(binding, "MIN", "role_other")
    what = f"role={binding.role['role'].name!r} holds '"
    allowed = ", ".join(ROLES)
    sentence = concatenate(what, (other,), f"'; its values must be among {allowed}")
    return [(f"{other} IS NOT NULL", sentence)]


def _write_notice(binding: Binding, origin: str) -> str:
    if not binding.labels:
        return _NULL_TEXT
    size = "COALESCE(SUM(_rows), 0)" if origin == "_grouped" else "COUNT(*)"
    # A label without a row is repeated as often as a row is.
    alone = f"(SELECT {size} FROM {origin} WHERE _side = 'label')"
    # A sum over no rows is NULL where a count is 0.
    sums = (
        f"COALESCE({_aggregate(binding, 'SUM', column)}, 0)" for column in ("_unmatched", "_rows")
    )
    alone, unmatched, rows = (_divide_by_copies(binding, count) for count in (alone, *sums))
    sentence = concatenate(
        "labels=: ", (unmatched,), " of ", (rows,),
        " rows have no label yet and are left out; ", (alone,), " labels match no row",
    )  # fmt: skip
    return f"CASE WHEN {unmatched} > 0 OR {alone} > 0 THEN {sentence} END"


def write_problems(binding: Binding, checks: DomainChecks, origin: str = "_source") -> str:
    """Return the SQL of ``_problems``: one row with the first ``problem`` and the ``notice``.

    Parameters
    ----------
    binding : Binding
        The bound input.
    checks : DomainChecks
        Why scores outside 0 .. 1 were counted.
    origin : str
        ``_source``, or ``_grouped`` with its counts of rows.
    """
    cases: list[Case] = []
    if binding.labels:
        key = f"l.{quote(binding.labels.on)}"
        again = f"(SELECT COUNT({key}) - COUNT(DISTINCT {key}) FROM _labels AS l)"
        sentence = concatenate(
            f"labels= repeats keys: on={binding.labels.on!r} has ", (again,),
            " repeats; a key may have one label",
        )  # fmt: skip
        cases.append((f"{again} > 0", sentence))
    if binding.nulls == "error":
        cases += _check_missing(binding)
    if binding.is_weighted:
        cases += _check_weights(binding)
    if binding.has_counts:
        cases += _check_counts(binding)
    if "role" in binding.role:
        cases += _check_roles(binding)
    if binding.task == "ranking":
        cases += _check_relevance(binding)
    if binding.task == "binary":
        cases += _check_two_values(binding, "label")
        cases += _check_two_values(binding, "prediction")
    if binding.task == "multiclass" and binding.classes:
        cases += _check_classes(binding)
    cases += _check_domain(binding, checks)
    notice = _write_notice(binding, origin)
    return _write_first_problem(binding, cases, notice, domain=checks.is_needed)


def write_domain_problems(binding: Binding, checks: DomainChecks) -> str:
    """Return ``_problems`` of a state, whose rows were audited before: only scores are checked."""
    cases = _check_domain(binding, checks)
    return _write_first_problem(binding, cases, _NULL_TEXT, domain=checks.is_needed)


def _write_first_problem(
    binding: Binding, cases: Sequence[Case], notice: str, *, domain: bool
) -> str:
    problem = _NULL_TEXT
    if cases:
        branches = "\n    ".join(f"WHEN {test}\n    THEN {sentence}" for test, sentence in cases)
        problem = f"CASE\n    {branches}\n  END"
    items = f"  {problem} AS problem,\n  {notice} AS notice"
    if domain:
        items += f",\n  {_aggregate(binding, 'SUM', 'score_outside')} AS score_outside"
    # Without an aggregate there would be a row for each slice.
    audited = "\nFROM _audit" if cases or notice != _NULL_TEXT or domain else ""
    return f"SELECT\n{items}{audited}"
