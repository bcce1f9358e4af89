"""Parses the check of a gate: ``roc_auc >= 0.75``, ``drift(psi, baseline) < 0.2``."""

import re
from typing import Literal, NamedTuple

from sqleval.errors import RequestError

_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_COMPARISON = re.compile(r"\s*(?P<left>[^<>=]*(?:\(.*\))?)\s*(?P<op><=|>=|<|>)\s*(?P<right>[^<>]*)")
_CHANGE = re.compile(r"(?P<kind>drop|rise)\(\s*(?P<metric>.+?)\s*,\s*(?P<to>[^,]+?)\s*\)")
_REFERENCE = re.compile(r"baseline|previous\s+(?P<n>\d{1,6})")
_LIMIT = re.compile(
    rf"(?P<to>baseline|previous\s+\d{{1,6}})?(?:\s*\*\s*(?P<factor>{_NUMBER}))?"
    rf"\s*(?:(?P<sign>[+-])?\s*(?P<by>{_NUMBER}))?\s*"
)
_WORSE = re.compile(
    rf"\s*worse\(\s*(?P<metric>.+?)\s*,\s*(?P<to>[^,]+?)\s*\)\s*(?:<\s*(?P<by>{_NUMBER})\s*)?"
)
_DRIFT = re.compile(
    r"\s*drift\(\s*(?P<metric>.+?)(?:\s+of\s+(?P<of>\w+))?\s*,\s*(?P<to>[^,]+?)\s*\)"
    rf"\s*(?P<op><=?)\s*(?P<by>{_NUMBER})\s*"
)
_FORMS = (
    "write METRIC >= 0.75, METRIC <= baseline + 0.01, METRIC <= baseline * 1.1, "
    "METRIC >= previous 7 - 0.02, drop(METRIC, previous 7) < 0.02 or "
    "rise(METRIC, baseline) < 0.01, with <, <=, > or >=, or worse(METRIC, previous 28) < 0.01 or "
    "drift(psi, baseline) < 0.2"
)


class Check(NamedTuple):
    """A comparison of a value with a reference times a factor plus an offset.

    Attributes
    ----------
    metric : str
        A metric with its parameters, or one of `gates.SUBJECTS`.
    op : str
        ``<``, ``<=``, ``>`` or ``>=``, with the value on its left.
    reference : int, "baseline" or None
        The mean of this many previous periods, the mean of the baseline, or 0.
    offset : float
        The number to add to the reference; for ``worse``, the least effect.
    factor : float
        The number to multiply the reference with.
    is_worse : bool
        Whether it is the check ``worse``, which passes unless the metric got significantly worse.
    distribution : str
        What the check ``drift`` is of, such as ``score``; ``metric`` is then its measure. Empty for
        other checks.
    """

    metric: str
    op: str
    reference: int | Literal["baseline"] | None
    offset: float
    factor: float = 1.0
    is_worse: bool = False
    distribution: str = ""

    @property
    def is_expected(self) -> bool:
        """Whether it is on an expected metric, ``expected(roc_auc)``."""
        return self.metric.startswith("expected(")

    @property
    def is_drift(self) -> bool:
        """Whether it is the check ``drift``, of a period against the rows of a reference."""
        return bool(self.distribution)


def _parse_reference(text: str, check: str) -> int | Literal["baseline"]:
    match = _REFERENCE.fullmatch(text)
    if match is None or match["n"] == "0":
        raise RequestError(f"{check!r}: {text!r} is not a reference; write baseline or previous 7")
    return int(match["n"]) if match["n"] else "baseline"


def parse_check(text: str) -> Check:
    """Parse the check of a gate.

    Raises
    ------
    RequestError
        If it cannot be read; the message lists the valid forms.

    Examples
    --------
    >>> parse_check("drop(roc_auc, previous 7) < 0.02")[:4]
    ('roc_auc', '>', 7, -0.02)
    """
    if text.lstrip().startswith("worse("):
        return _parse_worse(text)
    if text.lstrip().startswith("drift("):
        return _parse_drift(text)
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None or not comparison["left"].strip():
        raise RequestError(f"cannot read the check {text!r}: {_FORMS}")
    left, op = comparison["left"].strip(), comparison["op"]
    right = comparison["right"].strip()
    limit = _LIMIT.fullmatch(right)
    is_signed = limit is not None and (limit["by"] or "").startswith(("+", "-"))
    if (
        limit is None
        or not (limit["to"] or limit["by"])
        or (limit["factor"] and not limit["to"])
        or (limit["sign"] and is_signed)
        or (limit["to"] and limit["by"] and not (limit["sign"] or is_signed))
    ):
        raise RequestError(f"{text!r}: {right!r} is not a limit: {_FORMS}")
    offset = float((limit["sign"] or "") + (limit["by"] or "0"))
    if (limit["to"] and left == "age") or re.match(r"(drop|rise)\(\s*age\s*,", left):
        raise RequestError(f"{text!r}: age must be compared with a number, such as age <= 1")
    change = _CHANGE.fullmatch(left)
    if change is None and left.startswith(("drop(", "rise(")):
        raise RequestError(f"cannot read {left!r} in the check {text!r}: {_FORMS}")
    if change is None:
        to = _parse_reference(limit["to"], text) if limit["to"] else None
        return Check(left, op, to, offset, float(limit["factor"] or 1))
    if limit["to"]:
        raise RequestError(f"{text!r}: a drop or a rise must be compared with a number")
    reference = _parse_reference(change["to"], text)
    # drop = reference - value, so that drop < x means value > reference - x.
    if change["kind"] == "drop":
        return Check(change["metric"], _FLIPPED[op], reference, -offset)
    return Check(change["metric"], op, reference, offset)


def _parse_worse(text: str) -> Check:
    match = _WORSE.fullmatch(text)
    if match is None:
        raise RequestError(
            f"cannot read the check {text!r}: write worse(METRIC, previous 28) or "
            "worse(METRIC, baseline), with the least effect: worse(METRIC, baseline) < 0.01"
        )
    least = float(match["by"] or 0)
    if least < 0:
        raise RequestError(f"{text!r}: the least effect {least:g} must not be negative")
    return Check(match["metric"], "<", _parse_reference(match["to"], text), least, is_worse=True)


def _parse_drift(text: str) -> Check:
    match = _DRIFT.fullmatch(text)
    if match is None:
        raise RequestError(
            f"cannot read the check {text!r}: write drift(psi, baseline) < 0.2, "
            "drift(ks of label, previous 28) <= 0.1 or drift(psi of mix, baseline) < 0.1"
        )
    reference = _parse_reference(match["to"], text)
    return Check(
        match["metric"], match["op"], reference, float(match["by"]),
        distribution=match["of"] or "score",
    )  # fmt: skip
