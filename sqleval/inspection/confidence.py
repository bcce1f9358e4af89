"""Recognises a score that is the confidence of the predicted class."""

from collections.abc import Sequence

from sqleval.common.columns import is_number
from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.shape import Look, Shape, is_text, write_value

#: Confidences are often rounded, so that the lowest one is a little below 1 / k.
_ROUNDING = 0.005


def count_confident(data: Inspection, scores: Sequence[Facts], predictions: Sequence[Facts]) -> int:
    """Return k if no score is below 1/k, whichever of the k classes is predicted; 0 otherwise."""
    if data.label is None or len(data.classes) < 2 or len(scores) != 1 or not predictions:
        return 0
    score, prediction = scores[0], predictions[0]
    if not score.is_probability or not _is_of_classes(data.label, prediction):
        return 0
    select, tail = f"{prediction.value}, MIN({score.value})", " GROUP BY 1 LIMIT 100"
    test = f" WHERE {prediction.value} IS NOT NULL AND {score.value} IS NOT NULL"
    rows = read_rows(data.source, select, [prediction.name, score.name], test + tail)
    k = len({_write_class(v) for v, _ in rows} | {_write_class(v) for v in data.classes})
    if len(rows) < 2 or any(low < 1 / k - _ROUNDING for _, low in rows):
        return 0
    return k


def _is_of_classes(label: Facts, prediction: Facts) -> bool:
    """Whether label and prediction can be compared in SQL as they are."""
    both = is_number(label.column.type) and is_number(prediction.column.type)
    return both or label.column.kind == prediction.column.kind or _are_texts(label, prediction)


def _are_texts(*facts: Facts) -> bool:
    return all(map(is_text, facts))


def _write_class(value: object) -> str:
    return write_value(value)


def describe_confidence(
    data: Inspection, label: Facts, score: Facts, prediction: Facts, k: int
) -> Shape:
    """Return the shape of a confidence of k classes, with the evaluations to run."""
    truth, predicted, p = (write_name(f.name) for f in (label, prediction, score))
    calibration = Look(
        "calibration of the predicted class: AUC and Brier score of being right",
        {"label": f"{truth} = {predicted}", "score": score.name},
    )
    names = (label.name, prediction.name, score.name)
    reason = f"{score.name} is never below 1/{k}, whichever class is predicted"
    if k > 2:
        options = {"label": label.name, "prediction": prediction.name, "task": "multiclass"}
        advice = "it belongs to the predicted class, so it is no score of one class"
        looks = [Look("all rows", options), calibration]
        return Shape("confidence of the predicted class", names, reason, advice, looks)
    positive = write_value(data.positive_value)
    value = next(v for v in data.classes if str(v) == str(data.positive_value))
    is_one = predicted if isinstance(value, bool) else f"{predicted} = {positive}"
    options = {
        "label": label.name,
        "score": f"CASE WHEN {is_one} THEN {p} ELSE 1 - {p} END",
        "prediction": prediction.name,
    }
    if value not in (1, True):
        options["positive"] = str(value)
    advice = (
        "the score of the positive class is 1 minus the confidence where the other class is "
        "predicted"
    )
    looks = [Look("all rows, with the score of the positive class", options), calibration]
    return Shape("confidence of the predicted class", names, reason, advice, looks)
