"""Explains a run without doing it: periods and reasons, files to read, gates, outputs."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.changes import join_names
from sqleval.jobs.periods.lake import Lake
from sqleval.jobs.places import find_record
from sqleval.jobs.running.plan import EARLY, Decision, RunOptions
from sqleval.jobs.running.writing import list_periods

#: Actions that read the rows of a period.
_READING = ("evaluate", *EARLY)
#: Outputs to which a run sends or adds something; all other outputs are replaced.
_SENT = {"outputs.openlineage": "two events", "outputs.mlflow": "a run, if anything is evaluated"}


class PeriodPlan(NamedTuple):
    """What a run would do with a period.

    ``reason`` names the files and metrics that changed. ``chosen`` says how the period came into
    the run. ``rows``, ``files`` and ``bytes`` would be read; they are 0 if nothing is read.
    """

    period: str
    action: str
    reason: str
    chosen: str
    rows: int
    files: int
    bytes: int


class Place(NamedTuple):
    """A place where a run would write: the key of the job, the place, and what is written."""

    key: str
    place: str
    what: str


@dataclass(frozen=True)
class Explanation:
    """What a run would do.

    Attributes
    ----------
    periods : list of PeriodPlan
        The periods in order.
    files, bytes : int
        The number of files that would be read, each counted once, and their total size.
    gates : list of dict
        ``gate``, ``severity`` and ``compares`` of each gate that would be judged.
    places : list of Place
        The places where the run would write.
    """

    periods: list[PeriodPlan]
    files: int
    bytes: int
    gates: list[dict[str, str]]
    places: list[Place]

    def to_dict(self) -> dict[str, object]:
        """Return the explanation for JSON."""
        return {
            "periods": [each._asdict() for each in self.periods],
            "files": self.files,
            "bytes": self.bytes,
            "gates": self.gates,
            "writes": [each._asdict() for each in self.places],
        }


def explain_run(
    lake: Lake,
    before: pl.DataFrame,
    overview: pl.DataFrame,
    definitions: pl.DataFrame,
    decisions: list[Decision],
    options: RunOptions,
) -> Explanation:
    """Return what a run with these decisions would do.

    Parameters
    ----------
    lake : Lake
        The files of the sources as they are.
    before : polars.DataFrame
        The rows of files in the history.
    overview : polars.DataFrame
        The overview of the job's history.
    definitions : polars.DataFrame
        The current definitions of the metrics.
    decisions : list of Decision
        What the run would do with each period.
    options : RunOptions
        The user's choice of periods.
    """
    # Expected metrics read no labels.
    files = lake.files.filter(
        pl.col("period").is_in(list_periods(decisions, "evaluate"))
        | (pl.col("period").is_in(list_periods(decisions, *EARLY)) & (pl.col("side") == "source"))
    )
    by_period = {
        period: sizes
        for period, *sizes in files.group_by("period")
        .agg(
            pl.col("rows").filter(side="source").sum(),
            pl.struct("side", "file").n_unique(),
            pl.col("size").sum(),
        )
        .iter_rows()
    }
    changed_files = _describe_files(lake, before)
    changed_metrics = _describe_metrics(overview, definitions)
    evaluated = {*overview.filter(pl.col("fingerprint").is_not_null())["period"]}
    plans: list[PeriodPlan] = []
    for period, action, reason in decisions:
        details = [reason]
        if reason == "data changed":
            details.append(changed_files.get(period, ""))
        elif reason in ("definition changed", "another definition", "new metrics", "fewer metrics"):
            details.append(changed_metrics.get(period, ""))
        text = ": ".join(each for each in details if each)
        sizes = by_period.get(period, (0, 0, 0)) if action in _READING else (0, 0, 0)
        plans.append(
            PeriodPlan(period, action, text, _describe_choice(period, evaluated, options), *sizes)
        )
    distinct = files.unique(["side", "file"])
    gates = _list_gates(lake.job)
    places = _list_places(lake.job, decisions)
    return Explanation(plans, distinct.height, int(distinct["size"].sum()), gates, places)


def _describe_choice(period: str, evaluated: Collection[str], options: RunOptions) -> str:
    """Return how a period came into the run."""
    if options.date is not None:
        return "asked for by --date"
    if options.span is not None:
        return "asked for by --from and --to"
    if options.backfill:
        return "asked for by --backfill"
    if not evaluated:
        return "the newest period, on the first run"
    if period > max(evaluated):
        return "after the last evaluated period"
    if period not in evaluated:
        return "before the last evaluated period"
    is_last = period == max(evaluated)
    return "the last evaluated period" if is_last else "changed or failed since"


def _describe_files(lake: Lake, before: pl.DataFrame) -> dict[str, str]:
    """Return the files that are new, changed or gone, by period."""
    keys = ["period", "side", "file"]
    now, old = lake.files.select(*keys, "version"), before.select(*keys, "version")
    joined = now.join(old, on=keys, how="full", coalesce=True, suffix="_old", nulls_equal=True)
    state = (
        pl.when(pl.col("version_old").is_null()).then(pl.lit("new"))
        .when(pl.col("version").is_null()).then(pl.lit("gone"))
        .when(pl.col("version") != pl.col("version_old")).then(pl.lit("changed"))
    )  # fmt: skip
    rows = joined.with_columns(state=state).filter(
        pl.col("state").is_not_null(), pl.col("period").is_not_null()
    )
    return _join_parts(rows.select("period", "state", name="file"))


def _describe_metrics(overview: pl.DataFrame, definitions: pl.DataFrame) -> dict[str, str]:
    """Return the metrics that are new, differently defined or left out, by period."""
    rows = overview.select("period", "metric", "definition").unique()
    periods = rows.select("period").unique()
    current_metrics = periods.join(definitions.select("metric", "definition"), how="cross")
    joined = current_metrics.join(
        rows, on=["period", "metric"], how="full", coalesce=True, suffix="_old"
    )
    state = (
        pl.when(pl.col("definition_old").is_null()).then(pl.lit("new"))
        .when(pl.col("definition").is_null()).then(pl.lit("no longer wanted"))
        .when(pl.col("definition") != pl.col("definition_old")).then(pl.lit("changed"))
    )  # fmt: skip
    changed = joined.with_columns(state=state).filter(pl.col("state").is_not_null())
    return _join_parts(changed.select("period", "state", name="metric"))


def _join_parts(rows: pl.DataFrame) -> dict[str, str]:
    """Return the names by state in words, by period, such as ``changed: a, b; new: c``."""
    names = rows.group_by("period", "state").agg(pl.col("name").unique().sort())
    parts: dict[str, list[str]] = {}
    for period, state, names_in_state in names.sort("period", "state").iter_rows():
        parts.setdefault(period, []).append(f"{join_names(names_in_state)} {state}")
    return {period: "; ".join(texts) for period, texts in parts.items()}


def _list_gates(job: Job) -> list[dict[str, str]]:
    """Return the gates that would be judged, and the reference of each."""
    gates: list[dict[str, str]] = []
    for name, gate in zip(job.gate_names, job.gates, strict=True):
        reference = gate.parsed.reference
        compares = "a fixed limit"
        if reference == "baseline" and job.baseline is not None:
            compares = f"the baseline {job.baseline.first} to {job.baseline.last}"
        elif reference is not None:
            compares = f"the {reference} periods before"
        gates.append({"gate": name, "severity": gate.severity, "compares": compares})
    if job.missing != "ignore":
        gates.append(
            {"gate": "missing", "severity": job.missing, "compares": "slices of the periods before"}
        )
    return gates


def _list_places(job: Job, decisions: list[Decision]) -> list[Place]:
    """Return the places where a run would write."""
    written = sum(each.action in ("evaluate", "add", "missing", *EARLY) for each in decisions)
    kept = sum(each.action in ("evaluate", "add") for each in decisions)
    places = [Place("history", job.resolve_path(job.history.url), f"results {_count(written)}")]
    if job.states is not None:
        folder = job.resolve_path(job.states.folder)
        places.append(Place("states", folder, f"states {_count(kept)}"))
    outputs: dict[str, str | None] = {"report": job.report} | {
        f"outputs.{name}": text for name, text in job.outputs.model_dump(by_alias=True).items()
    }
    for key, text in outputs.items():
        if text is not None:
            what = _SENT.get(key, "replaced")
            places.append(Place(key, job.resolve_path(text), what))
    for each in job.notify:
        places.append(Place("notify", each.target, f"on: {each.on}"))
    if any(each.on == "change" for each in job.notify):
        places.append(Place("notify", str(find_record(job)), "what was sent last"))
    return places


def _count(periods: int) -> str:
    return f"of {periods} period{'s' * (periods != 1)}"
