"""The command `history`: shows the results of jobs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqleval.cli.group import DefaultCommand
from sqleval.cli.jobs import create_text_log
from sqleval.cli.options import OUTPUT, add_options
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
        from sqleval.jobs.run import open_job_store

        job = read_job(store)
        return open_job_store(job), job, [Path(store), Path(job.resolve_path(job.history.url))]
    if "://" not in store and not Path(store).exists():
        raise RequestError(f"no history at {store!r}")
    from sqleval.history.opening import open_store

    return open_store(store), None, [Path(store)]


@click.group(cls=DefaultCommand, default="show")
def history() -> None:
    r"""Query a history of results.

    `sqleval history STORE` shows results (`sqleval history show --help` has its options).

    \b
    Example:
      sqleval history history.duckdb --metric roc_auc --slice carrier=AA --chart
      sqleval history nightly.yml --last 7 --format csv
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
@click.option("--expected", is_flag=True, help="What was expected before the labels came, what "
    "was observed, and the difference.")  # fmt: skip
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
        raise RequestError(f"--output {output} is the history or the job; choose another file")
    if expected and (chart or chosen["restated"]):
        raise RequestError("--expected shows a table; leave out --chart and --restated")
    if chart and chosen["restated"]:
        raise RequestError("--chart draws current numbers; leave out --restated")
    frame = (read_expected if expected else read_rows)(opened, **chosen)
    for note in () if chosen["restated"] else list_definition_changes(frame):
        click.echo(f"note: {note}", err=True)
    if chart:
        click.echo(draw_values(frame, color=sys.stdout.isatty()))
        return
    table = output is None and format_ in (None, "table")
    write(expand_slices(frame, short=table), format_, output)
