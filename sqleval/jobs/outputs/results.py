"""What a run says of itself: a table, JSON, JUnit XML, text for Prometheus."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import polars as pl
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from sqleval.common.periods import find_start
from sqleval.common.whole_file import write_text
from sqleval.history.store import format_slice
from sqleval.jobs.run import Run

#: Characters that no XML document may hold.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: What a verdict can be, worst first.
_ORDER = ("failed", "warned", "pending", "undefined", "no reference", "passed")


def list_problems(run: Run) -> pl.DataFrame:
    """Return the verdicts that failed or warn, the newest first."""
    names = {text: format_slice(text) for text in run.verdicts["slice"].unique()}
    chosen = run.verdicts.filter(pl.col("status").is_in(["failed", "warned"])).sort(
        "status", "period", "gate", "slice", descending=[False, True, False, False]
    )
    return chosen.select(
        "status", "gate", "period",
        pl.col("slice").replace_strict(names, return_dtype=pl.String),
        "value", "limit", "short_by", "since", "n", "reason",
    )  # fmt: skip


def describe_counts(run: Run) -> str:
    """Return how many verdicts there are of each kind, in words."""
    found = dict(run.verdicts.group_by("status").len().iter_rows())
    shown_always = ("passed", "failed")
    parts = [
        f"{found.get(status, 0)} {status}"
        for status in reversed(_ORDER)
        if status in found or status in shown_always
    ]
    return ", ".join(parts)


def build_document(run: Run, code: int) -> dict[str, Any]:
    """Return what a run did, for programs."""
    return {
        "job": run.job.name,
        "run": run.id,
        "exit_code": code,
        "steps": [step._asdict() for step in run.decisions],
        "rows_written": run.rows.height,
        "errors": run.errors,
        "notes": run.notes,
        "verdicts": [
            {**replace_infinities(row), "slice": json.loads(row["slice"])}
            for row in run.verdicts.to_dicts()
        ],
    }


def replace_infinities(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, which has no number for infinity: it becomes a text."""
    return {
        name: str(value) if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }


def write_junit(run: Run) -> str:
    """Return the verdicts as JUnit XML: one suite, one case a gate, period and slice."""
    cases: list[TestCase] = []
    for row in run.verdicts.iter_rows(named=True):
        name = f"{row['gate']} [{row['period']}] {format_slice(row['slice'])}"
        case = TestCase(_NO_XML.sub("\ufffd", name), run.job.name)
        said = _describe_verdict(row)
        if row["status"] == "failed":
            case.result = [Failure(said, type_="gate")]
        elif row["status"] != "passed":
            case.result = [Skipped(f"{row['status']}: {said}")]
        cases.append(case)
    for error in run.errors:
        case = TestCase("evaluation", run.job.name)
        case.result = [Failure(_NO_XML.sub("\ufffd", error), type_="evaluation")]
        cases.append(case)
    suite = TestSuite(run.job.name)
    suite.add_testcases(cases)
    document: Any = JUnitXml()
    document.add_testsuite(suite)
    document.update_statistics()
    return document.tostring().decode()


def _describe_verdict(row: dict[str, Any]) -> str:
    if row["value"] is None or row["limit"] is None:
        return str(row["reason"])
    text = f"{row['value']:.6g}, limit {row['limit']:.6g}, short by {row['short_by']:.6g}"
    text += f", since {row['since']}" if row["since"] else ""
    return text + (f" ({row['reason']})" if row["reason"] else "")


def write_prometheus(run: Run) -> str:
    """Return the last value of each metric and slice in Prometheus' text format."""
    registry = CollectorRegistry()
    last = (
        run.history.filter(pl.col("error").is_null(), pl.col("value").is_not_null())
        .sort("period")
        .group_by("slice", "metric", maintain_order=True)
        .last()
    )
    labels = ["job_name", "metric", "slice"]
    value = Gauge("sqleval_value", "Last value of a metric", labels, registry=registry)
    rows = Gauge("sqleval_rows", "Rows it was computed from", labels, registry=registry)
    begin = Gauge(
        "sqleval_period_start", "Its period, whose start this is", [*labels, "period"],
        registry=registry,
    )  # fmt: skip
    failed = Gauge("sqleval_gates_failed", "Gates that failed", ["job_name"], registry=registry)
    for row in last.iter_rows(named=True):
        at = (run.job.name, row["metric"], format_slice(row["slice"]))
        value.labels(*at).set(row["value"])
        rows.labels(*at).set(row["n"])
        zone = run.job.period.timezone
        begin.labels(*at, row["period"]).set(find_start(row["period"], zone).timestamp())
    failed.labels(run.job.name).set(run.verdicts.filter(status="failed").height)
    errors = Gauge("sqleval_errors", "Errors of the last run", ["job_name"], registry=registry)
    errors.labels(run.job.name).set(len(run.errors))
    return generate_latest(registry).decode()


def write_outputs(run: Run, code: int) -> list[str]:
    """Write the files that the job asks for and return their paths.

    Raises
    ------
    SourceError
        If a file cannot be written.
    """
    wanted = run.job.outputs
    texts = {
        wanted.json_: lambda: (
            json.dumps(build_document(run, code), indent=1, default=str, allow_nan=False) + "\n"
        ),
        wanted.junit: lambda: write_junit(run),
        wanted.prometheus: lambda: write_prometheus(run),
    }
    written: list[str] = []
    for name, text in texts.items():
        if name is None:
            continue
        path = run.job.resolve_path(name)
        write_text(path, text())
        written.append(path)
    return written
