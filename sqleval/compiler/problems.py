"""Writes the findings of the audit as sentences: the problem of the rows, or a notice.

The statement itself writes the message, in ``_audit`` or ``_problems``, so that SQL in a console
shows the same words. The frontend raises a problem as `DataError`.
"""

from sqleval.binding.binding import Binding
from sqleval.catalog.roles import ROLES, must_be_finite, name_argument
from sqleval.common.columns import Column, is_float
from sqleval.common.sql_text import write_literal
from sqleval.compiler.audit import (
    has_key,
    has_other_types,
    is_refused_below_zero,
    list_fractional,
    may_have_others,
    write_wrong_value,
)
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.late_labels import count_repeats, write_unequal_counts
from sqleval.compiler.rows import list_internal_columns, may_be_missing

_DROP = "; nulls='drop' (--nulls drop) leaves them out and counts them"
_SEVERAL = "task='multiclass' (--task multiclass) takes several classes"

#: The least and the greatest allowed value of a slice's largest weight: products of sums of weights
#: must stay within the range of DOUBLE. Smaller weights do no harm.
_WEIGHTS = ("1e-100", "1e100")

NULL_TEXT = "CAST(NULL AS VARCHAR)"

#: The error of states that hold a query several times; the number of queries precedes it.
DIVIDED = (
    "queries are there several times in the states, slices or periods that are put together: the "
    "metrics of a query cannot be computed from parts of its rows; keep the keys that tell them "
    "apart in by= (--by), and read each state once"
)

#: A condition, and the SQL of the sentence to show when it holds.
Case = tuple[str, str]


def concatenate(*parts: str | tuple[str]) -> str:
    """Concatenate literals and (in one-tuples) SQL expressions."""
    pieces = (write_literal(p) if isinstance(p, str) else f"CAST({p[0]} AS VARCHAR)" for p in parts)
    return f"CONCAT({', '.join(pieces)})"


def aggregate_counts(binding: Binding, aggregate: str, column: str) -> str:
    """Return an aggregate of an audit column over the slices that share a problem."""
    return f"{aggregate}({column})" if binding.keys else column


def _divide_by_copies(binding: Binding, count: str, *, per_model: bool = False) -> str:
    """Divide a count by the copies of a source row: one per model and set of keys.

    With ``per_model`` it counts values of the models' columns, which differ between models.
    """
    copies = max(len(binding.sets), 1) * (1 if per_model else max(len(binding.models), 1))
    if binding.many is not None:
        return f"CAST(CEIL({count} / {copies * len(binding.many.names)}e0) AS BIGINT)"
    return f"CAST({count} / {copies} AS BIGINT)" if copies > 1 else count


def _is_of_model(binding: Binding, role: str) -> bool:
    """Whether each model has its own column of a role."""
    of_scores = role == "prediction" and bool(binding.predictions)
    return bool(binding.models) and (role == binding.model_role or of_scores)


def _write_share(binding: Binding, column: str, role: str) -> tuple[str]:
    """Return the SQL of "3 of 40 rows", or "3 of 40 scores" where each model has a column."""
    per_model = _is_of_model(binding, role)
    count, rows = (
        _divide_by_copies(binding, aggregate_counts(binding, "SUM", of), per_model=per_model)
        for of in (column, "_rows")
    )
    return (concatenate((count,), " of ", (rows,), f" {role}s" if per_model else " rows"),)


def _describe_column(binding: Binding, role: str, column: Column) -> str:
    """Return the words for a role and its column; for several models, all their columns."""
    if not _is_of_model(binding, role):
        return f"{name_argument(role)}={column.name!r}"
    if role != binding.model_role:
        return f"{role}= of " + ", ".join(repr(each.name) for each in binding.predictions)
    place = [each for _, each in binding.classes].index(column) if binding.classes else 0
    return f"{role}= of " + ", ".join(repr(each[place].name) for _, each in binding.models)


