"""`Predictions`: bound rows with the functions that evaluate them as methods."""

from dataclasses import dataclass

from sqleval.frontend import comparisons, curves, evaluations, plotting, statements, states
from sqleval.frontend.bound import Bound
from sqleval.frontend.description import write_line, write_table


@dataclass(frozen=True, repr=False, eq=False)
class Predictions(Bound):
    """Predictions bound to their source. Made by `scan`; nothing has been read yet."""

    def __repr__(self) -> str:
        """Return the task, the source and the columns in their roles, on a line."""
        return write_line(self.binding, self.source.label)

    def _repr_html_(self) -> str:
        """Return the same as a table, as notebooks show it."""
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
    compare = comparisons.compare
    leaderboard = comparisons.leaderboard
    compare_curves = comparisons.compare_curves
    sample_size = comparisons.sample_size
    sql = statements.sql
    statement = statements.statement
    steps = statements.steps
