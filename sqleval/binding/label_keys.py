"""Describes the join of a source with its late labels."""

from typing import NamedTuple

from sqleval.common.columns import Column
from sqleval.sources.order import PLACE


class Labels(NamedTuple):
    """A second source that holds the labels, joined by key.

    Attributes
    ----------
    relation : str
        The text after FROM.
    pairs : tuple of (Column, Column)
        The keys: each one's column in the source and in the labels, which have one name.
    roles : frozenset of str
        The roles that are read from the labels.
    stream : bool
        Whether a statement may read it only once.
    """

    relation: str
    pairs: tuple[tuple[Column, Column], ...]
    roles: frozenset[str]
    stream: bool

    @property
    def on(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(ours.name for ours, _ in self.pairs)

    @property
    def is_by_position(self) -> bool:
        """Whether a row and its label have the same place."""
        return self.on == (PLACE,)

    @property
    def shown(self) -> str:
        """The argument ``on=`` as it is written."""
        return repr(self.on[0] if len(self.on) == 1 else [*self.on])