def _check_missing(binding: Binding) -> list[Case]:
    cases: list[Case] = []
    for name, role, column in list_internal_columns(binding):
        if not may_be_missing(binding, role, column):
            continue
        what = _describe_column(binding, role, column)
        finite = binding.has_values or must_be_finite(role)
        bad = "NULL, NaN or infinite" if finite else "NULL or NaN"
        bad = "NaN" if role in binding.facts.may_be_null else bad
        share = _write_share(binding, f"{name}_missing", role)
        test = f"{aggregate_counts(binding, 'SUM', f'{name}_missing')} > 0"
        cases.append((test, concatenate(f"{what} is {bad} in ", share, _DROP)))
    return cases


def _check_two_values(binding: Binding, role: str) -> list[Case]:
    column = binding.role.get(role)
    if column is None or not may_have_others(binding, role):
        return []
    what = _describe_column(binding, role, column)
    if binding.positive is not None:
        low, high = (
            aggregate_counts(binding, "MIN", f"{role}_low"),
            aggregate_counts(binding, "MAX", f"{role}_high"),
        )
        others = f" beside positive={binding.positive_as_written}: is that spelled as in the data? "
        sentence = concatenate(f"{what} holds ", (low,), " and ", (high,), others + _SEVERAL)
        return [(f"{low} <> {high}", sentence)]
    zeros, others = (
        aggregate_counts(binding, "SUM", f"{role}_{name}") for name in ("zeros", "others")
    )
    low = aggregate_counts(binding, "MIN", f"{role}_low")
    must = f"{what} must hold 0 and 1 (or -1 and 1)"
    advice = f"positive= (--positive) names the positive value of two, {_SEVERAL}"
    if is_float(column.type) and "score" in binding.role:
        advice = f"prediction= (--prediction) instead of score= evaluates a regression, {advice}"
    other = aggregate_counts(binding, "MAX", f"{role}_other")
    share = _write_share(binding, f"{role}_others", role)
    several = concatenate(
        f"{must}; another value, such as ", (other,), ", is in ", share, f"; {advice}"
    )  # fmt: skip
    both = concatenate(f"{must}; it holds 0 and -1; {advice}")
    return [(f"{others} > 0", several), (f"{low} = -1 AND {zeros} > 0", both)]


def _check_classes(binding: Binding) -> list[Case]:
    column = binding.role["label"]
    classes = ", ".join(repr(value) for value, _ in binding.classes)
    sentence = concatenate(
        f"label={column.name!r} holds ",
        (aggregate_counts(binding, "MIN", "label_other"),),
        ", a class without a score column, in ",
        _write_share(binding, "label_unknown", "label"),
        f" (or others like it); score= names {classes}",
    )
    return [(f"{aggregate_counts(binding, 'SUM', 'label_unknown')} > 0", sentence)]


def _check_fractions(binding: Binding) -> list[Case]:
    cases: list[Case] = []
    for role in list_fractional(binding):
        what = _describe_column(binding, role, binding.role[role])
        share = _write_share(binding, f"{role}_fractions", role)
        fraction = (aggregate_counts(binding, "MIN", f"{role}_fraction"),)
        sentence = concatenate(
            f"{what} holds classes by its first values, and a number that is not whole, such as ",
            fraction, ", is in ", share,
            "; task='regression' (--task regression) evaluates numbers, task='multiclass' takes "
            "each number as a class",
        )  # fmt: skip
        cases.append((f"{aggregate_counts(binding, 'SUM', f'{role}_fractions')} > 0", sentence))
    return cases


def _write_alone(binding: Binding) -> tuple[str, str, str]:
    """Return the number of predictions without a class of the label, of all, and the columns."""
    alone, used = (
        f"COALESCE({aggregate_counts(binding, 'SUM', column)}, 0)"
        for column in ("prediction_alone", "_used")
    )
    columns = binding.role["prediction"], binding.role["label"]
    what = _describe_column(binding, "prediction", columns[0])
    types = [f"is {column.stored}" for column in columns]
    return alone, used, f"{what} {types[0]} and label={columns[1].name!r} {types[1]}"


