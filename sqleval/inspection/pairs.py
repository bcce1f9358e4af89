"""Shapes with several outcomes in a row, each beside its own score."""

import re
from collections.abc import Mapping, Sequence

from sqleval.common.sql_text import write_literal, write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.findings import list_first
from sqleval.inspection.names import name_models
from sqleval.inspection.rules import TESTS, is_named_prediction
from sqleval.inspection.shape import Look, Shape, list_label_looks, write_is_one

#: Names of two sides, which play the same role.
_SIDES = ({"1", "2"}, {"a", "b"}, {"home", "away"}, {"left", "right"}, {"team1", "team2"})
_TOKENS = re.compile(r"[a-zA-Z]+|\d+")


def find_pairs(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find several outcomes of 0 and 1, each with a score of its name."""
    flags = [f for f in facts if TESTS["0 and 1"](f) or TESTS["truth values"](f)]
    outcomes = [f for f in flags if not is_named_prediction(f)]
    scores = [f for f in facts if f.is_probability]
    pairs = match_outcomes(outcomes, scores)
    if len(pairs) < 2:
        return None
    if len(pairs) > 2 and _is_one_hot(data, pairs):
        return _describe_one_hot(pairs)
    if {*pairs} in _SIDES:
        return _describe_sides(data, pairs)
    return _describe_labels(pairs)


def match_outcomes(
    outcomes: Sequence[Facts], scores: Sequence[Facts]
) -> dict[str, tuple[Facts, Facts]]:
    """Return outcome and score of each name, if every score has exactly one outcome.

    A score is named after an outcome, or both have the same word besides others: ``prob_a`` and
    ``win_a``, ``toxic_score`` and ``toxic``, ``prob1`` and ``outcome1``.
    """
    pairs: dict[str, tuple[Facts, Facts]] = {}
    words = _strip_shared([_split(f.name) for f in scores])
    for score, word in zip(scores, words, strict=True):
        same = [f for f in outcomes if _split(f.name) == word]
        like = [f for f in outcomes if word in (_split(f.name)[1:], _split(f.name)[:-1])]
        mine = same or like
        if not word or len(mine) != 1:
            return {}
        pairs["_".join(word)] = (mine[0], score)
    is_distinct = len({outcome.name for outcome, _ in pairs.values()}) == len(scores)
    return pairs if is_distinct else {}


def _split(name: str) -> list[str]:
    return [token.lower() for token in _TOKENS.findall(name)]


def _strip_shared(words: Sequence[list[str]]) -> list[list[str]]:
    """Return names without the words that all begin or all end with."""
    stripped = [list(each) for each in words]
    for at in (0, -1):
        while all(len(each) > 1 for each in stripped) and len({each[at] for each in stripped}) == 1:
            stripped = [each[1:] if at == 0 else each[:-1] for each in stripped]
    return stripped


def _is_one_hot(data: Inspection, pairs: Mapping[str, tuple[Facts, Facts]]) -> bool:
    """Whether exactly one outcome is 1 in each row, and the scores add up to 1."""
    ones = " + ".join(f"CAST({f.value} AS INTEGER)" for f, _ in pairs.values())
    total = " + ".join(f"CAST({f.value} AS DOUBLE)" for _, f in pairs.values())
    select = (
        f"COUNT(CASE WHEN {ones} <> 1 THEN 1 END), COUNT(CASE WHEN ABS({total} - 1) > 0.01 "
        f"AND ISFINITE({total}) THEN 1 END)"
    )
    read = [f.name for pair in pairs.values() for f in pair]
    ((several, off),) = read_rows(data.source, select, read)
    return several == 0 and off == 0


def _describe_one_hot(pairs: Mapping[str, tuple[Facts, Facts]]) -> Shape:
    cases = " ".join(
        f"WHEN {write_is_one(outcome)} THEN {write_literal(name)}"
        for name, (outcome, _) in pairs.items()
    )
    options = {
        "label": f"CASE {cases} END",
        "score": {name: score.name for name, (_, score) in pairs.items()},
        "task": "multiclass",
    }
    names = tuple(f.name for pair in pairs.values() for f in pair)
    reason = f"one of {len(pairs)} outcomes is 1 in each row, and the scores add up to 1"
    advice = "the label is an expression of the outcomes"
    return Shape("one-hot outcome", names, reason, advice, [Look("all rows", options)])


def _describe_sides(data: Inspection, pairs: Mapping[str, tuple[Facts, Facts]]) -> Shape:
    outcomes, scores = zip(*pairs.values(), strict=True)
    lists = [", ".join(write_name(f.name) for f in each) for each in (outcomes, scores)]
    query = f"SELECT UNNEST([{lists[0]}]) AS outcome, UNNEST([{lists[1]}]) AS score FROM {{}}"
    both = Look(
        "both sides together: two rows from each", {"label": "outcome", "score": "score"}, query
    )
    each = [
        Look(f"side {name} alone", {"label": outcome.name, "score": score.name})
        for name, (outcome, score) in pairs.items()
    ]
    names = tuple(f.name for pair in pairs.values() for f in pair)
    reason = "two outcomes in a row, each with its score"
    advice = "the sides of a row are not independent: intervals of both together are too narrow"
    return Shape("two outcomes in a row", names, reason, advice, [both, *each])


def _describe_labels(pairs: Mapping[str, tuple[Facts, Facts]]) -> Shape:
    options = {
        "label": {outcome.name: outcome.name for outcome, _ in pairs.values()},
        "score": {outcome.name: score.name for outcome, score in pairs.values()},
    }
    names = tuple(f.name for pair in pairs.values() for f in pair)
    labels = list_first([outcome.name for outcome, _ in pairs.values()])
    reason = f"{len(pairs)} labels a row, each with its score: {labels}"
    advice = "a row has any number of labels: the task is multilabel"
    return Shape("several labels", names, reason, advice, list_label_looks(options))


def match_predictions(
    scores: Sequence[Facts], predictions: Sequence[Facts]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return scores and predictions by model, if each model has both; else nothing.

    Examples
    --------
    Columns ``lr_proba, lr_pred, rf_proba, rf_pred`` are those of the models lr and rf.
    """
    by_score = name_models([f.name for f in scores])
    by_prediction = name_models([f.name for f in predictions])
    if len(by_score) < 2 or by_score.keys() != by_prediction.keys():
        return {}, {}
    return by_score, {name: by_prediction[name] for name in by_score}
