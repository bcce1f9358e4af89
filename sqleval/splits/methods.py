"""Defines the methods of splitting and their options."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from sqleval.common.names import find_nearest
from sqleval.common.numbers import convert_scalar, is_real_number
from sqleval.errors import RequestError


class Method(NamedTuple):
    """A method of splitting.

    Attributes
    ----------
    file : str
        The file under ``sql/split``.
    takes : frozenset of str
        Its options, besides ``key`` and ``where``.
    repeats : int
        Its default number of repeats.
    """

    file: str
    takes: frozenset[str]
    repeats: int = 1


def _create_method(file: str, takes: str, repeats: int = 1) -> Method:
    return Method(file, frozenset(takes.split()), repeats)


#: The options of methods with random folds.
_RANDOM = "stratify group repeats seed"
METHODS: Mapping[str, Method] = {
    "holdout": _create_method("holdout", f"{_RANDOM} test_size time gap"),
    "repeated_holdout": _create_method("holdout", f"{_RANDOM} test_size", 100),
    "kfold": _create_method("kfold", f"{_RANDOM} n_splits"),
    "repeated_kfold": _create_method("kfold", f"{_RANDOM} n_splits", 10),
    "nested_kfold": _create_method("nested_kfold", f"{_RANDOM} n_splits"),
    "leave_one_out": _create_method("leave_one_out", "seed"),
    "leave_p_groups_out": _create_method("leave_one_out", "group p seed"),
    "bootstrap": _create_method("bootstrap", _RANDOM),
    "expanding": _create_method("expanding", "time n_splits gap"),
    "sliding": _create_method("sliding", "time n_splits gap window"),
    "hash_holdout": _create_method("hash_holdout", "group repeats seed test_size"),
    "hash_kfold": _create_method("hash_kfold", "group repeats seed n_splits"),
}
#: Default values of options.
DEFAULTS: Mapping[str, Any] = {"test_size": 0.3, "n_splits": 10, "seed": 0, "gap": 0, "p": 1}
#: Seconds by unit of time.
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_seconds(option: str, span: float | str | timedelta) -> float:
    """Return a span of time (``7d``, ``36h``, ``90min``) in seconds, or a number unchanged.

    Examples
    --------
    >>> parse_seconds("gap", "7d")
    604800.0
    """
    if isinstance(span, timedelta):
        return span.total_seconds()
    if not isinstance(span, str):
        number = convert_scalar(span)
        if not is_real_number(number):
            raise RequestError(f"{option}={span!r} must be a number, or a span such as '7d'")
        return float(number)
    number = span.strip().rstrip("smindhw")
    unit = span.strip()[len(number) :]
    try:
        return float(number) * _SECONDS[unit]
    except (ValueError, KeyError):
        raise RequestError(
            f"{option}={span!r} is not a span of time; write 7d, 36h, 90min or 30s"
        ) from None


def find_method(name: str, options: Mapping[str, Any]) -> Method:
    """Return the method of a name, after checking its options.

    Raises
    ------
    RequestError
        If there is no such method, or an option does not fit it.
    """
    if name not in METHODS:
        raise RequestError(
            f"no method {name!r}{find_nearest(name, METHODS)} (methods: {', '.join(METHODS)})"
        )
    method = METHODS[name]
    if options.get("time") and name == "holdout":
        method = Method("holdout_by_time", frozenset({"test_size", "time", "gap"}))
    elif name == "holdout":
        method = method._replace(takes=method.takes - {"gap"})
    for option, value in options.items():
        value = convert_scalar(value)  # NumPy's numbers cannot be compared with a list
        is_default = value in (None, [], DEFAULTS.get(option))
        if not is_default and option not in method.takes:
            takes = ", ".join(sorted(method.takes))
            raise RequestError(f"{option}= does not go with method={name!r}, which takes {takes}")
    for option, is_needed in (("time", name in ("expanding", "sliding")),
                           ("window", name == "sliding"),
                           ("group", name == "leave_p_groups_out")):  # fmt: skip
        if is_needed and not options.get(option):
            raise RequestError(f"method={name!r} needs {option}=")
    p = convert_scalar(options["p"])
    if not isinstance(p, int) or p < 1:
        raise RequestError(f"p={p!r} must be a whole number from 1 on")
    return method if p == 1 else method._replace(file="leave_p_out")