def _check_other_types(binding: Binding) -> list[Case]:
    alone, used, what = _write_alone(binding)
    other = (aggregate_counts(binding, "MIN", "prediction_other"),)
    sentence = concatenate(
        f"{what}: no prediction is a class of the label, such as ", other,
        "; are they spelled alike?",
    )  # fmt: skip
    return [(f"{alone} = {used} AND {used} > 0", sentence)]


def check_domain(binding: Binding, checks: DomainChecks) -> list[Case]:
    """Return the cases of scores outside 0 .. 1."""
    columns = ", ".join(map(repr, binding.score_names))
    test = f"{aggregate_counts(binding, 'SUM', 'score_outside')} > 0"
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


def _check_negative(binding: Binding, role: str, must: str) -> Case:
    what = _describe_column(binding, role, binding.role[role])
    share = _write_share(binding, f"{role}_negative", role)
    test = f"{aggregate_counts(binding, 'SUM', f'{role}_negative')} > 0"
    return test, concatenate(f"{what} is negative in ", share, f"; {must} 0 or more")


def _check_allowed(binding: Binding) -> list[Case]:
    """Return the cases for values that the table of roles does not allow."""
    cases: list[Case] = []
    for role, column in binding.role.items():
        facts = ROLES[role]
        if is_refused_below_zero(role):
            cases.append(_check_negative(binding, role, f"{role}s are"))
        if write_wrong_value(role, column) is None:
            continue
        what = f"{_describe_column(binding, role, column)} holds "
        other = aggregate_counts(binding, "MIN", f"{role}_other")
        if facts.allowed:
            allowed = ", ".join(facts.allowed)
            sentence = concatenate(what, "'", (other,), f"'; its values must be among {allowed}")
        else:
            share = _write_share(binding, f"{role}_wrong", role)
            must = f", and must hold {facts.value_facts.must}; another value is in "
            sentence = concatenate(what, (other,), must, share)
        cases.append((f"{other} IS NOT NULL", sentence))
    return cases


def _check_rows(binding: Binding) -> list[Case]:
    """Return the case for rows of many labels that share the key which tells them apart."""
    row = binding.many.row if binding.many else None
    if row is None or not has_key(binding):
        return []
    again = f"COALESCE({aggregate_counts(binding, 'SUM', 'row_again')}, 0)"
    sentence = concatenate(
        f"key={row.name!r} has a value that several rows of a slice share, and must tell rows apart"
    )
    return [(f"{again} > 0", sentence)]


def _check_weights(binding: Binding) -> list[Case]:
    name = f"weight={binding.role['weight'].name!r}"
    low, high = _WEIGHTS
    positive = "CASE WHEN weight_largest > 0 THEN weight_largest END"
    least, most = (
        aggregate_counts(binding, "MIN", positive),
        aggregate_counts(binding, "MAX", positive),
    )
    what = f"the largest value of {name} is "
    place = " in a slice" if binding.keys else ""
    advice = f"{place}; it must be in {low} .. {high}, as products of weights must not overflow; "
    advice += "divide all weights by one number"
    return [
        (f"{least} < {low}", concatenate(what, (least,), advice)),
        (f"{most} > {high}", concatenate(what, (most,), advice)),
    ]


def _check_counts(binding: Binding) -> list[Case]:
    count = aggregate_counts(binding, "SUM", "count_wrong")
    violations = (_divide_by_copies(binding, count),)
    sentence = concatenate(
        f"the counts in {binding.role['count'].name!r} must be whole numbers from 0 up; another "
        "number is in ", violations, " of the rows; weight= (--weight) takes any number",
    )  # fmt: skip
    return [(f"{count} > 0", sentence)]


def write_notice(binding: Binding, origin: str) -> str:
    """Return the SQL of all remarks about the rows, joined by semicolons; NULL without any."""
    notices = [write_literal(binding.notice)] if binding.notice else []
    notices += [_note_other_types(binding)] if has_other_types(binding) else []
    # The note of a result counts the items that labels add to its lists.
    if binding.labels and not (binding.adds_items or binding.labels.is_by_position):
        notices.append(_note_labels(binding, origin))
    if len(notices) < 2:
        return notices[0] if notices else NULL_TEXT
    return f"NULLIF(CONCAT_WS('; ', {', '.join(notices)}), '')"


