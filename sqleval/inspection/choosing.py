"""Chooses the roles of a source: those that are given, and the likeliest columns for the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from sqleval.binding.reading import read_label, read_task
from sqleval.common.sql_text import quote, write_present_test
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError, RequestError
from sqleval.frontend.first_values import FirstValues
from sqleval.frontend.scan import scan
from sqleval.inspection import roles as by_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.findings import Finding, format_number, format_share, problem, write_name
from sqleval.inspection.roles import Role, Roles
from sqleval.sources.source import Source

#: More rows are binned for an AUC: it is then known to 0.001, in a tenth of the time.
_MOST_EXACT = 1_000_000
#: The scores whose AUC is computed, and the columns that are named as alternatives.
_MOST_SCORES, MOST_OTHERS = 8, 5
_POSITIVE = ("yes", "y", "true", "t", "positive", "pos", "p")
#: The columns of tables of counts, which need no roles.
_COUNTS = ({"tp", "fp", "fn", "tn"}, {"label", "prediction", "n"})


@dataclass(frozen=True)
class Inspected:
    """What is inspected: a source, what its columns hold, and how `scan` opens it.

    ``lacking`` names the columns that some files lack: they cannot be used in a role. ``condition``
    holds for the rows that are inspected, as SQL over ``s``.
    """

    source: Source
    rows: int
    facts: Mapping[str, Facts]
    options: Mapping[str, Any]
    lacking: frozenset[str] = frozenset()
    condition: str = "TRUE"


class Auc(NamedTuple):
    """A ROC AUC with the upper end of its interval; or why there is none."""

    value: float | None
    high: float | None
    error: str = ""


def measure_auc(data: Inspected, roles: Roles, score: str, positive: Any) -> Auc:
    """Return the ROC AUC of a score."""
    tolerance = 1e-3 if data.rows > _MOST_EXACT else None
    try:
        bound = scan(
            label=roles.label, score=score, positive=positive, where=roles.where, nulls="drop",
            **data.options,
        )  # fmt: skip
        row = bound.evaluate("roc_auc", ci=0.95, tolerance=tolerance).collect().row(0, named=True)
    except (DataError, RequestError) as error:
        return Auc(None, None, str(error))
    return Auc(row["value"], row["high"])


def count_classes(data: Inspected, label: Facts, most: int) -> list[tuple[Any, int]]:
    """Return at most ``most`` + 1 values of a label and their rows, the most frequent first."""
    if label.distinct > 20 * most:
        return []
    value = f"s.{quote(label.name)}"
    is_present = write_present_test(value, label.column.type, finite=False)
    tail = f" WHERE {is_present} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {most + 1}"
    rows = read_rows(data.source, f"{value}, COUNT(*)", [label.name], tail)
    return [(float(each) if isinstance(each, Decimal) else each, n) for each, n in rows]


class Choice(NamedTuple):
    """The roles, the label's classes, the AUC of each score, and what could not be decided."""

    roles: Roles
    classes: list[tuple[Any, int]]
    aucs: dict[str, Auc]
    findings: list[Finding]


def choose_roles(
    data: Inspected, user_roles: Mapping[str, Any], where: str | None = None
) -> Choice:
    """Return the roles of a source.

    Parameters
    ----------
    data : Inspected
        The source.
    user_roles : mapping of str to object
        Roles by name, as `inspect` takes them; None or empty where one is to be suggested.
    where : str, optional
        The user's condition on the rows.
    """
    choice = Choice(Roles(positive=user_roles["positive"], where=where), [], {}, [])
    roles = choice.roles
    if any(cells <= data.facts.keys() for cells in _COUNTS) and not any(user_roles.values()):
        roles.is_counts = True
        reason = "a table of counts: its columns need no roles"
        roles.listed.append(Role("counts", ", ".join(data.facts), reason))
        return choice
    unused = data.lacking.union(list_named_columns(user_roles))
    facts = [f for f in data.facts.values() if f.name not in unused]
    label = _choose_label(data, user_roles, facts, choice)
    facts = [f for f in facts if f.name != roles.label]
    others = by_name.find_others(facts, label)
    if label is not None and label.missing:
        # What is missing with the label is probably another outcome, unless its name is a score's.
        facts = [f for f in facts if f.missing != label.missing or by_name.is_named_score(f)]
    if label is not None and others["query"]:
        values = [value for value, _ in choice.classes]
        most = by_name.MOST_CLASSES
        roles.task = read_label(label.column, values, most, has_queries=True)
        roles.query = others["query"][0].name if roles.facts.has_queries else None
    used = {f.name for name in ("weight", "key", "time", "query") for f in others[name]}
    _choose_scores(data, user_roles, [f for f in facts if f.name not in used], choice)
    for name in ("key", "time", "weight"):
        _choose_other(data, user_roles[name], name, others[name], roles)
    _choose_groups(others, roles)
    return choice


