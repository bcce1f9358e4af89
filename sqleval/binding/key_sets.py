"""Reads the sets of slice keys to group by."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from sqleval.binding.binding import name_set
from sqleval.binding.lookup import list_names
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError

#: Each set is a copy of every row.
_MOST_SETS = 4096


def parse_sets(
    sets: str | Sequence[Sequence[str]] | None, keys: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the sets of slice keys to group by, one set after another."""
    if sets is None:
        return []
    if not keys:
        raise RequestError(f"sets={sets!r} needs by=, the keys that the sets are of")
    if "by" in keys:
        raise RequestError("by= names 'by', which is the key that sets= adds")
    key_sets: list[tuple[str, ...]]
    if sets == "overall":
        key_sets = [(), tuple(keys)]
    elif sets == "rollup":
        key_sets = [tuple(keys[:n]) for n in range(len(keys) + 1)]
    elif sets == "cube":
        _check_number(2 ** len(keys), f"sets='cube' of {len(keys)} keys")
        key_sets = [chosen for n in range(len(keys) + 1) for chosen in combinations(keys, n)]
    elif isinstance(sets, str) or not isinstance(sets, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RequestError(f"sets={sets!r} must be 'overall', 'rollup', 'cube' or a list of sets")
    else:
        listed = [*sets]
        _check_number(len(listed), "sets=")
        key_sets = [tuple(list_names(each, "sets")) for each in listed]
    for each in key_sets:
        for key in each:
            if key not in keys:
                raise RequestError(
                    f"sets= names {key!r}, which is not in "
                    f"by={list(keys)}{find_nearest(key, keys)}; "
                    "overall, rollup and cube are sets by themselves"
                )
        if key_sets.count(each) > 1:
            raise RequestError(f"sets= has {list(each)} twice")
    if not key_sets:
        raise RequestError("sets= is empty")
    called = [name_set(each) for each in key_sets]
    for name in called:
        if called.count(name) > 1:
            raise RequestError(f"by=: two sets of keys would be called {name!r}; rename a key")
    return key_sets


def _check_number(count: int, what: str) -> None:
    if count > _MOST_SETS:
        raise RequestError(
            f"{what} has {count:,} sets, and at most {_MOST_SETS:,} are evaluated; list those that "
            "you need, such as [['a', 'b'], ['a']] (--sets 'a,b;a'), or take 'rollup'"
        )
