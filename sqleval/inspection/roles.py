"""Suggests which column plays which role, by names and contents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from sqleval.catalog.tasks import TASKS, TaskFacts
from sqleval.common.columns import Kind, is_float, is_number
from sqleval.inspection.columns import Facts, format_distinct
from sqleval.inspection.findings import format_number


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_LABEL = _compile(
    r"y|y_?true|labels?|targets?|truth|ground_?truth|actuals?|outcome|class|gold|relevance"
)
_LIKE_LABEL = _compile(
    r"(label|target|true|actual)_.*|.*_(label|target|truth|actual|outcome|class)"
)
#: Outcomes that models often predict: they decide between columns of two values.
_OUTCOME = _compile(
    r"(is_|has_)?(churn(ed)?|fraud|default(ed)?|click(ed)?|convert(ed)?|conversion|delayed|spam|"
    r"survived|bought|purchased?|cancell?ed|died|response|responded|won|failed|failure)"
)
_SCORE = _compile(
    r"(p|score|scores|prob|proba|probability|y_score|y_prob|y_proba|logit|margin)(_.*|\d+)?|"
    r".*_(p|score|prob|proba|probability|logit)"
)
#: Scores that may be whole numbers; with more of a name they are features, such as credit_score.
_BARE_SCORE = _compile(r"scores?|y_score|margin|logit")
_PREDICTION = _compile(
    r"(y_?)?(pred|predicted|prediction|predictions|hat)(_.*)?|decision|decided|forecast(_.*)?|"
    r".*_(pred|predicted|prediction|hat|forecast)"
)
_PREDICTED = _compile(r"(^|_)(pred|predicted|prediction|hat|forecast)(_|$)")
_WEIGHT = _compile(r"w|weights?|(sample|case|row|inverse_propensity)_weights?|ipw")
_KEY = _compile(r"id|key|uuid|guid|index|row_?(id|nr|number)?|.*_(id|key|uuid)")
_QUERY = _compile(r"qid|query|query_?id")
_FOLD = _compile(r"(cv_)?folds?(_id)?")
_SPLIT = _compile(r"split|subset|part|partition|role|(data_?)?set")
_TIME = _compile(r"day|date|ds|dt|ts|time|timestamp|event_.*|.*_(date|day|at|time|ts)")
_TIMES: tuple[Kind, ...] = ("date", "timestamp", "instant")
_CLASSES: tuple[Kind, ...] = ("boolean", "integer", "text", "enum")
#: More values than this are not classes, and make no slices that are read.
MOST_CLASSES, MOST_SLICES = 50, 50


class Role(NamedTuple):
    """A column's role, why it was chosen, and other columns that it might be."""

    name: str
    column: str
    reason: str
    others: tuple[str, ...] = ()


@dataclass
class Roles:
    """The roles of an inspection, given or suggested.

    ``scores`` and ``predictions`` map the name of a model, or with ``has_classes`` a class (or
    MODEL.CLASS, of several models), to a column. ``listed`` holds the roles in the order in
    which they are shown.
    """

    label: str | None = None
    scores: dict[str, str] = field(default_factory=dict[str, str])
    predictions: dict[str, str] = field(default_factory=dict[str, str])
    has_classes: bool = False
    is_counts: bool = False
    weight: str | None = None
    key: str | None = None
    time: str | None = None
    query: str | None = None
    split: str | None = None
    fold: str | None = None
    by: str | None = None
    positive: Any = None
    maybe_label: tuple[str, ...] = ()
    where: str | None = None
    task: str = "binary"
    listed: list[Role] = field(default_factory=list[Role])

    @property
    def facts(self) -> TaskFacts:
        """What the task has."""
        return TASKS[self.task]


def is_probable_time(facts: Facts) -> bool:
    """Whether a column holds several dates or times."""
    return facts.low != facts.high and holds_times(facts)


def holds_times(facts: Facts) -> bool:
    """Whether a column holds dates or times; a Hive key is a text."""
    if facts.low is None:
        return False
    if facts.column.kind in _TIMES:
        return True
    if facts.column.kind != "text" or not _TIME.fullmatch(facts.name):
        return False
    try:
        return bool(date.fromisoformat(facts.low) and date.fromisoformat(facts.high))
    except ValueError:
        return False


