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
from sqleval.frontend.results import shows_itself


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

    evaluate = shows_itself(evaluations.evaluate)
    curve = shows_itself(curves.curve)
    plot = plotting.plot
    confusion = shows_itself(curves.confusion)
    state = states.state
    rows = shows_itself(rows.rows)
    slices = shows_itself(worse_slices.slices)
    compare = shows_itself(comparisons.compare)
    leaderboard = shows_itself(comparisons.leaderboard)
    compare_curves = shows_itself(comparisons.compare_curves)
    sample_size = shows_itself(comparisons.sample_size)
    sql = statements.sql
    statement = statements.statement
    steps = statements.steps
