"""The slice keys of a job file: sets of columns, and of expressions in SQL with a name."""

from collections.abc import Mapping, Sequence

from sqleval.binding.slice_keys import has_quantiles
from sqleval.common.sql_text import quote

#: Names of columns, or names and the expressions that they stand for.
Keys = str | Sequence[str] | Mapping[str, str]


def list_key_sets(by: Keys, slices: Sequence[Keys] | None) -> list[list[str]]:
    """Return the sets of slice keys, by their names.

    Examples
    --------
    >>> list_key_sets([], [[], {"long": "distance > 1000"}])
    [[], ['long']]
    """
    sets = [by] if slices is None else slices
    return [[keys] if isinstance(keys, str) else [*keys] for keys in sets]


def find_expressions(by: Keys, slices: Sequence[Keys] | None) -> dict[str, str]:
    """Return the slice keys that are expressions, each with its SQL.

    Examples
    --------
    >>> find_expressions({"carrier": "carrier", "long": "distance > 1000"}, None)
    {'long': 'distance > 1000'}
    """
    named = _list_named([by] if slices is None else slices)
    return {name: text for name, text in named if text not in (name, quote(name))}


def _list_named(sets: Sequence[Keys]) -> list[tuple[str, str]]:
    return [pair for keys in sets if isinstance(keys, Mapping) for pair in keys.items()]


def check_slices(
    by: Keys, slices: Sequence[Keys] | None, *, has_models: bool, has_states: bool
) -> None:
    """Raise `ValueError` if slice keys contradict each other or the other keys of the job.

    Parameters
    ----------
    by, slices : as in the job file
        The slice keys.
    has_models : bool
        Whether results have a key ``model`` already.
    has_states : bool
        Whether the rows are states, which have their keys.
    """
    if by and slices is not None:
        raise ValueError("by and slices exclude each other; keep one")
    key_sets = list_key_sets(by, slices)
    if not key_sets:
        raise ValueError("slices: [] has no set of keys; write [[]] for all rows together")
    sets = [frozenset(keys) for keys in key_sets]
    if len({*sets}) < len(sets) or any(len({*k}) < len(k) for k in key_sets):
        raise ValueError(f"slices occur twice in {key_sets}")
    for key, is_taken in (("model", has_models), ("class", True)):
        if is_taken and any(key in keys for keys in sets):
            raise ValueError(
                f"{key!r} cannot be a slice key of this job: the history has a key of this name "
                f"for several {'models' if key == 'model' else 'classes'}; rename the column"
            )
    _check_expressions(_list_named([by] if slices is None else slices))
    if has_states and (names := find_expressions(by, slices)):
        raise ValueError(
            f"the slice key {next(iter(names))!r} is an expression, and states have their keys "
            "already; name it in the job that writes the states"
        )


def _check_expressions(named: Sequence[tuple[str, str]]) -> None:
    """Raise `ValueError` if a key is two expressions, or one that has no meaning in a period."""
    expressions: dict[str, str] = {}
    for name, text in named:
        if expressions.setdefault(name, text) != text:
            raise ValueError(
                f"the slice key {name!r} is {expressions[name]!r} in one set of keys and {text!r} "
                "in another; give one of them another name"
            )
        if has_quantiles(text):
            raise ValueError(
                f"the slice key {name!r} is {text!r}: qcut() takes the ends of its intervals from "
                "the rows, so that each period would have other slices; give the ends, as in "
                "cut(age, [18, 30, 65])"
            )