def describe_values(facts: Facts) -> str:
    """Return the values of a column in a few words."""
    if facts.low is None:
        return f"{format_distinct(facts)} distinct" if facts.present else "no values"
    low, high = format_number(facts.low), format_number(facts.high)
    if facts.has_two_values:
        return f"two values, {low} and {high}"
    if facts.is_probability:
        return f"numbers in 0 .. 1, {format_distinct(facts)} distinct"
    return f"{format_distinct(facts)} distinct, {low} to {high}"


def _named(facts: Sequence[Facts], pattern: re.Pattern[str]) -> list[Facts]:
    return [each for each in facts if pattern.fullmatch(each.name)]


def find_label(facts: Sequence[Facts]) -> tuple[Role | None, tuple[str, ...]]:
    """Return the label, where one column is likelier than the others, and those others."""
    free = [f for f in facts if not _PREDICTION.fullmatch(f.name) and not is_probable_time(f)]
    two = [f for f in free if f.has_two_values]
    numbers = [f for f in two if (f.low, f.high) in ((0, 1), (-1, 1))]
    named, like = _named(free, _LABEL), _named(free, _LIKE_LABEL)
    stems = {_PREDICTED.sub("", f.name.lower()) for f in _named(facts, _PREDICTION)}
    tiers = [
        [f for f in named if f in two] or named,
        [f for f in free if f.name.lower() in stems],
        _named(two, _OUTCOME),
        [f for f in like if f in two],
        numbers if len(numbers) == 1 else [],
        like,
        two if len(two) == 1 else [],
    ]
    chosen = next((tier[0] for tier in tiers if tier), None)
    others = [*named, *(f for tier in tiers[1:4] for f in tier), *numbers, *like]
    if chosen is None:
        return None, tuple(dict.fromkeys(f.name for f in (*others, *two)))
    # A column that is missing where the label is missing may be another outcome.
    others += [f for f in facts if f.missing and f.missing == chosen.missing]
    rest = tuple(dict.fromkeys(f.name for f in others if f.name != chosen.name))
    if chosen in named or chosen in like:
        return Role("label", chosen.name, "; named like a label", rest), rest
    reason = "; the only such"
    if chosen in tiers[1]:
        reason = "; a prediction has its name"
    elif _OUTCOME.fullmatch(chosen.name):
        reason = "; named like an outcome"
    return Role("label", chosen.name, reason, rest), rest


def find_scores(facts: Sequence[Facts]) -> tuple[list[Facts], tuple[str, ...]]:
    """Return the columns that are probably scores, and the others that might be."""
    numbers = [f for f in facts if f.low is not None and not _WEIGHT.fullmatch(f.name)]
    between = [f for f in numbers if f.is_probability]
    real = [f for f in numbers if is_float(f.column.type) or f.column.kind == "decimal"]
    scores = [f for f in _named(real, _SCORE) if not f.has_two_values]
    whole = [f for f in _named(numbers, _BARE_SCORE) if is_number(f.column.type)]
    scores += [f for f in whole if f not in scores and not f.has_two_values]
    if not scores:
        scores = _named(between, _PREDICTION) or between[:1]
    # Scores in 0 .. 1 are taken before others of the same kind of name, as logits beside them.
    scores = [f for f in scores if f.is_probability] or scores[:1]
    return scores, tuple(f.name for f in between if f not in scores)


def is_named_score(facts: Facts) -> bool:
    """Whether a column has the name of a score or of a prediction."""
    return bool(_SCORE.fullmatch(facts.name) or _PREDICTION.fullmatch(facts.name))


def list_text_scores(facts: Sequence[Facts]) -> list[Facts]:
    """Return the columns with the name of a score that hold texts."""
    return [f for f in _named(facts, _SCORE) if f.column.kind == "text"]


def find_predictions(facts: Sequence[Facts]) -> list[Facts]:
    """Return the columns that are probably predicted values or classes."""
    named = [f for f in _named(facts, _PREDICTION) if f.low is not None]
    return [f for f in named if is_number(f.column.type) or f.column.kind in _CLASSES]


