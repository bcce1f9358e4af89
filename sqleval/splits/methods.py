"""The methods of splitting, and which options each of them has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqleval.common.names import nearest
from sqleval.errors import RequestError


class Method(NamedTuple):
    """A way to split.

    Attributes
    ----------
    file : str
        The file under ``sql/split``.
    takes : frozenset of str
        The options that it has, besides ``key`` and ``where``.
    repeats : int
        How often it is repeated if that is not said.
    """

    file: str
    takes: frozenset[str]
    repeats: int = 1


def _method(file: str, takes: str, repeats: int = 1) -> Method:
    return Method(file, frozenset(takes.split()), repeats)


_DRAWN = "stratify group repeats seed"
METHODS: Mapping[str, Method] = {
    "holdout": _method("holdout", f"{_DRAWN} test_size time gap"),
    "repeated_holdout": _method("holdout", f"{_DRAWN} test_size", 100),
    "kfold": _method("kfold", f"{_DRAWN} n_splits"),
    "repeated_kfold": _method("kfold", f"{_DRAWN} n_splits", 10),
    "nested_kfold": _method("nested_kfold", f"{_DRAWN} n_splits"),
    "leave_one_out": _method("leave_one_out", "seed"),
    "leave_p_groups_out": _method("leave_one_out", "group p seed"),
    "bootstrap": _method("bootstrap", _DRAWN),
    "expanding": _method("expanding", "time n_splits gap"),
    "sliding": _method("sliding", "time n_splits gap window"),
    "hash_holdout": _method("hash_holdout", "group repeats seed test_size"),
    "hash_kfold": _method("hash_kfold", "group repeats seed n_splits"),
}
#: What an option is that is not given.
DEFAULTS: Mapping[str, Any] = {"test_size": 0.3, "n_splits": 10, "seed": 0, "gap": 0, "p": 1}
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(where: str, given: float | str) -> float:
    """Return a span of time as a number: as it is, or ``7d``, ``36h``, ``90min`` in seconds.

    Examples
    --------
    >>> seconds("gap", "7d")
    604800.0
    """
    if not isinstance(given, str):
        return float(given)
    number = given.strip().rstrip("smindhw")
    unit = given.strip()[len(number) :]
    try:
        return float(number) * _SECONDS[unit]
    except (ValueError, KeyError):
        raise RequestError(f"{where}={given!r} is no span; write 7d, 36h, 90min or 30s") from None


def method_of(name: str, given: Mapping[str, Any]) -> Method:
    """Return the method that is meant, or raise if an option is none of its own."""
    if name not in METHODS:
        raise RequestError(
            f"no method {name!r}{nearest(name, METHODS)} (methods: {', '.join(METHODS)})"
        )
    method = METHODS[name]
    if given.get("time") and name == "holdout":
        method = Method("holdout_by_time", frozenset({"test_size", "time", "gap"}))
    elif name == "holdout":
        method = method._replace(takes=method.takes - {"gap"} | {"time"})
    for option, value in given.items():
        empty = value in (None, [], DEFAULTS.get(option))
        if not empty and option not in method.takes:
            takes = ", ".join(sorted(method.takes))
            raise RequestError(f"{option}= does not go with method={name!r}, which takes {takes}")
    for option, needed in (("time", name in ("expanding", "sliding")),
                           ("window", name == "sliding"),
                           ("group", name == "leave_p_groups_out")):  # fmt: skip
        if needed and not given.get(option):
            raise RequestError(f"method={name!r} needs {option}=")
    p = given["p"]
    if not isinstance(p, int) or p < 1:
        raise RequestError(f"p={p!r} must be a whole number from 1 on")
    return method if p == 1 else method._replace(file="leave_p_out")
