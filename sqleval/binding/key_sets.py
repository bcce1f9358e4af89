"""Parses ``sets=``: the sets of slice keys to group by."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from sqleval.binding.binding import name_set
from sqleval.binding.lookup import list_names
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError

#: A limit, because each set reads a copy of every row.
_MOST_SETS = 4096


#: The values of ``sets=`` that are names: functions from the keys to the sets.
_NAMED: Mapping[str, Callable[[Sequence[str]], list[tuple[str, ...]]]] = {
    "overall": lambda keys: [(), tuple(keys)],
    "rollup": lambda keys: [tuple(keys[:n]) for n in range(len(keys) + 1)],
    "cube": lambda keys: [each for n in range(len(keys) + 1) for each in combinations(keys, n)],
}


def parse_sets(
    sets: str | Sequence[Sequence[str]] | None, keys: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the sets of slice keys to group by."""
    if sets is None:
        return []
    if not keys:
        raise RequestError(f"sets={sets!r} needs by=, the keys of the sets")
    if "by" in keys:
        raise RequestError("by= names 'by', which is the key that sets= adds")
    key_sets = _list_sets(sets, keys)
    for each in key_sets:
        _check_set(each, keys)
        if key_sets.count(each) > 1:
            raise RequestError(f"sets= has {list(each)} twice")
    if not key_sets:
        raise RequestError("sets= is empty")
    called = [name_set(each) for each in key_sets]
    for name in called:
        if called.count(name) > 1:
            raise RequestError(f"by=: two sets of keys would be called {name!r}; rename a key")
    return key_sets


def _list_sets(sets: str | Sequence[Sequence[str]], keys: Sequence[str]) -> list[tuple[str, ...]]:
    if isinstance(sets, str) and sets in _NAMED:
        if sets == "cube":
            _check_number(2 ** len(keys), f"sets='cube' of {len(keys)} keys")
        return _NAMED[sets](keys)
    if isinstance(sets, str) or not isinstance(sets, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RequestError(f"sets={sets!r} must be 'overall', 'rollup', 'cube' or a list of sets")
    listed = [*sets]
    _check_number(len(listed), "sets=")
    return [tuple(list_names(each, "sets")) for each in listed]


def _check_set(names: Sequence[str], keys: Sequence[str]) -> None:
    for key in names:
        if key not in keys:
            raise RequestError(
                f"sets= names {key!r}, which is not in by={list(keys)}{find_nearest(key, keys)}; "
                "overall, rollup and cube are sets by themselves"
            )


def _check_number(count: int, what: str) -> None:
    if count > _MOST_SETS:
        raise RequestError(
            f"{what} has {count:,} sets, and at most {_MOST_SETS:,} are evaluated; list those that "
            "you need, such as [['a', 'b'], ['a']] (--sets 'a,b;a'), or take 'rollup'"
        )
