"""Writes the result of a run: a table, JSON, JUnit XML, text for Prometheus."""

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

#: Characters that are not allowed in XML.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: The statuses of verdicts, worst first.
_STATUSES = ("failed", "warned", "pending", "undefined", "no reference", "passed")


def list_problems(run: Run) -> pl.DataFrame:
    """Return the verdicts that failed or warn, the newest first, for the screen."""
    names = {text: format_slice(text) for text in run.verdicts["slice"].unique()}
    problems = run.verdicts.filter(pl.col("status").is_in(["failed", "warned"])).sort(
        "status", "period", "gate", "slice", descending=[False, True, False, False]
    )
    return problems.select(
        "status", "gate", "period",
        pl.col("slice").replace_strict(names, return_dtype=pl.String),
        "value", "limit", "short_by", "since", "n", "reason",
    )  # fmt: skip


def describe_counts(run: Run) -> str:
    """Return the number of verdicts per status, such as ``6 passed, 0 failed``."""
    counts = dict(run.verdicts.group_by("status").len().iter_rows())
    parts = [
        f"{counts.get(status, 0)} {status}"
        for status in reversed(_STATUSES)
        if status in counts or status in ("passed", "failed")
    ]
    return ", ".join(parts)


def build_document(run: Run, code: int) -> dict[str, Any]:
    """Return the result of a run as a JSON document."""
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
    """Return a row for JSON: infinite numbers become texts."""
    return {
        name: str(value) if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }


def write_junit(run: Run) -> str:
    """Return the verdicts as JUnit XML: one case per gate, period and slice."""
    cases: list[TestCase] = []
    for row in run.verdicts.iter_rows(named=True):
        name = f"{row['gate']} [{row['period']}] {format_slice(row['slice'])}"
        case = TestCase(_NOT_XML.sub("\ufffd", name), run.job.name)
        text = _describe_verdict(row)
        if row["status"] == "failed":
            case.result = [Failure(text, type_="gate")]
        elif row["status"] != "passed":
            case.result = [Skipped(f"{row['status']}: {text}")]
        cases.append(case)
    for error in run.errors:
        case = TestCase("evaluation", run.job.name)
        case.result = [Failure(_NOT_XML.sub("\ufffd", error), type_="evaluation")]
        cases.append(case)
    suite = TestSuite(run.job.name)
    suite.add_testcases(cases)
    document: Any = JUnitXml()
    document.add_testsuite(suite)
    document.update_statistics()
    return document.tostring().decode()


def _describe_verdict(row: Mapping[str, Any]) -> str:
    """Return a verdict in words."""
    if row["value"] is None or row["limit"] is None:
        return str(row["reason"])
    text = f"{row['value']:.6g}, limit {row['limit']:.6g}, short by {row['short_by']:.6g}"
    text += f", since {row['since']}" if row["since"] else ""
    return text + (f" ({row['reason']})" if row["reason"] else "")


def write_prometheus(run: Run) -> str:
    """Return the last value of each metric and slice in the text format of Prometheus."""
    registry = CollectorRegistry()
    last = (
        run.history.filter(pl.col("error").is_null(), pl.col("value").is_not_null())
        .sort("period")
        .group_by("slice", "metric", maintain_order=True)
        .last()
    )
    labels = ["job_name", "metric", "slice"]
    value = Gauge("sqleval_value", "Last value of a metric", labels, registry=registry)
    rows = Gauge("sqleval_rows", "Rows that the value was computed from", labels, registry=registry)
    begin = Gauge(
        "sqleval_period_start", "Start of the period of the value", [*labels, "period"],
        registry=registry,
    )  # fmt: skip
    failed = Gauge("sqleval_gates_failed", "Gates that failed", ["job_name"], registry=registry)
    for row in last.iter_rows(named=True):
        key = (run.job.name, row["metric"], format_slice(row["slice"]))
        value.labels(*key).set(row["value"])
        rows.labels(*key).set(row["n"])
        zone = run.job.period.timezone
        begin.labels(*key, row["period"]).set(find_start(row["period"], zone).timestamp())
    failed.labels(run.job.name).set(run.verdicts.filter(status="failed").height)
    errors = Gauge("sqleval_errors", "Errors of the last run", ["job_name"], registry=registry)
    errors.labels(run.job.name).set(len(run.errors))
    return generate_latest(registry).decode()


def write_outputs(run: Run, code: int) -> list[str]:
    """Write the files under ``outputs`` of the job and return their paths.

    Raises
    ------
    SourceError
        If a file cannot be written.
    """
    outputs = run.job.outputs
    texts = {
        outputs.json_: lambda: (
            json.dumps(build_document(run, code), indent=1, default=str, allow_nan=False) + "\n"
        ),
        outputs.junit: lambda: write_junit(run),
        outputs.prometheus: lambda: write_prometheus(run),
    }
    written: list[str] = []
    for name, text in texts.items():
        if name is None:
            continue
        path = run.job.resolve_path(name)
        write_text(path, text())
        written.append(path)
    return written