def list_named_columns(user_roles: Mapping[str, Any]) -> list[str]:
    """Return the columns that the user has named."""
    single = [
        user_roles[name]
        for name in ("label", "weight", "key", "time")
        if user_roles[name] is not None
    ]
    several = [*user_roles["score"].values(), *user_roles["prediction"].values()]
    return list(dict.fromkeys([*single, *several]))


def _choose_label(
    data: Inspected, user_roles: Mapping[str, Any], facts: Sequence[Facts], choice: Choice
) -> Facts | None:
    """Choose the label, count its classes, and so find the task."""
    role: Role | None = Role("label", user_roles["label"], "")
    if user_roles["label"] is None:
        role, others = by_name.find_label(facts)
        if role is None:
            choice.roles.maybe_label = others
            shown = ", ".join(others[:MOST_OTHERS])
            text = f"not clear; it may be {shown}" if shown else "no column looks like it"
            advice = "--label COLUMN; if another source has it, evaluate takes --labels and --on"
            choice.findings.append(problem("label", None, text, advice))
            return None
    label, roles = data.facts[role.column], choice.roles
    choice.classes.extend(count_classes(data, label, by_name.MOST_CLASSES))
    roles.label = label.name
    if label.nan:
        # A label of 0 and 1 with NaN, as pandas writes missing labels, is not taken for binary.
        finite = f"isfinite({write_name(label.name)})"
        roles.where = finite if roles.where is None else f"({roles.where}) AND {finite}"
    values = [value for value, _ in choice.classes]
    is_known = bool(label.present)
    roles.task = read_label(label.column, values, by_name.MOST_CLASSES) if is_known else "binary"
    described = by_name.describe_values(label)
    if choice.classes and not roles.facts.has_values:
        total = sum(n for _, n in choice.classes)
        first = choice.classes[:MOST_OTHERS]
        shown = [f"{format_number(value)}: {format_share(n, total)}" for value, n in first]
        more = ", ..." if len(choice.classes) > MOST_OTHERS else ""
        count = f"{len(choice.classes)} class{'es' * (len(choice.classes) > 1)}"
        if len(choice.classes) > by_name.MOST_CLASSES:
            count, shown, more = f"more than {by_name.MOST_CLASSES} classes", [], ""
        described = ", ".join([count, *shown]) + more
    roles.listed.append(role._replace(reason=described + role.reason))
    return label


def _choose_scores(
    data: Inspected, user_roles: Mapping[str, Any], facts: Sequence[Facts], choice: Choice
) -> None:
    """Choose the columns to evaluate: scores, classes' scores, or predictions."""
    roles, classes = choice.roles, [str(value) for value, _ in choice.classes]
    if len(classes) > 2 and _has_all_classes(user_roles["score"], classes):
        roles.task, roles.scores, roles.has_classes = "multiclass", user_roles["score"], True
        roles.predictions = user_roles["prediction"]
        named = ", ".join(roles.scores.values())
        roles.listed.append(
            Role("score", named, f"a column for each of the {len(classes)} classes")
        )
        return
    if roles.label is None or roles.facts.has_one_score or user_roles["score"]:
        _choose_binary(data, user_roles, facts, choice)
        return
    predictions = [data.facts[name] for name in user_roles["prediction"].values()]
    predictions = _choose_task(data, roles, predictions or by_name.find_predictions(facts))
    columns = [f.name for f in facts if f.is_probability]
    matched, models = by_name.match_classes(sorted(classes), columns), ""
    if by_model := _match_models(data, sorted(classes), columns):
        models = f" of {len(by_model)} models"
        matched = {f"{m}.{name}": c for m, each in by_model.items() for name, c in each.items()}
    if matched and not roles.facts.has_values and not user_roles["prediction"]:
        roles.scores, roles.has_classes = matched, True
        rest = tuple(name for name in columns if name not in matched.values())
        reason = f"a column for each of the {len(classes)} classes{models}"
        roles.listed.append(Role("score", ", ".join(matched.values()), reason, rest))
    if roles.has_classes:
        predictions = predictions[:1]
    roles.predictions = user_roles["prediction"] or by_name.name_models(
        [f.name for f in predictions]
    )
    if roles.has_classes and predictions:
        roles.predictions = {"": predictions[0].name}
    roles.listed += [Role("prediction", f.name, by_name.describe_values(f)) for f in predictions]
    if not roles.scores and not predictions:
        floats = [f.name for f in facts if not f.has_two_values and f.low is not None]
        shown = f"; it may be {', '.join(floats[:MOST_OTHERS])}" if floats else ""
        choice.findings.append(
            problem("prediction", None, f"no column looks like it{shown}", "--prediction COLUMN")
        )


