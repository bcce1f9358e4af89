"""Describes the join of a source with its late labels."""

from __future__ import annotations

from typing import NamedTuple

from sqleval.binding.many_labels import LABEL
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
        on = [name for name in self.on if name != LABEL]
        return repr(on[0] if len(on) == 1 else on)

    @property
    def of_rows(self) -> Labels:
        """The join without the label's name, which is a key where rows have many labels."""
        return self._replace(pairs=tuple(pair for pair in self.pairs if pair[0].name != LABEL))
