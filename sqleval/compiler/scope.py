"""The units of a statement, and the context in which it has a file."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sqleval.catalog.contract import Relation
from sqleval.common.sql_text import Value
from sqleval.compiler.bins import Bins
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.substitution import Substitution, remove_supplied
from sqleval.compiler.thresholds import THRESHOLD

#: The units of a statement: ``rows``; ``few`` (few rows); ``numbered`` (rows whose slice keys are
#: replaced by one integer id); ``sorted`` (rows in the order of one integer for slice, score and
#: label); ``groups`` (distinct scores); score bins; or, on engines of several machines, rows with
#: the bucket of their score.
Plan = Literal["rows", "few", "numbered", "sorted", "groups"] | Bins | Buckets


class Scope(NamedTuple):
    """A file's context in a statement: substitutions, parameter values, units of ``cutoffs``.

    Attributes
    ----------
    substitutions : tuple of Substitution
        The innermost first.
    values : mapping of str to value
        The parameters that differ from their defaults.
    runs : bool
        Whether the metric's units are runs, in which successive negatives are merged.
    """

    substitutions: tuple[Substitution, ...] = ()
    values: Mapping[str, Value] = {}
    runs: bool = False

    def below(self, relation: Relation) -> "Scope":
        """Return the scope of a file; a twin may supply a substitution."""
        return self._replace(substitutions=remove_supplied(self.substitutions, relation.when))

    def read_by(self, relation: Relation) -> "Scope":
        """Return the scope of the files that a file reads; a twin may share them."""
        if "several_thresholds" not in relation.when:
            return self
        values = {name: value for name, value in self.values.items() if name != THRESHOLD}
        return self._replace(values=values)
