"""Chooses the roles of a source: the user's columns, and the likeliest ones for the rest."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from sqleval.binding.reading import MOST_CLASSES, Reading, read_label, read_task
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import is_number
from sqleval.common.sql_text import quote, write_name
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError, RequestError
from sqleval.frontend.first_values import FirstValues
from sqleval.frontend.scan import scan
from sqleval.inspection.columns import Facts, describe_values, read_rows
from sqleval.inspection.confidence import count_confident, describe_confidence
from sqleval.inspection.data import Auc, Inspection, list_named_columns
from sqleval.inspection.findings import (
    format_number,
    format_share,
    list_first,
    problem,
)
from sqleval.inspection.labels import find_by_values
from sqleval.inspection.long_tables import find_long
from sqleval.inspection.names import list_class_names, match_classes, match_models, name_models
from sqleval.inspection.nested import describe_vector, find_class_vector, list_scalar_fields
from sqleval.inspection.pairs import match_predictions
from sqleval.inspection.rules import THE_ONLY, Candidates, find, is_named_score
from sqleval.inspection.shapes import find_shape

#: Scores of more rows are binned: the AUC is then exact to 0.001, in a tenth of the time.
_MOST_EXACT = 1_000_000
#: The largest number of scores whose AUC is computed.
_MOST_SCORES = 8
_POSITIVE = (
    "yes", "y", "true", "t", "positive", "pos", "p", "ja", "j", "oui", "si", "sí", "sì", "sim",
)  # fmt: skip
#: The columns of tables of counts, whose names are their roles.
_COUNTS = ({"tp", "fp", "fn", "tn"}, {"label", "prediction", "n"})

#: The roles besides label, scores and predictions, in the order of display: roles that any column
#: can have, and roles that only columns can have that are not missing together with the label.
_OF_ALL, _OF_OTHERS = ("key", "time", "weight", "query"), ("role", "fold", "item")
#: The roles that only rows of ranked lists have.
_OF_RANKINGS = {"query", "item"}
#: The roles that may be given for rows of models or classes to be recognised.
_OF_LONG = {"label", "score", "key"}


def choose_roles(data: Inspection) -> None:
    """Choose the roles that the user has not given."""
    named = list_named_columns(data.given)
    if any(cells <= data.columns.keys() for cells in _COUNTS) and not (named or data.positive):
        data.is_counts = True
        data.add("counts", ", ".join(data.columns), "a table of counts: its columns need no roles")
        return
    facts = [f for f in data.columns.values() if f.name not in data.lacking.union(named)]
    is_long = bool(named) and {role for role, names in data.given.items() if names} <= _OF_LONG
    shape = find_shape(data, facts) if not named else find_long(data, facts) if is_long else None
    if shape is not None:
        data.set_shape(shape)
        if not shape.is_open:
            left = [f for f in facts if f.name not in shape.columns]
            _add_others(data, {"key": find("key", left)}, find("slices", left))
            return
    is_treatment = data.shape.columns[:1] if data.shape is not None else ()
    _choose_label(data, [f for f in facts if f.name not in is_treatment])
    facts = [f for f in facts if f is not data.label]
    # A column that is missing with the label is probably another outcome, unless named as a score.
    late = data.label.missing if data.label is not None else 0
    apart = [f for f in facts if not late or f.missing != late]
    by_role = {role: data.find(role, facts) for role in _OF_ALL}
    used = {f.name for each in by_role.values() for f in (*each.columns, *each.others)}
    if late:
        used.update(f.name for f in facts if f.missing == late and not is_named_score(f))
    by_role |= {role: find(role, apart) for role in _OF_OTHERS}
    if data.label is not None and by_role["query"].columns:
        data.task = read_label(data.label.column, [*data.classes], MOST_CLASSES, has_queries=True)
    left = [f for f in facts if f.name not in used]
    if not (_choose_confidence(data, left) or _choose_vector(data, left)):
        _choose_scores(data, left)
    _add_others(data, by_role, find("slices", apart))


def _measure_auc(data: Inspection, score: str, positive: Any) -> Auc:
    """Return the ROC AUC of a score."""
    tolerance = 1e-3 if data.rows > _MOST_EXACT else None
    try:
        bound = scan(
            label=data.single.get("label"), score=score, positive=positive, where=data.where,
            nulls="drop", **data.options,
        )  # fmt: skip
        row = bound.evaluate("roc_auc", ci=0.95, tolerance=tolerance).collect().row(0, named=True)
    except (DataError, RequestError) as error:
        return Auc(None, None, str(error))
    return Auc(row["value"], row["high"])


def _count_classes(data: Inspection, label: Facts) -> Mapping[Any, int]:
    """Return the rows of each label value, most frequent first; at most ``MOST_CLASSES`` + 1."""
    if not 0 < label.distinct <= 20 * MOST_CLASSES:
        return {}
    where, most = label.write_test(finite=False), MOST_CLASSES + 1
    tail = f" WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {most}"
    rows = read_rows(data.source, f"{label.value}, COUNT(*)", [label.name], tail)
    return {float(each) if isinstance(each, Decimal) else each: n for each, n in rows}


def _choose_label(data: Inspection, facts: Sequence[Facts]) -> None:
    """Choose the label, count its classes, and set the task."""
    candidates = data.find("label", facts)
    if not candidates.columns or candidates.reason == THE_ONLY:
        by_values = find_by_values(facts, partial(_count_classes, data))
        candidates = by_values if by_values.columns else candidates
    fields = list_scalar_fields(facts)
    if fields and candidates.reason == THE_ONLY and not find("score", facts).columns:
        # The label is as likely a field of a struct as the only column of two values.
        shown = list_first([*fields, *(f.name for f in candidates.columns)], " ... {} more")
        advice = f"--label COLUMN; a field can be named: --label {fields[0]}"
        data.findings.append(problem("label", None, f"not clear; it may be {shown}", advice))
        return
    others = [f.name for f in candidates.others]
    if not candidates.columns:
        data.maybe_label = others[0] if others else None
        shown = list_first(others, "")
        text = f"not clear; it may be {shown}" if shown else "no column looks like it"
        advice = (
            "--label COLUMN; if another source has it, evaluate takes --labels SOURCE --on KEY, or "
            "--by-position if its rows have the same order"
        )
        data.findings.append(problem("label", None, text, advice))
        return
    data.label = label = candidates.columns[0]
    data.single["label"], data.classes = label.name, _count_classes(data, label)
    if label.nan:
        # A label of 0 and 1 with NaN, as pandas writes missing labels, is not taken for binary.
        finite = f"isfinite({write_name(label.name)})"
        data.where = finite if data.where is None else f"({data.where}) AND {finite}"
    if label.present:
        data.task = read_label(label.column, [*data.classes], MOST_CLASSES)
    if label.missing and not data.given.get("label"):
        # A column that is missing where the label is missing may be another outcome.
        others += [f.name for f in facts if f.missing == label.missing and f is not label]
    is_class = data.classes and not data.task_facts.has_values
    described = _describe_classes(data.classes) if is_class else describe_values(label)
    data.add("label", label.name, candidates.reason.format(described), list(dict.fromkeys(others)))


def _describe_classes(classes: Mapping[Any, int]) -> str:
    if len(classes) > MOST_CLASSES:
        return f"more than {MOST_CLASSES} classes"
    total = sum(classes.values())
    shown = [f"{format_number(each)}: {format_share(n, total)}" for each, n in classes.items()]
    return f"{len(classes)} class{'es' * (len(classes) > 1)}, {list_first(shown, ', ...')}"


def _choose_confidence(data: Inspection, facts: Sequence[Facts]) -> bool:
    """Choose the prediction, if the only score is the confidence of the predicted class."""
    if data.label is None or data.given.get("score") or data.shape is not None:
        return False
    predictions = data.find("prediction", facts).columns
    scores = [f for f in data.find("score", facts).columns if f not in predictions]
    k = count_confident(data, scores, predictions)
    if not k:
        return False
    if k == 2:
        _choose_positive(data, [])
    data.predictions = {"": predictions[0].name}
    data.add("prediction", predictions[0].name, describe_values(predictions[0]))
    data.set_shape(describe_confidence(data, data.label, scores[0], predictions[0], k))
    return True


def _choose_vector(data: Inspection, facts: Sequence[Facts]) -> bool:
    """Choose a column with the scores of all classes, and a predicted class."""
    given = [data.columns[name] for name in data.given.get("score", {}).values()]
    if data.label is None or len(given) > 1 or data.shape is not None:
        return False
    found = find_class_vector(data, given or facts, is_given=bool(given))
    if found is None:
        return False
    if len(data.classes) == 2:
        _choose_positive(data, [])
    prediction = next(iter(data.find("prediction", facts).columns), None)
    if prediction is not None:
        data.predictions = {"": prediction.name}
        data.add("prediction", prediction.name, describe_values(prediction))
    data.set_shape(describe_vector(data, data.label, *found, prediction))
    return True


def _choose_scores(data: Inspection, facts: Sequence[Facts]) -> None:
    """Choose the columns to evaluate: scores, scores by class, or predictions."""
    named, classes = data.given.get("score", {}), list_class_names(data.classes)
    if len(classes) > 2 and _has_all_classes(named, classes):
        data.task, data.predictions = "multiclass", data.given.get("prediction", {})
        _add_class_scores(data, named)
    elif data.label is None or data.task_facts.has_one_score or named:
        _choose_one_score(data, facts)
    else:
        _choose_predictions(data, facts)


def _has_all_classes(named: Mapping[Any, str], classes: Sequence[str]) -> bool:
    """Whether the names of scores cover all classes, as CLASS or MODEL.CLASS."""
    names = [f".{name}" for name in named]
    return all(any(name.endswith(f".{each}") for name in names) for each in classes)


def _add_class_scores(
    data: Inspection, scores: Mapping[str, str], models: str = "", others: Sequence[str] = ()
) -> None:
    data.scores, data.has_classes = scores, True
    reason = f"a column for each of the {len(data.classes)} classes{models}"
    data.add("score", ", ".join(scores.values()), reason, others)


def _choose_predictions(data: Inspection, facts: Sequence[Facts]) -> None:
    """Choose a score for each class, and predicted classes or values."""
    named = data.given.get("prediction", {})
    predictions = _keep_task(data, data.find("prediction", facts).columns)
    if data.task_facts.has_values and _has_class_columns(data, facts):
        data.task = "multiclass"
    if not (data.task_facts.has_values or named):
        classes = sorted(list_class_names(data.classes))
        columns = [f.name for f in facts if f.is_probability]
        scores, models = _match_scores(data, classes, columns)
        if not scores:  # logits, for example
            columns = _list_named_scores(facts)
            scores = match_classes(classes, columns)
        if scores:
            others = [name for name in columns if name not in scores.values()]
            _add_class_scores(data, scores, models, others)
            predictions = predictions[:1]
    data.predictions = named or name_models([f.name for f in predictions])
    for f in predictions:
        data.add("prediction", f.name, describe_values(f))
    if not data.scores and not predictions:
        numbers = [f.name for f in facts if not f.has_two_values and f.low is not None]
        shown = f"; it may be {list_first(numbers, '')}" if numbers else ""
        text = f"no column looks like it{shown}"
        data.findings.append(problem("prediction", None, text, "--prediction COLUMN"))


def _has_class_columns(data: Inspection, facts: Sequence[Facts]) -> bool:
    """Whether whole numbers of a label, which may be stored as 2.0, name columns of scores."""
    columns = [f.name for f in facts if f.is_probability or is_named_score(f)]
    are_whole = len(data.classes) > 2 and all(each == int(each) for each in data.classes)
    return are_whole and bool(match_classes(list_class_names(data.classes), columns))


def _list_named_scores(facts: Sequence[Facts]) -> list[str]:
    """Return the numbers that are named like scores."""
    return [f.name for f in facts if is_named_score(f) and is_number(f.column.type)]


def _keep_task(data: Inspection, predictions: Sequence[Facts]) -> list[Facts]:
    """Set the task of the label and the first prediction; return the predictions of that task."""
    assert data.label is not None
    look = partial(FirstValues(data.source, None, embedded()).read, None, None, ())
    label, tasks = data.label.column, list[Reading]()
    for f in predictions:
        roles = {"label": label, "prediction": f.column}
        tasks.append(read_task(None, roles, "score", [], None, look))
    chosen = tasks[0].task if tasks else data.task
    if tasks:
        data.task, data.other_task = chosen, tasks[0].other
    # Many different whole numbers are probably amounts, and a job or command names its task.
    if data.other_task is not None and TASKS[data.other_task].has_values:
        data.task, data.other_task = data.other_task, chosen
    return [f for f, each in zip(predictions, tasks, strict=True) if each.task == chosen]


def _match_scores(
    data: Inspection, classes: Sequence[str], columns: Sequence[str]
) -> tuple[dict[str, str], str]:
    """Return the score of each class, or MODEL.CLASS, and the number of models in words."""
    by_model = match_models(classes, columns)
    if by_model and _are_shares(data, [list(each.values()) for each in by_model.values()]):
        scores = {f"{m}.{name}": c for m, each in by_model.items() for name, c in each.items()}
        return scores, f" of {len(by_model)} models"
    return match_classes(classes, columns), ""


def _are_shares(data: Inspection, models: Sequence[Sequence[str]]) -> bool:
    """Whether the numbers of each model add up to 1 in every row."""
    tests: list[str] = []
    for columns in models:
        total = " + ".join(f"CAST(s.{quote(column)} AS DOUBLE)" for column in columns)
        # Scores are often rounded, so that their sum is not exactly 1.
        off = f"ABS({total} - 1)"
        tests.append(f"SUM(CASE WHEN {off} > 0.01 AND ISFINITE({off}) THEN 1 ELSE 0 END)")
    read = [column for columns in models for column in columns]
    (wrong,) = read_rows(data.source, ", ".join(tests), read, f" WHERE {data.condition}")
    return not any(wrong)


def _choose_one_score(data: Inspection, facts: Sequence[Facts]) -> None:
    """Choose the scores that rank rows, one per model, and a predicted class."""
    candidates = data.find("score", facts)
    scores, others = list(candidates.columns), [f.name for f in candidates.others]
    predictions = data.find("prediction", facts).columns
    predictions = [f for f in predictions if f not in scores and f.distinct <= 2]
    if len(data.classes) == 2:
        _choose_positive(data, scores)
    if not data.given.get("score"):
        scores, left = _keep_best(data, scores, facts)
        chosen = {f.name for f in scores}
        others = [name for name in dict.fromkeys([*left, *others]) if name not in chosen]
    data.scores = data.given.get("score") or name_models([f.name for f in scores])
    for f in scores:
        has_auc = data.task_facts.has_one_score and not data.task_facts.has_queries
        if data.classes and has_auc and f.name not in data.aucs:
            data.aucs[f.name] = _measure_auc(data, f.name, data.positive)
        auc = data.aucs.get(f.name, Auc(None, None)).value
        reason = describe_values(f) + (f"; AUC {auc:.3f}" if auc is not None else "")
        data.add("score", f.name, reason, others if f is scores[-1] else ())
    _add_decisions(data, scores, predictions)
    if not scores and not predictions:
        advice = "--score COLUMN; labels alone: evaluate PREDICTIONS --labels THIS --on KEY"
        texts = [f"; {f.name} is {f.column.type}" for f in find("text of a score", facts).columns]
        maybe = f"; it may be {list_first(others)}" if others else ""
        text = "no column looks like it" + "".join(texts) + maybe
        data.findings.append(problem("score", None, text, advice))


def _add_decisions(data: Inspection, scores: Sequence[Facts], predictions: Sequence[Facts]) -> None:
    """Add the predicted classes: one for each model that has a score, or the first one."""
    if len(scores) < 2:
        data.predictions = name_models([f.name for f in predictions[:1]])
    else:
        by_score, data.predictions = match_predictions(scores, predictions)
        data.scores = by_score or data.scores
    for f in predictions:
        if f.name in data.predictions.values():
            data.add("prediction", f.name, describe_values(f))


def _keep_best(
    data: Inspection, scores: Sequence[Facts], facts: Sequence[Facts]
) -> tuple[list[Facts], list[str]]:
    """Return the scores to evaluate, the positive class's first, and the names of the rest."""
    pair = match_classes(list_class_names(data.classes), [f.name for f in scores])
    if len(scores) == 1 and not scores[0].is_probability:
        # Of other numbers only the first is chosen, for example the logit of the first class.
        pair = match_classes(list_class_names(data.classes), _list_named_scores(facts))
        if scores[0].name in pair.values():
            scores = [data.columns[name] for name in pair.values()]
    mine = pair.get(*list_class_names([data.positive_value])) if len(pair) == 2 else None
    rest = [name for name in pair.values() if mine and name != mine]
    scores = sorted(scores, key=lambda f: f.name != mine)
    best = [f for f in scores if f.name not in rest]
    return best[:_MOST_SCORES], [*(f.name for f in best[_MOST_SCORES:]), *rest]


