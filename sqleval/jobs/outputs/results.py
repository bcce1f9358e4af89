"""Writes the result of a run: a table, JSON, JUnit XML, text for Prometheus."""

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.periods import find_start
from sqleval.common.visible import show_controls
from sqleval.common.whole_file import remove_drafts, write_text
from sqleval.history.store import format_slice
from sqleval.jobs.judging.sensitivity import measure_gates
from sqleval.jobs.running.result import Run

#: The labels of Prometheus besides the slice keys.
_LABELS, _PERIOD = ("job_name", "metric", "slice"), "period"
#: The statuses of verdicts, worst first.
_STATUSES = (
    "failed", "warned", "pending", "undefined", "no reference", "nothing to judge", "passed",
)  # fmt: skip


def list_problems(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts that failed or warn, the newest first, for people to read."""
    names = {text: format_slice(text) for text in verdicts["slice"].unique()}
    problems = verdicts.filter(pl.col("status").is_in(["failed", "warned"])).sort(
        "status", "period", "gate", "slice", descending=[False, True, False, False]
    )
    return problems.select(
        "status", "gate", "period",
        pl.col("slice").replace_strict(names, return_dtype=pl.String),
        "value", "limit", "short_by", "since", "n", "reason",
    )  # fmt: skip


def describe_counts(verdicts: pl.DataFrame) -> str:
    """Return the number of verdicts per status, such as ``6 passed, 0 failed``."""
    counts = dict(verdicts.group_by("status").len().iter_rows())
    parts = [
        f"{counts.get(status, 0)} {status}"
        for status in reversed(_STATUSES)
        if status in counts or status in ("passed", "failed")
    ]
    return ", ".join(parts)


def describe_incidents(incidents: pl.DataFrame) -> list[str]:
    """Describe each incident in words: its beginning, its value, and the slices behind it."""
    return [_describe_incident(row) for row in incidents.iter_rows(named=True)]


def _describe_incident(row: Mapping[str, Any]) -> str:
    count = f"{row['periods']} period{'s' * (row['periods'] != 1)}"
    text = f"{row['gate']} {row['status']} since {row['since']} (in {count}), "
    text += f"worst: {format_slice(row['slice'])}"
    text += f" (of {row['slices']} slices)" if row["slices"] > 1 else ""
    if row["value"] is not None and row["limit"] is not None:
        text += f" {row['value']:.4g}, limit {row['limit']:.4g}"
    parts = [
        f"{format_slice(each['slice'])} {abs(each['mix'] + each['quality']):.2g} ("
        + ("quality" if abs(each["quality"]) >= abs(each["mix"]) else "mix")
        + ")"
        for each in row["contributions"]
    ]
    return f"{text}; most of the change: {', '.join(parts)}" if parts else text


def build_document(run: Run, code: int) -> dict[str, Any]:
    """Return the result of a run as a JSON document; a planned run has its explanation."""
    plan = {} if run.explanation is None else {"plan": run.explanation.to_dict()}
    measured = measure_gates(run.job, run.past)
    return {
        "job": run.job.name,
        "run": run.id,
        "exit_code": code,
        "steps": [step._asdict() for step in run.decisions],
        **plan,
        "rows_written": run.rows.height,
        "errors": run.errors,
        "notes": run.notes,
        "gates": [
            {"gate": name, **gate.model_dump(exclude_defaults=True)}
            for name, gate in zip(run.job.gate_names, run.job.gates, strict=True)
        ],
        "expected": [replace_infinities(row) for row in measured],
        "incidents": [
            {**replace_infinities(row), "slice": json.loads(row["slice"])}
            for row in run.incidents.drop("in_run").to_dicts()
        ],
        "verdicts": [
            {**replace_infinities(row), "slice": json.loads(row["slice"])}
            for row in run.all_verdicts.to_dicts()
        ],
    }


def replace_infinities(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for JSON: infinite numbers become texts."""
    return {
        name: str(value) if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }


def write_junit(run: Run) -> str:
    """Return the verdicts as JUnit XML: one case per gate, period and slice.

    The verdicts are on the periods of the run and on the newest ones.
    """
    # Imported late: few jobs write this file, and each run would wait for the import.
    from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

    cases: list[Any] = []
    for row in run.all_verdicts.iter_rows(named=True):
        name = f"{row['gate']} [{row['period']}] {format_slice(row['slice'])}"
        case = TestCase(show_controls(name), run.job.name)
        text = show_controls(_describe_verdict(row), keep="\n")
        if row["status"] == "failed":
            case.result = [Failure(text, type_="gate")]
        elif row["status"] != "passed":
            case.result = [Skipped(f"{row['status']}: {text}")]
        cases.append(case)
    for error in run.errors:
        case = TestCase("evaluation", run.job.name)
        case.result = [Failure(show_controls(error, keep="\n"), type_="evaluation")]
        cases.append(case)
    _number_names(cases)
    suite = TestSuite(run.job.name)
    suite.add_testcases(cases)
    document: Any = JUnitXml()
    document.add_testsuite(suite)
    document.update_statistics()
    return document.tostring().decode()


def _number_names(cases: Sequence[Any]) -> None:
    """Number names that occur several times, as gates with other options or errors may."""
    names: set[str] = set()
    for case in cases:
        name = first = str(case.name)
        number = 1
        while name in names:
            number += 1
            name = f"{first} ({number})"
        names.add(name)
        case.name = name


def _describe_verdict(row: Mapping[str, Any]) -> str:
    """Return a verdict in words."""
    if row["value"] is None or row["limit"] is None:
        return str(row["reason"])
    text = f"{row['value']:.6g}, limit {row['limit']:.6g}, short by {row['short_by']:.6g}"
    text += f", since {row['since']}" if row["since"] else ""
    return text + (f" ({row['reason']})" if row["reason"] else "")


def _name_labels(keys: Sequence[str]) -> list[str]:
    """Return unique names of labels for slice keys, of letters, digits and underscores."""
    names: list[str] = []
    for key in keys:
        name = re.sub(r"[^a-zA-Z0-9_]", "_", key)
        # Prometheus reserves names that begin with two underscores.
        is_taken = name in (*_LABELS, _PERIOD) or re.match(r"\d|__", name)
        first = name = f"slice_{name}" if is_taken else name
        number = 1
        while name in names:
            number += 1
            name = f"{first}_{number}"
        names.append(name)
    return names


def _write_label(value: object) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def write_prometheus(run: Run) -> str:
    """Return the last value of each metric and slice in the text format of Prometheus.

    Besides a label for the whole slice there is one label per slice key. If a slice has no such key
    or no value of it, the label is empty, which Prometheus treats as absent.
    """
    from prometheus_client import CollectorRegistry, Gauge, generate_latest  # late, as above

    registry = CollectorRegistry()
    last = run.past.read_last_values()
    slices = {text: json.loads(text) for text in last["slice"].unique(maintain_order=True)}
    keys = list(dict.fromkeys(key for values in slices.values() for key in values))
    labels = [*_LABELS, *_name_labels(keys)]
    value = Gauge("sqleval_value", "Last value of a metric", labels, registry=registry)
    rows = Gauge("sqleval_rows", "Rows that the value was computed from", labels, registry=registry)
    begin = Gauge(
        "sqleval_period_start", "Start of the period of the value", [*labels, _PERIOD],
        registry=registry,
    )  # fmt: skip
    failed = Gauge(
        "sqleval_gates_failed", "Failed verdicts on the newest periods", ["job_name"],
        registry=registry,
    )  # fmt: skip
    for row in last.iter_rows(named=True):
        values = [_write_label(slices[row["slice"]].get(key)) for key in keys]
        key = (run.job.name, row["metric"], format_slice(row["slice"]), *values)
        value.labels(*key).set(row["value"])
        rows.labels(*key).set(row["n"])
        zone = run.job.period.timezone
        begin.labels(*key, row["period"]).set(find_start(row["period"], zone).timestamp())
    failed.labels(run.job.name).set(run.newest.filter(status="failed").height)
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
        remove_drafts(Path(path).parent)
        write_text(path, text(), lock=True)
        written.append(path)
    return written
