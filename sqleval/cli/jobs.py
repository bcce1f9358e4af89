"""The commands of scheduled jobs: init, validate, run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqleval.cli.confinement import allow_job, allow_sources
from sqleval.cli.controls import CONTROL, SQL
from sqleval.cli.exits import Exit, describe_error, find_exit_code
from sqleval.cli.logs import create_json_log, create_text_log, name_job
from sqleval.cli.options import READING, add_options, show_progress
from sqleval.cli.screen import LostOutput, print_data, print_message
from sqleval.cli.telemetry import export_telemetry
from sqleval.errors import RequestError, SqlevalError

if TYPE_CHECKING:
    from sqleval.jobs.file.model import Job
    from sqleval.jobs.running.plan import RunOptions
    from sqleval.jobs.running.result import Run


def parse_date(text: str) -> tuple[datetime, datetime]:
    """Return the first and last instant of a date, or the same time twice."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise RequestError(
            f"{text!r} is not a date; write 2013-07-01 or 2013-07-01T05:00"
        ) from None
    if not 1000 <= at.year <= 9998:
        raise RequestError(f"{text!r}: the year must be between 1000 and 9998")
    is_day = len(text) == 10
    return at, at + timedelta(days=1, microseconds=-1) if is_day else at


def _read_job(path: str) -> Job:
    """Read a job file, and let the engine read the sources that it names."""
    from sqleval.jobs.file.reading import read_job

    job = read_job(path)
    allow_job(job)
    return job


def _parse_run_options(
    date: str | None,
    first: str | None,
    last: str | None,
    backfill: bool,
    force: bool,
    as_of: str | None,
) -> RunOptions:
    from sqleval.jobs.running.plan import RunOptions

    if (first is None) != (last is None):
        raise RequestError("--from and --to are needed together")
    if sum((date is not None, first is not None, backfill)) > 1:
        raise RequestError("give only one of --date, --from with --to, and --backfill")
    now = datetime.now(UTC) if as_of is None else parse_date(as_of)[0]
    span = None
    if first is not None and last is not None:
        span = parse_date(first)[0], parse_date(last)[1]
    return RunOptions(
        as_of=now if now.tzinfo else now.replace(tzinfo=UTC),
        date=None if date is None else parse_date(date),
        span=span,
        backfill=backfill,
        force=force,
    )


@click.command()
@click.argument("source", required=True)
@click.option(
    "--output", metavar="FILE", default="job.yml", show_default=True, help="The job file."
)
@add_options(*READING)
def init(source: str, output: str, rows: str | None, csv: dict[str, str]) -> None:
    r"""Write a commented job file to start from.

    \b
    Example:
      sqleval init lake/preds --output nightly.yml
    """
    from sqleval.jobs.file.starter import write_starter

    allow_sources([source])
    path = Path(output)
    if path.exists():
        raise RequestError(f"{output} exists already; choose another file with --output")
    from sqleval.common.whole_file import write_text

    write_text(output, write_starter(source, path, rows, csv))
    print_message(f"wrote {output}; edit it, then: sqleval validate {output}")


