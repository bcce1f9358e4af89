"""Spans and counters of OpenTelemetry, read from its in-memory exporters."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sqleval.cli import telemetry
from sqleval.common.telemetry import keep_span, start_span
from tests.support.commands import run, run_process
from tests.support.lake import Lake, on, rows


class Collected(NamedTuple):
    """What was recorded."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    def list_spans(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def read_counts(self) -> dict[tuple[str, str], int]:
        """Return the counts of gates by gate and status."""
        data = self.reader.get_metrics_data()
        assert data is not None
        (resource,) = data.resource_metrics
        (scope,) = resource.scope_metrics
        (metric,) = scope.metrics
        assert (scope.scope.name, metric.name) == ("sqleval", "sqleval.gates")
        return {
            (point.attributes["sqleval.gate"], point.attributes["sqleval.status"]): point.value
            for point in metric.data.data_points
        }


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """Providers for one test: the global ones can be set only once in a process."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader])
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: tracers)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: meters)
    yield Collected(exporter, reader)
    tracers.shutdown()
    meters.shutdown()


def test_a_run_its_periods_and_its_statements_are_spans(lake: Lake, collected: Collected) -> None:
    changes = {"gates": ["roc_auc >= 0.5", "log_loss <= 0.01"], "by": []}
    done = lake.run(changes=changes, backfill=True)
    (whole,) = collected.list_spans("sqleval run")
    assert dict(whole.attributes) == {
        "sqleval.job": "nightly", "sqleval.run": done.id, "sqleval.periods": 4,
        "sqleval.errors": 0, "sqleval.failed_gates": 4,
    }  # fmt: skip
    (periods,) = collected.list_spans("evaluate periods")
    assert periods.attributes["sqleval.periods"] == tuple(f"2026-01-0{day}" for day in range(1, 5))
    assert periods.parent.span_id == whole.context.span_id
    statements = collected.list_spans("duckdb statement")
    assert {span.context.trace_id for span in statements} == {whole.context.trace_id}
    inside = [each for each in statements if each.parent.span_id == periods.context.span_id]
    assert any("log_loss" in each.attributes["db.query.text"] for each in inside)
    for span in statements:
        assert span.attributes["db.system.name"] == "duckdb"
        assert whole.start_time <= span.start_time <= span.end_time <= whole.end_time
        # Paths and values are texts in a statement; none of them is recorded.
        assert "'" not in span.attributes["db.query.text"]
        assert str(lake.folder) not in span.attributes["db.query.text"]


def test_parts_are_read_one_by_one_within_the_span_of_their_reader(collected: Collected) -> None:
    read: list[int] = []

    def read_parts() -> Iterator[int]:
        for number in range(3):
            with start_span("read part", {}):
                read.append(number)
            yield number

    with start_span("whole", {}):
        parts = keep_span(read_parts)()
    with start_span("other", {}):
        assert next(parts) == 0
        assert read == [0]
        with start_span("take part", {}):
            pass
        assert [*parts] == [1, 2]
    (whole,), (other,) = collected.list_spans("whole"), collected.list_spans("other")
    reading, (taking,) = collected.list_spans("read part"), collected.list_spans("take part")
    assert {span.parent.span_id for span in reading} == {whole.context.span_id}
    assert taking.parent.span_id == other.context.span_id


def test_gates_are_counted_by_status(lake: Lake, collected: Collected) -> None:
    changes = {"gates": ["roc_auc >= 0.5", "log_loss <= 0.01"], "by": []}
    lake.run(changes=changes, date=on("2026-01-01"))
    lake.run(date=on("2026-01-02"))
    assert collected.read_counts() == {
        ("roc_auc >= 0.5", "passed"): 2, ("log_loss <= 0.01", "failed"): 2,
    }  # fmt: skip


def test_an_error_is_recorded_on_the_spans(lake: Lake, collected: Collected) -> None:
    lake.put(rows(days=1).with_columns(p=rows(days=1)["p"] + 1))
    done = lake.run(changes={"by": []}, date=on("2026-01-01"))
    assert len(done.errors) == 1
    (whole,) = collected.list_spans("sqleval run")
    assert whole.attributes["sqleval.errors"] == 1
    (lake.folder / "history.duckdb").write_text("no database")
    path = str(lake.folder / "job.yml")
    run("run", path, "--backfill", code=3)
    (_, failed) = collected.list_spans("sqleval run")
    assert failed.status.status_code.name == "ERROR"
    assert "history.duckdb" in failed.status.description


def test_metrics_added_later_have_a_span(lake: Lake, collected: Collected) -> None:
    lake.run(changes={"states": "states", "by": []}, backfill=True)
    lake.run(changes={"metrics": ["roc_auc", "log_loss", "f1"]}, backfill=True)
    (added,) = collected.list_spans("add metrics to periods")
    assert len(added.attributes["sqleval.periods"]) == 4


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ([], [])),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, (["console", "otlp"], [])),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"}, (["otlp"], ["otlp"])),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://h:4318"}, ([], ["otlp"])),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318", "OTEL_METRICS_EXPORTER": "none"},
            (["otlp"], []),
        ),
    ],
)
def test_exporters_are_those_of_the_standard_variables(
    variables: dict[str, str], expected: tuple[list[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert tuple(telemetry._list_exporters(each) for each in ("traces", "metrics")) == expected


def test_an_exporter_that_is_missing_is_a_note(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, collected: Collected
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "nowhere")
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: None)
    monkeypatch.setattr("sqleval.common.telemetry._create_counter", lambda *_: Uncounted())
    lake.job(by=None)
    done = run("run", str(lake.folder / "job.yml"), "--backfill")
    assert "note: no telemetry is sent: no exporter 'nowhere' is installed" in done.stderr
    assert "pip install 'opentelemetry-" in done.stderr
    assert lake.history().height > 0
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    done = run("run", str(lake.folder / "job.yml"), "--backfill")
    assert "note: no telemetry is sent: OpenTelemetry: cannot import" in done.stderr


class Uncounted:
    def add(self, *_: object) -> None:
        pass


def test_the_command_sends_before_it_ends(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "console")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=models")
    lake.job(by=None, gates=["roc_auc >= 0.5"])
    done = run_process("run", str(lake.folder / "job.yml"), "--backfill")
    decoder, texts, at = json.JSONDecoder(), done.stdout.strip(), 0
    documents: list[dict[str, Any]] = []
    while at < len(texts):
        document, at = decoder.raw_decode(texts, at)
        documents.append(document)
        at += len(texts[at:]) - len(texts[at:].lstrip())
    spans = [each for each in documents if "context" in each]
    assert {"sqleval run", "evaluate periods", "duckdb statement"} == {s["name"] for s in spans}
    assert spans[0]["resource"]["attributes"]["service.name"] == "sqleval"
    assert spans[0]["resource"]["attributes"]["team"] == "models"
    assert any("resource_metrics" in each for each in documents)
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert run_process("run", str(lake.folder / "job.yml"), "--backfill").stdout == ""