def _choose_positive(data: Inspection, scores: Sequence[Facts]) -> None:
    """Choose the positive value, unless it is 1 or true."""
    values = [*data.classes]
    if data.positive is not None or {*values} <= {0, 1} or {*values} <= {-1, 1}:
        return
    words = [value for value in values if str(value).strip().lower() in _POSITIVE]
    if {*map(str, values)} in ({"0", "1"}, {"-1", "1"}):
        words = [value for value in values if str(value) == "1"]  # the label is a text
    if len(words) == 1:
        data.positive, reason = words[0], "by its name"
    elif scores:
        auc = _measure_auc(data, scores[0].name, values[1]).value
        data.positive = values[1] if auc is None or auc >= 0.5 else values[0]
        reason = f"it has the higher {scores[0].name}"
    else:
        data.positive, reason = values[1], "the rarer of two; not sure"
    share = format_share(data.classes[data.positive], sum(data.classes.values()))
    data.add("positive", str(data.positive), f"{share} of the labels; {reason}")


def _add_others(data: Inspection, by_role: Mapping[str, Candidates], slices: Candidates) -> None:
    """Add the slices, and the roles of one column besides label, score and prediction."""
    for role, candidates in by_role.items():
        if not candidates.columns or (role in _OF_RANKINGS and not data.task_facts.has_queries):
            continue
        first = candidates.columns[0]
        reason = candidates.reason.format(describe_values(first))
        if role == "key" and not data.given.get("key") and not first.is_exact:
            reason += f"; --key {first.name} counts repeats"
        data.single[role] = first.name
        data.add(role, first.name, reason, [f.name for f in candidates.others])
    used = {*data.single.values(), *data.scores.values(), *data.predictions.values()}
    if left := [f for f in (*slices.columns, *slices.others) if f.name not in used]:
        data.single["slices"] = left[0].name
        shown = list_first([f"{f.name} ({f.distinct:,})" for f in left])
        data.add("slices", shown, "numbers of values")
