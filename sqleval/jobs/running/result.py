"""The result of a run of a job."""

from dataclasses import dataclass, field

import polars as pl

from sqleval.history.store import NO_RESULTS
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging import gates
from sqleval.jobs.judging.incidents import NO_INCIDENTS
from sqleval.jobs.past import Past
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.running.explanation import Explanation
from sqleval.jobs.running.plan import Decision
from sqleval.jobs.running.writing import list_periods


@dataclass(frozen=True)
class Run:
    """The result of a run.

    Attributes
    ----------
    job : Job
        The job.
    id : str
        The name of the run in the history.
    decisions : list of Decision
        The periods of the run, and what was done with each.
    past : Past
        The job's history.
    errors : list of str
        The files, periods and slices that failed, and why.
    notes : list of str
        Remarks for the user.
    lake : Lake or None
        The files of the sources; None if they could not be listed.
    files : polars.DataFrame or None
        The records of files that `complete_run` writes; None if they have not changed.
    rows : polars.DataFrame
        The rows that were written.
    verdicts : polars.DataFrame
        The verdicts of the gates on the periods of the run.
    newest : polars.DataFrame
        The verdicts of each gate on the newest period that it judged, whatever periods were run.
    incidents : polars.DataFrame
        The incidents that touch the periods of the run, and those that are open.
    failures : polars.DataFrame
        The verdicts that failed or warn, also on earlier periods, for incidents and the report.
    has_requested_periods : bool
        Whether the user chose the periods of the run.
    explanation : Explanation or None
        What the run would do, if it was only planned.
    """

    job: Job
    id: str
    decisions: list[Decision]
    past: Past = field(repr=False)
    errors: list[str]
    notes: list[str]
    lake: Lake | None = field(repr=False)
    files: pl.DataFrame | None = field(default=None, repr=False)
    rows: pl.DataFrame = field(default_factory=lambda: NO_RESULTS)
    verdicts: pl.DataFrame = field(default_factory=lambda: gates.NO_VERDICTS)
    newest: pl.DataFrame = field(default_factory=lambda: gates.NO_VERDICTS)
    incidents: pl.DataFrame = field(default_factory=lambda: NO_INCIDENTS)
    failures: pl.DataFrame = field(default_factory=lambda: gates.NO_VERDICTS)
    has_requested_periods: bool = False
    explanation: Explanation | None = None

    @property
    def has_failed_gate(self) -> bool:
        """Whether a gate failed."""
        return not self.verdicts.filter(status="failed").is_empty()

    @property
    def all_verdicts(self) -> pl.DataFrame:
        """The verdicts on the periods of the run and on the newest ones."""
        return pl.concat([self.verdicts, self.newest]).unique(maintain_order=True)

    def list_periods(self, *actions: str) -> list[str]:
        """Return the periods with one of these actions."""
        return list_periods(self.decisions, *actions)
