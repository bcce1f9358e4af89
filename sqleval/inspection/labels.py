"""Recognises a label by its values: those of a prediction, or those that name columns of scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqleval.binding.reading import MOST_CLASSES
from sqleval.common.columns import TEXTS, WHOLE
from sqleval.inspection.columns import Facts
from sqleval.inspection.names import list_class_names, match_classes
from sqleval.inspection.rules import TESTS, Candidates, is_key, is_named_prediction

#: Columns whose values are read in search of a label.
_MOST_READ = 20


def find_by_values(
    facts: Sequence[Facts], count: Callable[[Facts], Mapping[Any, int]]
) -> Candidates:
    """Return the columns whose classes a prediction has, or that have a score for each class.

    ``count`` returns the classes of a column.
    """
    likely = [
        f
        for f in facts
        if f.column.kind in TEXTS | WHOLE and 2 <= f.distinct <= MOST_CLASSES and not is_key(f)
    ]
    predictions = [f for f in likely if is_named_prediction(f) and not TESTS["free text"](f)]
    others = [f for f in likely if f not in predictions][:_MOST_READ]
    if predictions:
        predicted = {*map(str, count(predictions[0]))}
        same = [f for f in others if _share(predicted, {*map(str, count(f))})]
        if same:
            reason = f"{{}}; {predictions[0].name} has these values"
            return Candidates(same[:1], same[1:], reason)
    scores = [f.name for f in facts if f.is_probability]
    for f in others if len(scores) > 2 else ():
        classes = list_class_names(count(f))
        if len(classes) > 2 and match_classes(classes, scores):
            return Candidates([f], [], "{}; each has a column of scores")
    return Candidates()


def _share(predicted: set[str], true: set[str]) -> bool:
    """Whether most values of a prediction are values of a label, and there are two or more."""
    both = len(predicted & true)
    return both >= 2 and 2 * both > max(len(predicted), len(true))