def _note_other_types(binding: Binding) -> str:
    alone, used, what = _write_alone(binding)
    counts = (_divide_by_copies(binding, alone),), (_divide_by_copies(binding, used),)
    other = (aggregate_counts(binding, "MIN", "prediction_other"),)
    sentence = concatenate(
        f"{what}: ", counts[0], " of ", counts[1],
        " predictions are no class of the label, such as ", other,
    )  # fmt: skip
    return f"CASE WHEN {alone} > 0 THEN {sentence} END"


def _note_labels(binding: Binding, origin: str) -> str:
    size = "COALESCE(SUM(_rows), 0)" if origin == "_grouped" else "COUNT(*)"
    # Unmatched labels are repeated per model and set of keys, as rows are.
    alone = f"(SELECT {size} FROM {origin} WHERE _side = 'label')"
    # Over no rows a SUM is NULL, and a COUNT is 0.
    sums = (
        f"COALESCE({aggregate_counts(binding, 'SUM', of)}, 0)" for of in ("_unmatched", "_rows")
    )
    alone, unmatched, rows = (_divide_by_copies(binding, count) for count in (alone, *sums))
    fate, hint = "have no label yet and are left out", "''"
    if binding.has_queries:
        fate = "are not judged"
        hint = " and are left out: with the query in on=, they are items not retrieved"
        hint = f"CASE WHEN {alone} > 0 THEN {write_literal(hint)} ELSE '' END"
    sentence = concatenate(
        "labels=: ", (unmatched,), " of ", (rows,), f" rows {fate}; ", (alone,),
        " labels match no row", (hint,),
    )  # fmt: skip
    return f"CASE WHEN {unmatched} > 0 OR {alone} > 0 THEN {sentence} END"


def check_labels(binding: Binding) -> list[Case]:
    """Return the cases of ``labels=``, which read other relations than the audit."""
    if binding.labels is None:
        return []
    if binding.labels.is_by_position:
        is_unequal, rows, labels = write_unequal_counts()
        what = "by_position=True needs a label for each row: the source has "
        return [(is_unequal, concatenate(what, (rows,), " rows, and labels= has ", (labels,)))]
    again = count_repeats(binding.labels, binding.dialect)
    sentence = concatenate(
        f"labels= repeats keys: on={binding.labels.shown} has ", (again,),
        " repeats; a key may have one label",
    )  # fmt: skip
    return [(f"{again} > 0", sentence)]


def check_audit(binding: Binding) -> list[Case]:
    """Return the cases of the rows."""
    cases: list[Case] = []
    if binding.nulls == "error":
        cases += _check_missing(binding)
    cases += _check_allowed(binding)
    cases += _check_rows(binding)
    if binding.is_weighted:
        cases += _check_weights(binding)
    if binding.has_counts:
        cases += _check_counts(binding)
    if binding.has_queries:
        cases.append(_check_negative(binding, "label", "relevance is"))
    if binding.has_two_classes:
        cases += _check_two_values(binding, "label")
        cases += _check_two_values(binding, "prediction")
    cases += _check_fractions(binding)
    cases += _check_other_types(binding) if has_other_types(binding) else []
    if binding.has_several_classes and binding.classes:
        cases += _check_classes(binding)
    return cases


def check_state(binding: Binding, checks: DomainChecks) -> list[Case]:
    """Return the cases of a state, whose rows were audited when it was built.

    Only two problems remain: scores outside 0 .. 1, and queries that are divided between rows.
    """
    cases = check_domain(binding, checks)
    if binding.has_queries and "query" in binding.role:
        divided = aggregate_counts(binding, "SUM", "query_divided")
        cases.append((f"{divided} > 0", concatenate((divided,), f" {DIVIDED}")))
    return cases
