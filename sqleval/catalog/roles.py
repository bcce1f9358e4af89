"""The table of roles: the values that each role's column holds, and how they are treated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sqleval.common.columns import NUMBERS, TEXTS, Kind
from sqleval.common.names import find_nearest

#: The kinds of values of roles. A label's values depend on the task; a score may be infinite.
Values = Literal[
    "label", "score", "value", "number", "whole", "two classes", "class", "text", "time", "list"
]


@dataclass(frozen=True)
class ValueFacts:
    """The types that a column may have, how it is read, and the values that the audit refuses.

    Attributes
    ----------
    words : str
        The words of an error for the column's type.
    kinds : frozenset of str
        The kinds of its types; if empty, any kind with one value per row.
    type : str
        The type in ``predictions``; the column's type if empty.
    is_finite : bool
        Whether a value must be finite.
    wrong : str
        The SQL test of a present value (``{0}``) that is not allowed.
    must : str
        The words of an error for the allowed values.
    """

    words: str = "one value in each row"
    kinds: frozenset[Kind] = frozenset()
    type: str = ""
    is_finite: bool = False
    wrong: str = ""
    must: str = ""


_TRUTHS: frozenset[Kind] = frozenset({"boolean"})
#: Larger whole numbers are not exact as DOUBLE.
_LARGEST_WHOLE = "9007199254740992"
VALUES: Mapping[Values, ValueFacts] = {
    "label": ValueFacts(),
    "score": ValueFacts("a number", NUMBERS | _TRUTHS, "DOUBLE"),
    "value": ValueFacts("a number or a truth value", NUMBERS | _TRUTHS, "DOUBLE", is_finite=True),
    "number": ValueFacts("a number", NUMBERS, "DOUBLE", is_finite=True),
    "whole": ValueFacts(
        "a number", NUMBERS, "DOUBLE", is_finite=True,
        wrong=f"{{0}} <> FLOOR({{0}}) OR ABS({{0}}) > {_LARGEST_WHOLE}", must="whole numbers",
    ),
    "two classes": ValueFacts(
        "a number or a truth value", NUMBERS | _TRUTHS, "TINYINT",
        wrong="{0} NOT IN (0, 1)", must="0 and 1",
    ),
    "class": ValueFacts(),
    "text": ValueFacts("a text", TEXTS, "VARCHAR"),
    "time": ValueFacts("a date or a time", frozenset({"date", "timestamp", "instant"})),
    "list": ValueFacts("a list in each row", frozenset({"nested"})),
}  # fmt: skip


@dataclass(frozen=True)
class RoleFacts:
    """The facts about a role.

    Attributes
    ----------
    argument : str
        The argument, the option and the key of a job that bind it.
    values : str
        The values of its column, a key of `VALUES`; the audit's counts follow from it.
    help : str
        Its description in one line.
    metavar : str
        The placeholder of its option: ``COLUMN``, or another one if it may name several columns.
    allowed : tuple of str
        The only values that it may have; if empty, any.
    may_be_negative : bool
        Whether a number may be below 0.
    is_key : bool
        Whether its values are keys of the result.
    is_size : bool
        Whether it is the number of rows that a row stands for.
    is_kept : bool
        Whether cells, bins, states and pairs keep its values. The score is kept rounded.
    is_bound : bool
        Whether `sqleval.scan` binds it; otherwise it is an option of a verb.
    """

    argument: str
    values: Values
    help: str
    metavar: str = "COLUMN"
    allowed: tuple[str, ...] = ()
    may_be_negative: bool = True
    is_key: bool = False
    is_size: bool = False
    is_kept: bool = True
    is_bound: bool = True

    @property
    def value_facts(self) -> ValueFacts:
        """The types that its column may have, and how it is read."""
        return VALUES[self.values]

    @property
    def is_single(self) -> bool:
        """Whether it is a single column, instead of one per model, class or count."""
        return self.metavar == "COLUMN"

    @property
    def is_column(self) -> bool:
        """Whether ``predictions`` has a column with its name."""
        return self.is_bound and not self.is_key and not self.is_size

    @property
    def is_further(self) -> bool:
        """Whether ``predictions`` has its values unchanged, next to `JUDGED`."""
        return self.is_column and self.values not in ("label", "score", "value")


ROLES: dict[str, RoleFacts] = {
    "label": RoleFacts(
        "label", "label",
        "Column of the truth, a list if a row has many labels; or repeat NAME=COLUMN for each of "
        "the labels.",
        metavar="COLUMN|NAME=COLUMN",
    ),
    "score": RoleFacts(
        "score", "score",
        "Score; repeat NAME=COLUMN for several models, classes or labels, and MODEL.CLASS=COLUMN "
        "for several models of several labels, or with --task multiclass of several classes.",
        metavar="COLUMN|NAME=COLUMN",
    ),
    "prediction": RoleFacts(
        "prediction", "label",
        "Predicted class or value; repeat NAME=COLUMN for several models.",
        metavar="COLUMN|NAME=COLUMN",
    ),
    "value": RoleFacts(
        "value", "value",
        "Column that is summarised by itself, without a label: a judgement of 0 and 1, a number of "
        "points; repeat NAME=COLUMN for several models.",
        metavar="COLUMN|NAME=COLUMN",
    ),
    "weight": RoleFacts(
        "weight", "number", "Column of sampling weights, 0 or more.",
        may_be_negative=False, is_size=True, is_kept=False,
    ),
    "count": RoleFacts(
        "counts", "whole",
        "Column of row counts, or tp=, fp=, fn= and tn= of a confusion matrix; only the counts "
        "that the metrics read are needed.",
        metavar="COLUMN|CELL=COLUMN,...", may_be_negative=False, is_size=True, is_kept=False,
    ),
    "query": RoleFacts("qid", "class", "Column of the query of a ranked row."),
    "item": RoleFacts("item", "class", "Column of the item of a ranked row."),
    "role": RoleFacts(
        "role", "text",
        "Column with train, validation and test: one result per role, and the gap.",
        allowed=("train", "validation", "test"), is_key=True,
    ),
    "cluster": RoleFacts(
        "cluster", "class", "Column of clusters, such as users, whose rows belong together.",
        is_kept=False, is_bound=False,
    ),
}  # fmt: skip

#: The roles whose values metrics judge, in the order of their columns.
JUDGED = ("label", "prediction", "score", "value")
#: The arguments that the signatures of functions write out.
_EXPLICIT = frozenset(
    {"label", "score", "prediction", "value", "weight", "counts", "qid", "item", "role"}
)


def name_argument(role: str) -> str:
    """Return the name of the argument that binds a role.

    Examples
    --------
    >>> name_argument("query"), name_argument("label")
    ('qid', 'label')
    """
    return ROLES[role].argument if role in ROLES else role


def must_be_finite(role: str) -> bool:
    """Whether a value must be finite; an infinite score still ranks."""
    return ROLES[role].value_facts.is_finite


def list_columns() -> frozenset[str]:
    """Return the columns of ``predictions`` that are roles."""
    return frozenset(role for role, facts in ROLES.items() if facts.is_column)


def list_further(roles: Iterable[str], *, kept: bool = False) -> tuple[str, ...]:
    """Return the roles, among these, whose values ``predictions`` has unchanged.

    With ``kept``, return only roles whose values cells, bins, states and pairs keep.

    Examples
    --------
    >>> list_further(["label", "query", "weight"])
    ('query',)
    """
    return tuple(
        role for role in roles if ROLES[role].is_further and (ROLES[role].is_kept or not kept)
    )


def list_arguments(*, single: bool = False) -> tuple[str, ...]:
    """Return the arguments of `sqleval.scan` that bind roles, or (``single``) one column."""
    return tuple(
        facts.argument
        for facts in ROLES.values()
        if facts.is_bound and (facts.is_single or not single)
    )


def list_added_arguments() -> tuple[str, ...]:
    """Return the arguments of roles that signatures take as ``**roles``."""
    return tuple(name for name in list_arguments() if name not in _EXPLICIT)


def find_unsupported(roles: Iterable[str]) -> str | None:
    """Return the argument of a role that cells, bins and states do not keep; None without one."""
    lost = (role for role in list_further(roles) if not ROLES[role].is_kept)
    return next(map(name_argument, lost), None)


def check_added(arguments: Iterable[str]) -> None:
    """Raise `TypeError` for an argument that no role has, as Python does for any other.

    Examples
    --------
    >>> check_added(["lable"])
    Traceback (most recent call last):
    TypeError: unexpected keyword argument 'lable'; did you mean 'label'?
    """
    for name in arguments:
        if name not in list_added_arguments():
            near = find_nearest(name, list_arguments())
            raise TypeError(f"unexpected keyword argument {name!r}{near}")
