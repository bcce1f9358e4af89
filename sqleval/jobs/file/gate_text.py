"""Parses the check of a gate: ``roc_auc >= 0.75``, ``drift(psi, baseline) < 0.2``."""

import re
from typing import Literal, NamedTuple

from sqleval.catalog import builtin, request
from sqleval.catalog.calls import CUTOFF
from sqleval.errors import RequestError

_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_UNSIGNED = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = rf"[+-]?{_UNSIGNED}"
_COMPARISON = re.compile(
    r"\s*(?P<left>[^<>=]*(?:\(.*\)(?:@\d+)?)?)\s*(?P<op><=|>=|<|>)\s*(?P<right>[^<>]*)"
)
_CHANGE = re.compile(r"(?P<kind>drop|rise)\(\s*(?P<metric>.+?)\s*,\s*(?P<to>[^,]+?)\s*\)")
_REFERENCE = re.compile(r"baseline|previous\s+(?P<n>\d{1,6})")
_LIMIT = re.compile(
    rf"(?P<to>baseline|previous\s+\d{{1,6}})(?:\s*\*\s*(?P<factor>{_NUMBER}))?"
    rf"(?:\s*(?P<by>[+-]\s*{_UNSIGNED}))?|(?P<number>[+-]?\s*{_UNSIGNED})"
)
_WORSE = re.compile(
    rf"\s*worse\(\s*(?P<metric>.+?)\s*,\s*(?P<to>[^,]+?)\s*\)\s*(?:<\s*(?P<by>{_NUMBER})\s*)?"
)
_DRIFT = re.compile(
    r"\s*drift\(\s*(?P<metric>.+?)(?:\s+of\s+(?P<of>\w+))?\s*,\s*(?P<to>[^,]+?)\s*\)"
    rf"\s*(?P<op><=?)\s*(?P<by>{_NUMBER})\s*"
)
_AGE = "age must be compared with a number, such as age <= 1"
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
        What the check ``drift`` compares, such as ``score``; ``metric`` is then its measure. Empty
        for other checks.
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
        """Whether the check is on an expected metric, ``expected(roc_auc)``."""
        return self.metric.startswith("expected(")

    @property
    def is_drift(self) -> bool:
        """Whether it is the check ``drift``, which compares a period with a reference's rows."""
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
    check = _parse_form(text)
    return check._replace(metric=_spell_out(check.metric)) if CUTOFF in check.metric else check


def _spell_out(metric: str) -> str:
    """Return ``ndcg@10`` as results name it: ``ndcg(k=10)``."""
    (task,) = builtin().get(request.find_name(metric)).tasks[:1]
    return request.format_request(request.parse(metric, task))


def _parse_form(text: str) -> Check:
    for start, parse in (("worse(", _parse_worse), ("drift(", _parse_drift)):
        if text.lstrip().startswith(start):
            return parse(text)
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None or not comparison["left"].strip():
        raise RequestError(f"cannot read the check {text!r}: {_FORMS}")
    left, op, right = (comparison[part].strip() for part in ("left", "op", "right"))
    limit = _LIMIT.fullmatch(right)
    if limit is None:
        raise RequestError(f"{text!r}: {right!r} is not a limit: {_FORMS}")
    offset = float("".join((limit["number"] or limit["by"] or "0").split()))
    if left.startswith(("drop(", "rise(")):
        return _parse_change(text, left, Check("", op, None, offset), limit["to"])
    if limit["to"] is None:
        return Check(left, op, None, offset)
    if left == "age":
        raise RequestError(f"{text!r}: {_AGE}")
    return Check(left, op, _parse_reference(limit["to"], text), offset, float(limit["factor"] or 1))


def _parse_change(text: str, left: str, check: Check, to: str | None) -> Check:
    """Return the check that a drop or a rise is less than a number, the offset of ``check``."""
    change = _CHANGE.fullmatch(left)
    if change is None:
        raise RequestError(f"cannot read {left!r} in the check {text!r}: {_FORMS}")
    if change["metric"] == "age":
        raise RequestError(f"{text!r}: {_AGE}")
    if to is not None:
        raise RequestError(f"{text!r}: a drop or a rise must be compared with a number")
    check = check._replace(metric=change["metric"], reference=_parse_reference(change["to"], text))
    # drop = reference - value, so that drop < x means value > reference - x.
    is_drop = change["kind"] == "drop"
    return check._replace(op=_FLIPPED[check.op], offset=-check.offset) if is_drop else check


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
