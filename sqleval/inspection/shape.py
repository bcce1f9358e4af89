"""Defines a shape of rows, and finds the columns that rules of shapes ask for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqleval.common.columns import TEXTS
from sqleval.common.sql_text import write_literal, write_name
from sqleval.inspection.columns import Facts
from sqleval.inspection.rules import TESTS


class Look(NamedTuple):
    """An evaluation to run.

    Attributes
    ----------
    what : str
        Its description.
    options : mapping of str to object
        Its arguments: those of `scan` and of `evaluate`.
    query : str, optional
        The rows as a query, in which ``{}`` stands for the source. Only files can have it.
    verb : str
        The command.
    """

    what: str
    options: Mapping[str, Any]
    query: str | None = None
    verb: str = "evaluate"


@dataclass(frozen=True)
class Shape:
    """A shape in which rows hold predictions, other than a column for each role.

    Attributes
    ----------
    name : str
        What the rows are.
    columns : tuple of str
        The columns by which it was recognised.
    reason : str
        How it was recognised.
    advice : str
        What can be computed now.
    looks : sequence of Look
        The evaluations to run; if it is not clear which is right, one for each reading.
    is_open : bool
        Whether roles and commands are suggested as without the shape, too.
    """

    name: str
    columns: tuple[str, ...]
    reason: str
    advice: str = ""
    looks: Sequence[Look] = ()
    is_open: bool = field(default=False)


def compile_names(pattern: str) -> re.Pattern[str]:
    """Return the pattern of whole names, in upper or lower case."""
    return re.compile(pattern, re.IGNORECASE)


def pick(facts: Sequence[Facts], names: re.Pattern[str], *tests: str) -> Facts | None:
    """Return the first column with such a name whose values pass the tests (`rules.TESTS`)."""
    return next(iter(pick_all(facts, names, *tests)), None)


def pick_all(facts: Sequence[Facts], names: re.Pattern[str], *tests: str) -> list[Facts]:
    """Return the columns with such a name whose values pass the tests."""
    return [f for f in facts if names.fullmatch(f.name) and all(TESTS[test](f) for test in tests)]


def write_value(value: object) -> str:
    """Return a value of a column as SQL."""
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value:g}" if isinstance(value, (int, float)) else write_literal(str(value))


def write_is_one(facts: Facts) -> str:
    """Return the condition that a column of two values has the higher one."""
    name = write_name(facts.name)
    return name if facts.column.kind == "boolean" else f"{name} = {write_value(facts.high)}"


def is_text(facts: Facts) -> bool:
    """Whether a column holds texts."""
    return facts.column.kind in TEXTS


def list_label_looks(options: Mapping[str, Any]) -> list[Look]:
    """Return the evaluations of rows of many labels, whose roles are ``options``."""
    return [
        Look("averages over labels and over rows", options),
        Look("each label by itself", {**options, "metric": "f1(average=None)"}),
    ]
