"""Defines a finding of an inspection, and formats its texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: The largest number of columns that are named as alternatives.
MOST_OTHERS = 5
Section = Literal["problem", "role", "column", "command"]


@dataclass(frozen=True)
class Finding:
    """One line of an inspection.

    Attributes
    ----------
    check : str
        The name of the check.
    column : str or None
        The column, if the finding is about one.
    value : str
        The result of the check.
    advice : str or None
        The option or command that helps, if something should be done.
    section : {"problem", "role", "column", "command"}
        The kind of finding: a problem to look at first, the role of a column, the content of a
        column, or a command to run.
    """

    check: str
    column: str | None
    value: str
    advice: str | None = None
    section: Section = "column"


def problem(check: str, column: str | None, value: str, advice: str | None = None) -> Finding:
    """Return a problem."""
    return Finding(check, column, value, advice, "problem")


def list_first(words: Sequence[str], more: str = ", and {} more", most: int = MOST_OTHERS) -> str:
    """Return the first of some words, and how many more there are."""
    left = len(words) - most
    return ", ".join(words[:most]) + (more.format(left) if left > 0 else "")


def format_share(part: float, whole: float) -> str:
    """Return a share in percent, with two significant digits."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.3g} %" if percent > 99 else f"{percent:.2g} %"


def format_number(value: object) -> str:
    """Return a value of a column as a short text."""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = " ".join(str(value).split())
    return text if len(text) <= 24 else f"{text[:21]}..."
