"""Names that users type: quoting them for SQL, and finding the nearest known one."""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name most like ``name``, or nothing."""
    from difflib import get_close_matches  # late: only an error needs it

    folded = {each.casefold(): each for each in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""
