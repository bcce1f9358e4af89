"""The command `history`: shows the results of jobs, and removes old ones."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqleval.cli.group import DefaultCommand
from sqleval.cli.jobs import parse_date
from sqleval.cli.logs import create_text_log
from sqleval.cli.options import OUTPUT, add_options
from sqleval.cli.screen import print_message, print_rendered
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError

if TYPE_CHECKING:
    from sqleval.history.store import Store
    from sqleval.jobs.file.model import Job

_JOB_FILES = (".yml", ".yaml")


def _open_store(store: str) -> tuple[Store, Job | None, list[Path]]:
    """Return a history, the job if one is named, and the files that must not be overwritten."""
    create_text_log()
    if Path(store).suffix in _JOB_FILES:
        from sqleval.jobs.file.reading import read_job
        from sqleval.jobs.running.run import open_job_store

        job = read_job(store)
        return open_job_store(job), job, [Path(store), Path(job.resolve_path(job.history.url))]
    if "://" not in store and not Path(store).exists():
        raise RequestError(f"no history at {store!r}")
    from sqleval.history.opening import open_store

    return open_store(store), None, [Path(store)]


@click.group(cls=DefaultCommand, default="show")
def history() -> None:
    r"""Query a history of results, or remove old ones.

    `sqleval history STORE` shows results (`sqleval history show --help` has its options).

    \b
    Example:
      sqleval history history.duckdb --metric roc_auc --slice carrier=AA --chart
      sqleval history nightly.yml --last 7 --format csv
      sqleval history prune nightly.yml --keep 2y
    """


@history.command()
@click.argument("store")
@click.option("--job", help="Only this job.", metavar="NAME")
@click.option(
    "--metric", "-m", "metrics", multiple=True, help="Only these metrics.", metavar="METRIC"
)
@click.option("--slice", "slices", multiple=True, metavar="KEY=VALUE", help="Only these slices.")
@click.option("--from", "first", metavar="A", help="The periods from this one ...")
@click.option("--to", "last", metavar="B", help="... to this one, included.")
@click.option(
    "--last", "newest", type=click.IntRange(min=1), metavar="N", help="The last N periods."
)
@click.option("--chart", is_flag=True, help="Draw the values over time in the terminal.")
@click.option("--expected", is_flag=True, help="Values that were expected before the labels came, "
    "the observed ones, and the difference.")  # fmt: skip
@click.option("--restated", is_flag=True, help="The numbers that were replaced, and why.")
@add_options(*OUTPUT)
def show(
    store: str,
    chart: bool,
    expected: bool,
    format_: str | None,
    output: str | None,
    **chosen: Any,
) -> None:
    r"""Show results, as a table, a chart or a file.

    STORE is a file or URL, or a job file.

    \b
    Example:
      sqleval history history.duckdb --metric roc_auc --slice carrier=AA --chart
      sqleval history nightly.yml --last 7 --format csv
      sqleval history nightly.yml --expected --metric roc_auc
    """
    from sqleval.cli.output import write
    from sqleval.history.view import (
        draw_values,
        expand_slices,
        list_definition_changes,
        read_expected,
        read_rows,
    )

    opened, job, kept = _open_store(store)
    if job is not None:
        chosen["job"] = chosen["job"] or job.name
    target = None if output is None else Path(output).resolve()
    if target and any(each.resolve() in (target, *target.parents) for each in kept):
        raise RequestError(f"--output {output} is the history or the job file; choose another file")
    if expected and (chart or chosen["restated"]):
        raise RequestError("--expected shows a table; leave out --chart and --restated")
    if chart and chosen["restated"]:
        raise RequestError("--chart draws current numbers; leave out --restated")
    frame = (read_expected if expected else read_rows)(opened, **chosen)
    for note in () if chosen["restated"] else list_definition_changes(frame):
        print_message(f"note: {note}")
    if chart:
        print_rendered(draw_values(frame, color=sys.stdout.isatty()) + "\n")
        return
    table = output is None and format_ in (None, "table")
    write(expand_slices(frame, short=table), format_, output)


@history.command()
@click.argument("store")
@click.option("--keep", metavar="SPAN", help="Keep periods as long as this: 90d, 8w, 2y.")
@click.option("--before", metavar="DATE", help="Remove periods that ended before this date.")
@click.option("--job", "name", help="Only this job.", metavar="NAME")
@click.option("--dry-run", is_flag=True, help="Only show how many rows would be removed.")
def prune(
    store: str, keep: str | None, before: str | None, name: str | None, dry_run: bool
) -> None:
    r"""Remove old results, and give their space back.

    STORE is a file or URL with all its jobs, or a job file. Only a job file says which periods its
    gates need: these are kept.

    \b
    Example:
      sqleval history prune nightly.yml --keep 2y --dry-run
      sqleval history prune history.duckdb --job nightly --before 2024-01-01
    """
    from sqleval.cli.output import to_frame, write
    from sqleval.common.periods import find_zone
    from sqleval.history.retention import prune_store
    from sqleval.history.store import list_values, retry_while_busy
    from sqleval.jobs.retention import prune_job

    opened, job, _ = _open_store(store)
    cutoff = _parse_cutoff(keep, before, find_zone(job.period.timezone if job else None))
    if job is not None:
        if name not in (None, job.name):
            raise RequestError(f"--job {name}: the job file has the job {job.name}")
        _, removals, kept = prune_job(job, opened, cutoff, dry=dry_run)
        for note in kept:
            print_message(f"note: {note}")
    else:
        names = list_values(opened, None, "job")
        if name is not None and name not in names:
            raise RequestError(f"no job {name!r} in the history{find_nearest(name, names)}")
        chosen = names if name is None else [name]
        tables = [prune_store(opened, each, cutoff, dry=dry_run) for each in chosen]
        removals = [each for table in tables for each in table]
        print_message(
            "note: only a job file says which periods its gates need; all periods before the "
            "cutoff are removed, except a job's last"
        )
    if not dry_run and any(each.removed for each in removals):
        retry_while_busy(opened.compact)
    write(to_frame([each._asdict() for each in removals]), "table", None)


def _parse_cutoff(keep: str | None, before: str | None, zone: tzinfo) -> datetime:
    """Return the time before which periods are removed; a date begins at midnight in ``zone``."""
    from sqleval.jobs.file.fields import parse_span

    if (keep is None) == (before is None):
        raise RequestError("give either --keep 2y or --before 2024-01-01")
    if before is not None:
        at = parse_date(before)[0]
        return at if at.tzinfo else at.replace(tzinfo=zone)
    try:
        return datetime.now(UTC) - parse_span(keep)
    except (ValueError, OverflowError) as error:
        raise RequestError(f"--keep: {error}") from None
