"""Defines `Predictions`: bound rows whose methods are the functions that evaluate them."""

from dataclasses import dataclass

from sqleval.frontend import (
    comparisons,
    curves,
    evaluations,
    plotting,
    rows,
    statements,
    states,
    worse_slices,
)
from sqleval.frontend.bound import Bound
from sqleval.frontend.description import write_line, write_table


@dataclass(frozen=True, repr=False, eq=False)
class Predictions(Bound):
    """Predictions bound to their source by `scan`; no rows have been read yet."""

    def __repr__(self) -> str:
        """Return a line with the task, the source and the columns of the roles."""
        return write_line(self.binding, self.source.label)

    def _repr_html_(self) -> str:
        """Return the parts of ``repr`` as a table for notebooks."""
        return write_table(self.binding, self.source.label)

    @property
    def task(self) -> str:
        """The task: ``binary``, ``multiclass``, ``regression`` or ``ranking``."""
        return self.binding.task

    evaluate = evaluations.evaluate
    curve = curves.curve
    plot = plotting.plot
    confusion = curves.confusion
    state = states.state
    rows = rows.rows
    slices = worse_slices.slices
    compare = comparisons.compare
    leaderboard = comparisons.leaderboard
    compare_curves = comparisons.compare_curves
    sample_size = comparisons.sample_size
    sql = statements.sql
    statement = statements.statement
    steps = statements.steps