@click.command()
@click.argument("job", required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of job files, for editors.")
@add_options(SQL)
def validate(job: str | None, schema: bool) -> None:
    r"""Check a job file against its source.

    Keys, columns, metrics and gates are checked. From a history, the output also estimates each
    gate's false alarms a year, and the smallest drop that it finds within a week.

    \b
    Example:
      sqleval validate nightly.yml
      sqleval validate --schema > job.schema.json
    """
    from sqleval.jobs.file.model import Job

    if schema:
        print_data([json.dumps(Job.model_json_schema(), indent=1), "\n"])
        return
    if job is None:
        raise RequestError("a job file is needed: sqleval validate nightly.yml")
    from sqleval.jobs.file.reading import locate_errors
    from sqleval.jobs.running.validation import check_job, describe_expectations

    checked = _read_job(job)
    with locate_errors(job):
        summary = check_job(checked)
    print_message(f"{job}: {summary}")
    for line in describe_expectations(checked):
        print_message(line)


@click.command()
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...", callback=show_progress)
@click.option("--date", metavar="D", help="The period of this date.")
@click.option("--from", "first", metavar="A", help="The periods from this date ...")
@click.option("--to", "last", metavar="B", help="... to this date, included.")
@click.option("--backfill", is_flag=True, help="All periods with rows.")
@click.option("--force", is_flag=True, help="Also periods that are unchanged or not over.")
@click.option("--as-of", metavar="T", help="The time of the run; by default now.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--explain", is_flag=True, help="Only show what would be done and why, with the "
    "files, the gates and the outputs.")  # fmt: skip
@click.option("--log-json", is_flag=True, help="Log to stderr as JSON lines.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table",
    show_default=True)  # fmt: skip
@add_options(*CONTROL)
@click.pass_context
def run(
    ctx: click.Context,
    jobs: tuple[str, ...],
    dry_run: bool,
    explain: bool,
    log_json: bool,
    format_: str,
    **periods: Any,
) -> None:
    r"""Run jobs: evaluate, keep results, judge gates.

    By default the due periods are those after the last evaluated one, and those with changed data.

    \b
    Exit codes (the highest, if there are several jobs):
      0  no gate failed
      1  a gate failed
      2  wrong usage, or a wrong job file
      3  a slice, a period, a source or a store failed

    \b
    Example:
      sqleval run nightly.yml
      sqleval run nightly.yml --date 2013-07-04
      sqleval run nightly.yml --explain
      sqleval run nightly.yml churn.yml --backfill --format json
    """
    options = _parse_run_options(**periods)
    log = create_json_log() if log_json else create_text_log()
    codes = [0]
    documents: list[dict[str, Any]] = []
    for path in jobs:
        try:
            table = format_ == "table"
            named = log if len(jobs) == 1 else name_job(log, path)
            title = "" if len(jobs) == 1 or not table else f"{path}:"
            with export_telemetry():
                if dry_run or explain:
                    document, code = _plan_one(
                        path, options, named, table=table, explain=explain, title=title
                    )
                else:
                    document, code = _run_one(path, options, named, table=table, title=title)
            documents.append(document)
        except SqlevalError as error:
            if len(jobs) == 1 and not log_json:
                raise
            code = find_exit_code(error)
            text = str(error)
            log("error", text if text.startswith(f"{path}:") else f"{path}: {text}")
        codes.append(code)
    if format_ == "json":
        print_data([json.dumps(documents, indent=1, default=str, allow_nan=False), "\n"])
    ctx.exit(max(codes))


def _print_title(title: str) -> None:
    """Print the name of a job file above its table, if there are several job files."""
    if title:
        print_data([title, "\n"])


def _plan_one(
    path: str,
    options: RunOptions,
    log: Callable[[str, str], None],
    *,
    table: bool,
    explain: bool,
    title: str,
) -> tuple[dict[str, Any], int]:
    """Show what a run would do; return its JSON document, if any, and its exit code."""
    from sqleval.cli.output import print_explanation, to_frame, write
    from sqleval.jobs.file.reading import locate_errors
    from sqleval.jobs.outputs import results
    from sqleval.jobs.running.run import run_job

    job = _read_job(path)
    with locate_errors(path):
        planned = run_job(job, options, dry=True)
    if table:
        _print_title(title)
    if table and explain and planned.explanation is not None:
        print_explanation(planned.explanation.to_dict())
    elif table:
        write(to_frame([each._asdict() for each in planned.decisions]), "table", None)
    if explain:
        for error in planned.errors:
            log("error", error)
        for note in planned.notes:
            log("note", note)
    code = Exit.FAILED if planned.errors else Exit.DONE
    return {} if table else results.build_document(planned, code), code


def _run_one(
    path: str,
    options: RunOptions,
    log: Callable[[str, str], None],
    *,
    table: bool,
    title: str,
) -> tuple[dict[str, Any], int]:
    """Run a job and write its outputs; return its JSON document, if any, and its exit code.

    Printing comes last, because the reader may close the pipe or stop the command meanwhile.
    """
    from sqleval.jobs.file.reading import locate_errors
    from sqleval.jobs.outputs import results
    from sqleval.jobs.running.run import run_job

    job = _read_job(path)
    try:
        with locate_errors(path):
            done = run_job(job, options, complete=False)
    except Exception as error:
        text, code = describe_error(error)
        _notify(job, code, [text], None, log)
        raise
    code = Exit.GATE_FAILED if done.has_failed_gate else Exit.DONE
    code = Exit.FAILED if done.errors else code
    messages: list[tuple[str, str]] = []
    try:
        is_notified = _tell_others(done, code, lambda kind, text: messages.append((kind, text)))
    finally:
        _print_run(done, messages, log, table=table, title=title)
    document = {} if table else results.build_document(done, code)
    return document, code if is_notified else Exit.FAILED


def _tell_others(done: Run, code: int, log: Callable[[str, str], None]) -> bool:
    """Write the outputs of a run and send its notifications; return whether all could be sent."""
    from sqleval.jobs.outputs import results
    from sqleval.jobs.running.run import complete_run

    try:
        for target in [*results.write_outputs(done, code), *_write_page(done)]:
            log("", f"wrote {target}")
        # Before servers that may not answer for minutes.
        is_notified = _notify(done.job, code, done.errors, done, log)
        for target in _export(done):
            log("", f"wrote {target}")
        # Last: if this run is killed before, the next one writes the outputs and notifies.
        complete_run(done)
    except Exception as error:
        text, failed = describe_error(error)
        _notify(done.job, max(code, failed), [*done.errors, text], done, log)
        raise
    return is_notified


def _print_run(
    done: Run,
    messages: Sequence[tuple[str, str]],
    log: Callable[[str, str], None],
    *,
    table: bool,
    title: str,
) -> None:
    """Print the results and outputs of a run; printing never changes the exit code."""
    from sqleval.cli.output import write
    from sqleval.jobs.outputs import results

    problems = results.list_problems(done.verdicts)
    if table and not problems.is_empty():
        try:
            _print_title(title)
            write(problems, "table", None)
        except LostOutput as error:
            log("note", str(error))
    for incident in results.describe_incidents(done.incidents.filter("in_run")):
        log("incident", incident)
    for error in done.errors:
        log("error", error)
    for note in done.notes:
        log("note", note)
    for kind, text in messages:
        log(kind, text)
    log("", _summarize(done))


def _notify(
    job: Job, code: int, errors: list[str], done: Run | None, log: Callable[[str, str], None]
) -> bool:
    """Send the notifications of the job; return whether all could be sent."""
    if not job.notify:
        return True
    from sqleval.jobs.outputs.notifications import build_message, notify

    targets, failed = notify(job, build_message(job, int(code), errors, done))
    for target in targets:
        log("", f"notified {target}")
    for error in failed:
        log("error", error)
    return not failed


def _write_page(done: Run) -> list[str]:
    """Write the report that the job asks for, and return its path."""
    if done.job.report is None or done.lake is None:
        return []
    from sqleval.jobs.outputs.report import write_report

    return write_report(done)


def _export(done: Run) -> list[str]:
    """Send the exports that the job asks for, and return their targets."""
    if done.job.outputs.openlineage is None and done.job.outputs.mlflow is None:
        return []
    from sqleval.jobs.outputs.exports import export_run

    return export_run(done)


def _summarize(done: Run) -> str:
    from sqleval.jobs.outputs import results

    actions = [each.action for each in done.decisions]
    words = {
        "evaluate": "evaluated",
        "expect": "expected before their labels",
        "check": "checked before their labels",
        "add": "with new metrics from their states",
        "keep": "left alone",
        "wait": "waiting",
        "missing": "missing",
    }
    counts = {name: actions.count(name) for name in words}
    parts = [f"{n} {words[name]}" for name, n in counts.items() if n]
    parts += [f"gates: {results.describe_counts(done.verdicts)}"] if done.verdicts.height else []
    parts += [f"{len(done.errors)} errors"] if done.errors else []
    return f"{done.job.name}: " + (", ".join(parts) or "nothing to do")
