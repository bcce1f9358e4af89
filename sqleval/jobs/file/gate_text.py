"""What a gate says: ``roc_auc >= 0.75``, ``drop(roc_auc, previous 7) < 0.02``."""

import re
from typing import Literal, NamedTuple

from sqleval.errors import RequestError

#: What a gate can look at besides metrics, and what it is.
SUBJECTS = {
    "rows": "rows of a period or slice, used or left out",
    "matured": "share of a period's rows that have a label",
    "age": "whole periods between the last one with rows and the last one that is over",
}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_COMPARISON = re.compile(r"\s*(?P<left>[^<>=]*(?:\(.*\))?)\s*(?P<op><=|>=|<|>)\s*(?P<right>[^<>]*)")
_CHANGE = re.compile(r"(?P<kind>drop|rise)\(\s*(?P<metric>.+?)\s*,\s*(?P<to>[^,]+?)\s*\)")
_REFERENCE = re.compile(r"baseline|previous\s+(?P<n>\d+)")
_LIMIT = re.compile(
    rf"(?P<to>baseline|previous\s+\d+)?\s*(?:(?P<sign>[+-])?\s*(?P<by>{_NUMBER}))?\s*"
)
_FORMS = (
    "write METRIC >= 0.75, METRIC <= baseline + 0.01, METRIC >= previous 7 - 0.02, "
    "drop(METRIC, previous 7) < 0.02 or rise(METRIC, baseline) < 0.01, with <, <=, > or >="
)


class Check(NamedTuple):
    """A comparison: the metric's value with a reference and an offset.

    Attributes
    ----------
    metric : str
        A metric with its parameters, or one of `SUBJECTS`.
    op : str
        One of ``<``, ``<=``, ``>`` and ``>=``; the value stands left of it.
    reference : int, "baseline" or None
        The mean of so many periods before, of the baseline's, or nothing.
    offset : float
        What is added to the reference.
    """

    metric: str
    op: str
    reference: int | Literal["baseline"] | None
    offset: float


def _reference(text: str, whole: str) -> int | Literal["baseline"]:
    found = _REFERENCE.fullmatch(text)
    if found is None or found["n"] == "0":
        raise RequestError(f"{whole!r}: {text!r} is no reference; write baseline or previous 7")
    return int(found["n"]) if found["n"] else "baseline"


def parse(text: str) -> Check:
    """Read a gate's check.

    Raises
    ------
    RequestError
        If it is none; the message shows the forms.

    Examples
    --------
    >>> parse("drop(roc_auc, previous 7) < 0.02")
    Check(metric='roc_auc', op='>', reference=7, offset=-0.02)
    """
    found = _COMPARISON.fullmatch(text)
    if found is None or not found["left"].strip():
        raise RequestError(f"cannot read the check {text!r}: {_FORMS}")
    left, op = found["left"].strip(), found["op"]
    limit = _LIMIT.fullmatch(found["right"].strip())
    signed = limit is not None and (limit["by"] or "").startswith(("+", "-"))
    if (
        limit is None
        or not (limit["to"] or limit["by"])
        or (limit["sign"] and signed)
        or (limit["to"] and limit["by"] and not (limit["sign"] or signed))
    ):
        raise RequestError(f"{text!r}: {found['right'].strip()!r} is no limit: {_FORMS}")
    offset = float((limit["sign"] or "") + (limit["by"] or "0"))
    if (limit["to"] and left == "age") or re.match(r"(drop|rise)\(\s*age\s*,", left):
        raise RequestError(f"{text!r}: age is compared with a number, such as age <= 1")
    change = _CHANGE.fullmatch(left)
    if change is None and left.startswith(("drop(", "rise(")):
        raise RequestError(f"cannot read {left!r} in the check {text!r}: {_FORMS}")
    if change is None:
        return Check(left, op, _reference(limit["to"], text) if limit["to"] else None, offset)
    if limit["to"]:
        raise RequestError(f"{text!r}: a drop or a rise is compared with a number")
    reference = _reference(change["to"], text)
    # A drop is the reference less the value, so drop < x says value > reference - x.
    if change["kind"] == "drop":
        return Check(change["metric"], _FLIPPED[op], reference, -offset)
    return Check(change["metric"], op, reference, offset)
