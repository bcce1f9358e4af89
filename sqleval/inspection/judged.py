"""Recognises rows without a label: judged answers, rubric scores, attempts at tasks."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqleval.binding.vectors import find_vector
from sqleval.common.columns import NUMBERS, find_type_kind
from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts
from sqleval.inspection.data import Inspection
from sqleval.inspection.findings import list_first
from sqleval.inspection.nested import list_fields
from sqleval.inspection.rules import find, is_named_label, is_named_prediction, is_named_score
from sqleval.inspection.shape import Look, Shape, compile_names, pick_all, write_value

_PASSED = compile_names(
    r"(is_|has_)?(passed|pass|success(ful)?|succeeded|correct|solved|resolved|accepted|liked|"
    r"win|won|wins|exact_match|em|thumbs_up)|(.*_)?(correctness|correct|passed|success|exact_match)"
)
_RATED = compile_names(
    r"(.*_)?(ratings?|rewards?|grades?|faithfulness|groundedness|helpfulness|relevancy|quality|"
    r"fluency|coherence|csat)|scores?"
)
_VERDICT = compile_names(r"(.*_)?(judge?ment|verdict|result|outcome|status|grade|passed)")
_GOOD = ("pass", "passed", "correct", "yes", "win", "success", "accept", "accepted", "good", "c")
_TASK = compile_names(r"(.*_)?(task|problem|question|prompt|item|example|sample|case|user)(_?id)?")


class _Value(NamedTuple):
    """A value that can be averaged: its SQL text, whether it is true or false, and its column."""

    text: str
    is_truth: bool
    column: Facts


def find_judged(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find values to average, if no column looks like a label, a prediction or another score."""
    values = sorted(_list_values(facts), key=lambda each: not each.is_truth)
    columns = [each.column for each in values]
    if not values or any(_belongs_to_model(f) for f in facts if f not in columns):
        return None
    if any(f.has_two_values for f in facts) and any(map(_is_score, columns)):
        return None  # probably a label and its score
    first = values[0]
    options = {"value": first.text, "ci": 0.95}
    tasks = [f for f in pick_all(facts, _TASK, "repeated") if 2 * f.distinct <= f.present]
    names = tuple(each.text for each in values)
    others = f"; or {list_first(names[1:])}" if len(values) > 1 else ""
    if tasks:
        options["cluster"] = tasks[0].name
        advice = "pass@k for k above 1 is still to come; now: the mean, which is pass@1"
        reason = f"{first.text} of several attempts for each {tasks[0].name}{others}"
        looks = [Look(f"the mean of {first.text}, with {tasks[0].name} as clusters", options)]
        return Shape("k attempts per item", (*names, tasks[0].name), reason, advice, looks)
    looks = [Look(f"the mean of {first.text}", options)]
    slices = find("slices", [f for f in facts if f not in columns]).columns
    for by in slices[:1]:
        looks.append(Look(f"by {by.name}", {**options, "metric": "mean", "by": by.name}))
    reason = f"no label, but a value to average: {first.text}{others}"
    if first.column.is_probability:
        advice = "or it is a score whose labels are elsewhere: --labels SOURCE --on KEY"
        return Shape("values, or scores without labels", names, reason, advice, looks)
    return Shape("values without labels", names, reason, "its mean, with an interval", looks)


def _belongs_to_model(facts: Facts) -> bool:
    is_vector = find_vector(facts.name, facts.column) is not None and not list_fields(
        facts.column.type
    )
    is_named = is_named_label(facts) or is_named_prediction(facts)
    return facts.is_probability or is_vector or is_named


def _is_score(facts: Facts) -> bool:
    return is_named_score(facts) and not facts.has_two_values


def _list_values(facts: Sequence[Facts]) -> Iterator[_Value]:
    """Yield the values by their names: columns, verdicts in words, and fields of structs."""
    for f in facts:
        name = write_name(f.name)
        is_named = _PASSED.fullmatch(f.name) or _RATED.fullmatch(f.name)
        if is_named and (f.column.kind in NUMBERS or f.column.kind == "boolean"):
            if f.low is not None:
                yield _Value(f.name, f.has_two_values, f)
        elif _VERDICT.fullmatch(f.name) and f.column.kind == "text" and f.has_two_values:
            good = [each for each in (f.low, f.high) if each.strip().lower() in _GOOD]
            if len(good) == 1:
                yield _Value(f"{name} = {write_value(good[0])}", True, f)
        for field, kind in list_fields(f.column.type).items():
            is_value = _PASSED.fullmatch(field) or _RATED.fullmatch(field)
            of_kind = find_type_kind(kind)
            if is_value and (of_kind in NUMBERS or of_kind == "boolean"):
                yield _Value(f"{name}.{write_name(field)}", bool(_PASSED.fullmatch(field)), f)
