"""Recognises tables with several rows per case: a row per model, per class, or both."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.rules import TESTS
from sqleval.inspection.shape import Look, Shape, compile_names, list_label_looks, pick

_MODEL = compile_names(
    r"(.*_)?(models?|system|algorithm|classifier|estimator|method)(_?(id|name))?"
)
#: Words that name the label of a row, where a case has any number of labels.
_LABEL = compile_names(r"(.*_)?(labels?|tags?|topics?|categor(y|ies)|names?|aspects?)")
#: The largest shift of a sum of rounded scores from 1.
_ROUNDING = 0.01
#: Columns that are tried as the label.
_MOST_LABELS = 3


def find_long(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find rows of a model or of a class that share a case, with a label and a score."""
    model = pick(facts, _MODEL, "groups", "texts")
    left = [f for f in facts if f is not model]
    candidates = data.find("label", left)
    # A row per class has two columns of classes: the true one, and that of the row.
    labels = [*candidates.columns, *candidates.others]
    if not data.given.get("label"):
        labels = labels[:_MOST_LABELS]
    for label in labels:
        scores = data.find("score", [f for f in left if f is not label]).columns
        if len(scores) == 1 and scores[0] is not label and TESTS["numbers"](scores[0]):
            rest = [f for f in left if f not in (label, scores[0])]
            is_first = label in candidates.columns
            if shape := _find_long_of(data, label, scores[0], model, rest, is_first=is_first):
                return shape
    return None


def _find_long_of(
    data: Inspection,
    label: Facts,
    score: Facts,
    model: Facts | None,
    left: Sequence[Facts],
    *,
    is_first: bool,
) -> Shape | None:
    """Return the shape of rows with this label and score; rows of classes must prove it."""
    classes = [f for f in left if TESTS["texts"](f) and TESTS["groups"](f) and f.distinct > 2]
    for of_class in [*classes, *([None] if is_first else [])]:
        parts = {"model": model, "class": of_class}
        long = {part: f for part, f in parts.items() if f is not None}
        keys = data.find("key", left).columns if data.given.get("key") else left
        keys = [f for f in keys if long and f not in long.values()]
        for key in (f for f in keys if _is_key(data, f, [*long.values()])):
            if of_class is None or _has_shares(data, key, label, score, long):
                return _describe(data, label, score, key, long)
            if _LABEL.fullmatch(of_class.name) and _has_sets(data, key, label, long):
                return _describe(data, label, score, key, _rename(long))
    return None


def _rename(long: dict[str, Facts]) -> dict[str, Facts]:
    """Return the columns of long rows, in which the class of a row is one of many labels."""
    return {"label" if part == "class" else part: facts for part, facts in long.items()}


def _has_sets(data: Inspection, key: Facts, label: Facts, long: dict[str, Facts]) -> bool:
    """Whether a case has any number of labels: the label is 1 in several rows, or in none."""
    if not (TESTS["0 and 1"](label) or TESTS["truth values"](label)):
        return False
    groups = ", ".join(f.value for f in (key, *([long["model"]] if "model" in long else [])))
    inside = (
        f"(SELECT SUM(CAST({label.value} AS INTEGER)) AS n FROM {data.source.relation} AS s "
        f"GROUP BY {groups})"
    )
    names = [f.name for f in (key, label, *long.values())]
    select = "COUNT(CASE WHEN s.n <> 1 THEN 1 END)"
    ((others,),) = read_rows(replace(data.source, relation=inside), select, names)
    return others > 0


def _is_key(data: Inspection, key: Facts, parts: Sequence[Facts]) -> bool:
    """Whether each value of a key has one row for each model and class."""
    per_case = prod(part.distinct for part in parts)
    rows = key.distinct * per_case
    # Numbers of distinct values may be estimates.
    if not TESTS["repeated"](key) or not 0.9 * data.rows < rows < 1.1 * data.rows:
        return False
    names = ", ".join(f.value for f in (key, *parts))
    select = f"COUNT(DISTINCT ({names})), COUNT(DISTINCT {key.value})"
    ((combined, keys),) = read_rows(data.source, select, [f.name for f in (key, *parts)])
    return combined == data.rows == keys * per_case


def _has_shares(
    data: Inspection, key: Facts, label: Facts, score: Facts, long: dict[str, Facts]
) -> bool:
    """Whether the scores of a case add up to 1, and the label tells the class of the case."""
    keys = [f.value for f in (key, *([long["model"]] if "model" in long else []))]
    groups = ", ".join(keys)
    is_flag = TESTS["0 and 1"](label) or TESTS["truth values"](label)
    right = (
        f"SUM(CAST({label.value} AS INTEGER)) = 1"
        if is_flag
        else f"COUNT(DISTINCT {label.value}) = 1"
    )
    inside = (
        f"(SELECT {right} AND ABS(SUM({score.value}) - 1) < {_ROUNDING} AS is_right "
        f"FROM {data.source.relation} AS s GROUP BY {groups})"
    )
    names = [f.name for f in (key, label, score, *long.values())]
    select = "COUNT(CASE WHEN NOT COALESCE(s.is_right, FALSE) THEN 1 END)"
    ((wrong,),) = read_rows(replace(data.source, relation=inside), select, names)
    return wrong == 0


def _describe(
    data: Inspection, label: Facts, score: Facts, key: Facts, long: dict[str, Facts]
) -> Shape:
    options: dict[str, Any] = {
        "label": label.name,
        "score": score.name,
        "long": {part: f.name for part, f in long.items()},
        "key": key.name,
    }
    if "class" in long:
        options["task"] = "multiclass"
    names = tuple(f.name for f in (label, score, key, *long.values()))
    rows = " and ".join(f"{f.name} ({part})" for part, f in long.items())
    reason = f"each {key.name} has a row for each {rows}"
    looks = list_label_looks(options) if "label" in long else [Look("all cases", options)]
    return Shape("several rows per case", names, reason, looks=looks)