def match_classes(classes: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the column of each class, where all names have one beginning and end in common.

    Examples
    --------
    >>> match_classes(["on time", "late"], ["id", "p_late", "p_on_time"])
    {'on time': 'p_on_time', 'late': 'p_late'}
    """
    folded = {column.lower(): column for column in columns}
    words = [re.sub(r"\W+", "_", each.lower()) for each in classes]
    for name in folded:
        at = name.find(words[0]) if words and words[0] else -1
        if at < 0:
            continue
        before, after = name[:at], name[at + len(words[0]) :]
        class_columns = [f"{before}{word}{after}" for word in words]
        if (before or after) and all(each in folded for each in class_columns):
            return {each: folded[want] for each, want in zip(classes, class_columns, strict=True)}
    return {}


def match_models(classes: Sequence[str], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the column of each class by model, where several models have one for each class.

    Examples
    --------
    >>> match_models(["0", "1"], ["lstm_0", "lstm_1", "xgb_0", "xgb_1", "share"])
    {'lstm': {'0': 'lstm_0', '1': 'lstm_1'}, 'xgb': {'0': 'xgb_0', '1': 'xgb_1'}}
    """
    matched: list[dict[str, str]] = []
    rest = list(columns)
    while each := match_classes(classes, rest):
        matched.append(each)
        rest = [column for column in rest if column not in each.values()]
    # The last dot of a name divides model and class.
    if len(matched) < 2 or any("." in name or "=" in name for name in classes):
        return {}
    names = name_models([each[classes[0]] for each in matched])
    return dict(zip(names, matched, strict=True))


def name_models(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column: what its name has that the others have not.

    Examples
    --------
    >>> name_models(["p_logistic", "p_boosted"])
    {'logistic': 'p_logistic', 'boosted': 'p_boosted'}
    """
    parts = [column.split("_") for column in columns]
    if len(parts) > 1:
        while all(len(each) > 1 and each[0] == parts[0][0] for each in parts):
            parts = [each[1:] for each in parts]
        while all(len(each) > 1 and each[-1] == parts[0][-1] for each in parts):
            parts = [each[:-1] for each in parts]
    names = ["_".join(each) for each in parts]
    if len({*names}) < len(names) or any("=" in name or not name.strip() for name in names):
        names = [f"m{i}" for i in range(1, len(names) + 1)]
    return dict(zip(names, columns, strict=True))


def is_probable_key(facts: Facts) -> bool:
    """Whether a column may number the rows: by its name, and nearly as many values as rows."""
    several = facts.present > 1 and facts.distinct >= 0.9 * facts.present
    whole = facts.column.kind in ("integer", "hugeint", "text", "uuid")
    return several and whole and bool(_KEY.fullmatch(facts.name))


def find_others(facts: Sequence[Facts], label: Facts | None) -> Mapping[str, list[Facts]]:
    """Return the columns that may play each of the other roles, the likeliest first."""
    times = [f for f in facts if is_probable_time(f)]
    small = [
        f
        for f in facts
        if f.column.kind in _CLASSES and 2 <= f.distinct <= min(MOST_SLICES, f.present // 2)
        if f.column.kind != "integer" or f.distinct <= 12
        if not {",", "="} & {*f.name} and f.name == f.name.strip()
        if not (label is not None and label.missing and f.missing == label.missing)
    ]
    folds = _named(small, _FOLD)
    splits = [
        f for f in _named(small, _SPLIT) if {f.low, f.high} <= {"test", "train", "validation"}
    ]
    taken = {f.name for f in (*times, *folds, *splits)}
    taken |= {f.name for f in facts if _PREDICTION.fullmatch(f.name) or _KEY.fullmatch(f.name)}
    slices = [f for f in small if f.name not in taken and not f.has_two_values]
    slices += [f for f in small if f.name not in taken and f.has_two_values]
    return {
        "key": [f for f in facts if is_probable_key(f)],
        "time": sorted(times, key=lambda f: not _TIME.fullmatch(f.name)),
        "weight": [
            f for f in _named(facts, _WEIGHT)
            if is_number(f.column.type) and f.low is not None and f.low >= 0
        ],
        "query": [f for f in _named(facts, _QUERY) if f.distinct < f.present],
        "split": splits,
        "fold": folds,
        "slices": sorted(slices, key=lambda f: f.column.kind not in ("text", "enum")),
    }  # fmt: skip