def _has_all_classes(named: Mapping[Any, str], classes: Sequence[str]) -> bool:
    """Whether scores are named by all classes, as CLASS or MODEL.CLASS."""
    names = [f".{name}" for name in named]
    return all(any(name.endswith(f".{each}") for name in names) for each in classes)


def _match_models(
    data: Inspected, classes: Sequence[str], columns: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return the column of each class by model, where those of each model are shares of a row."""
    by_model = by_name.match_models(classes, columns)
    if not by_model:
        return {}
    tests: list[str] = []
    for each in by_model.values():
        total = " + ".join(f"CAST(s.{quote(column)} AS DOUBLE)" for column in each.values())
        # They are often rounded.
        off = f"ABS({total} - 1)"
        tests.append(f"SUM(CASE WHEN {off} > 0.01 AND ISFINITE({off}) THEN 1 ELSE 0 END)")
    read = [column for each in by_model.values() for column in each.values()]
    tail = f" WHERE {data.condition}"
    (wrong,) = read_rows(data.source, ", ".join(tests), read, tail)
    return {} if any(wrong) else by_model


def _choose_task(data: Inspected, roles: Roles, predictions: list[Facts]) -> list[Facts]:
    """Set the task of the label and the first prediction; return the predictions of that task."""
    assert roles.label is not None
    label, first = data.facts[roles.label], FirstValues(data.source, None, embedded())
    tasks: list[str] = []
    for each in predictions:
        columns = {"label": label.column, "prediction": each.column}
        look = partial(first.read, None, None, ())
        tasks.append(read_task(None, columns, "score", [], None, look).task)
    roles.task = tasks[0] if tasks else roles.task
    return [f for f, task in zip(predictions, tasks, strict=True) if task == roles.task]


def _choose_binary(
    data: Inspected, user_roles: Mapping[str, Any], facts: Sequence[Facts], choice: Choice
) -> None:
    roles, values = choice.roles, [value for value, _ in choice.classes]
    scores, others = by_name.find_scores(facts)
    if user_roles["score"]:
        scores, others = [data.facts[name] for name in user_roles["score"].values()], ()
    predictions = [data.facts[name] for name in user_roles["prediction"].values()]
    predictions = predictions or by_name.find_predictions(facts)
    predictions = [f for f in predictions if f not in scores and f.distinct <= 2][:1]
    if roles.label is not None and len(values) == 2:
        _choose_positive(data, scores, choice)
    pair = by_name.match_classes([str(v) for v in values], [f.name for f in scores])
    if len(values) == 2 and len(pair) == 2 and not user_roles["score"]:
        positive = find_positive(choice)
        mine = pair[str(positive)]
        others = (*(name for name in pair.values() if name != mine), *others)
        scores = [data.facts[mine], *(f for f in scores if f.name not in pair.values())]
    left = len(scores) - _MOST_SCORES
    if left > 0 and not user_roles["score"]:
        others = (*(f.name for f in scores[_MOST_SCORES:]), *others)
        scores = scores[:_MOST_SCORES]
    roles.scores = user_roles["score"] or by_name.name_models([f.name for f in scores])
    if roles.label is not None and not roles.facts.has_queries and values:
        for each in scores:
            auc = choice.aucs.get(each.name) or measure_auc(data, roles, each.name, roles.positive)
            choice.aucs[each.name] = auc
    for each in scores:
        auc = choice.aucs.get(each.name)
        more = f"; AUC {auc.value:.3f}" if auc is not None and auc.value is not None else ""
        last = others if each is scores[-1] else ()
        roles.listed.append(Role("score", each.name, by_name.describe_values(each) + more, last))
    if predictions and len(scores) < 2:
        roles.predictions = {"": predictions[0].name}
        reason = by_name.describe_values(predictions[0])
        roles.listed.append(Role("prediction", predictions[0].name, reason))
    if not scores and not predictions:
        advice = "--score COLUMN; labels alone: evaluate PREDICTIONS --labels THIS --on KEY"
        texts = [f"; {f.name} is {f.column.type}" for f in by_name.list_text_scores(facts)]
        value = "no column looks like it" + "".join(texts[:1])
        choice.findings.append(problem("score", None, value, advice))


def find_positive(choice: Choice) -> Any:
    """Return the positive value of a label of two classes, in the label's own type."""
    values = [value for value, _ in choice.classes]
    if choice.roles.positive is not None:
        named = [value for value in values if str(value) == str(choice.roles.positive)]
        return named[0] if named else choice.roles.positive
    return max(values)


def _choose_positive(data: Inspected, scores: Sequence[Facts], choice: Choice) -> None:
    """Choose the positive value, where it is neither 1 nor true."""
    roles, values = choice.roles, [value for value, _ in choice.classes]
    if roles.positive is not None or {*values} <= {0, 1} or {*values} <= {-1, 1}:
        return
    words = [value for value in values if str(value).strip().lower() in _POSITIVE]
    if {*map(str, values)} in ({"0", "1"}, {"-1", "1"}):
        words = [value for value in values if str(value) == "1"]  # texts
    if len(words) == 1:
        roles.positive, reason = words[0], "by its name"
    elif scores and roles.label is not None:
        first = scores[0].name
        auc = measure_auc(data, roles, first, values[1])
        is_second = auc.value is None or auc.value >= 0.5
        roles.positive = values[1] if is_second else values[0]
        reason = f"it has the higher {first}"
    else:
        roles.positive, reason = values[1], "the rarer of two; not sure"
    (counted,) = [n for value, n in choice.classes if value == roles.positive]
    share = format_share(counted, sum(n for _, n in choice.classes))
    text = f"{share} of the labels; {reason}"
    roles.listed.append(Role("positive", str(roles.positive), text))


def _choose_other(
    data: Inspected, column: str | None, name: str, candidates: Sequence[Facts], roles: Roles
) -> None:
    facts = [data.facts[column]] if column is not None else list(candidates)
    if not facts:
        return
    first, *rest = facts
    reason = by_name.describe_values(first)
    if name == "key" and column is None and not first.is_exact:
        reason += f"; --key {first.name} counts repeats"
    setattr(roles, name, first.name)
    roles.listed.append(Role(name, first.name, reason, tuple(f.name for f in rest)))


def _choose_groups(others: Mapping[str, list[Facts]], roles: Roles) -> None:
    """Choose the columns that group rows: a query, a split, folds, slices."""
    used = {roles.label, roles.weight, roles.key, roles.time, *roles.scores.values()}
    used |= {*roles.predictions.values()}
    if roles.query is not None:
        reason = "by its name; metrics of ranked rows are per query"
        roles.listed.append(Role("query", roles.query, reason))
    if others["split"]:
        roles.split = others["split"][0].name
        roles.listed.append(Role("role", roles.split, "rows of training and of test"))
    if others["fold"]:
        roles.fold = others["fold"][0].name
        reason = "a metric with average='macro' is the mean over its values"
        roles.listed.append(Role("fold", roles.fold, reason))
    slices = [f for f in others["slices"] if f.name not in used]
    if slices:
        shown = [f"{f.name} ({f.distinct:,})" for f in slices[:MOST_OTHERS]]
        more = f", and {len(slices) - MOST_OTHERS} more" if len(slices) > MOST_OTHERS else ""
        roles.by = slices[0].name
        roles.listed.append(Role("slices", ", ".join(shown) + more, "numbers of values"))
