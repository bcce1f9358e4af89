"""Finds the known name nearest to one that a user has typed."""

from collections.abc import Iterable


def find_nearest(name: object, names: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the most similar of ``names``, or an empty text.

    Names that begin with ``name`` come first.
    """
    from difflib import get_close_matches  # late: only an error needs it

    # A caller may have passed a number, whose text may be the name.
    typed, folded = str(name).casefold(), {each.casefold(): each for each in names}
    longer = sorted(each for each in folded if each.startswith(f"{typed}_"))
    # An abbreviation, such as acc.
    longer = longer or sorted(each for each in folded if len(typed) > 2 and each.startswith(typed))
    close = [typed] if typed in folded else longer[:3] or get_close_matches(typed, folded, n=1)
    return f"; did you mean {' or '.join(repr(folded[each]) for each in close)}?" if close else ""
