"""Sends spans and counters of a command, as the standard variables of OpenTelemetry say."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any

from sqleval.cli.screen import print_message
from sqleval.common.imports import advise_install, import_optional
from sqleval.errors import MissingExtra

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
#: The variables of each signal: names of its exporters, and its endpoint.
_SIGNALS = {
    "traces": ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    "metrics": ("OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
}
#: Protocol: name of its exporter. The default is HTTP, which the extra `otel` installs.
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


@contextmanager
def export_telemetry() -> Generator[None]:
    """Send spans and counters of the body, if a variable asks for it; failures become notes.

    Existing providers, such as those of ``opentelemetry-instrument``, are kept.
    """
    exporter_names = {signal: _list_exporters(signal) for signal in _SIGNALS}
    is_off = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if is_off or not any(exporter_names.values()):
        yield
        return
    providers: list[Any] = []
    try:
        providers = [_set_traces(exporter_names["traces"]), _set_metrics(exporter_names["metrics"])]
    except (MissingExtra, ImportError, ValueError) as error:
        print_message(f"note: no telemetry is sent: {error}")
    try:
        yield
    finally:
        for provider in providers:
            if hasattr(provider, "force_flush"):
                provider.force_flush()


def _list_exporters(signal: str) -> list[str]:
    """Return the names of the exporters that the variables ask for; none by default."""
    variable, endpoint = _SIGNALS[signal]
    default = "otlp" if any(os.environ.get(name) for name in (_ENDPOINT, endpoint)) else "none"
    names = (os.environ.get(variable) or default).split(",")
    return [name.strip() for name in names if name.strip() not in ("", "none")]


def _load_exporter(signal: str, name: str) -> Any:
    """Create the exporter with this name, which reads its settings from variables.

    Raises
    ------
    MissingExtra
        If no installed package has it.
    """
    if name == "otlp":
        variable = f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL"
        protocol = os.environ.get(variable) or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        name = _PROTOCOLS.get(protocol or "http/protobuf", name)
    singular = {
        "traces": "opentelemetry_traces_exporter",
        "metrics": "opentelemetry_metrics_exporter",
    }
    exporters = [*entry_points(group=singular[signal], name=name)]
    if not exporters:
        raise MissingExtra(f"no exporter {name!r} is installed; run {advise_install('otel')}")
    return exporters[0].load()()


def _set_traces(names: list[str]) -> Any:
    """Return the provider of spans, after setting one if there is none."""
    if not names:
        return None
    sdk: Any = import_optional("opentelemetry.sdk.trace", "otel", "OpenTelemetry")
    export: Any = import_optional("opentelemetry.sdk.trace.export", "otel", "OpenTelemetry")
    trace: Any = import_optional("opentelemetry.trace", "otel", "OpenTelemetry")
    provider = trace.get_tracer_provider()
    if not isinstance(provider, sdk.TracerProvider):
        exporters = [_load_exporter("traces", name) for name in names]
        provider = sdk.TracerProvider(resource=_create_resource())
        for exporter in exporters:
            provider.add_span_processor(export.BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
    return provider


def _set_metrics(names: list[str]) -> Any:
    """Return the provider of counters, after setting one if there is none."""
    if not names:
        return None
    sdk: Any = import_optional("opentelemetry.sdk.metrics", "otel", "OpenTelemetry")
    export: Any = import_optional("opentelemetry.sdk.metrics.export", "otel", "OpenTelemetry")
    metrics: Any = import_optional("opentelemetry.metrics", "otel", "OpenTelemetry")
    provider = metrics.get_meter_provider()
    if not isinstance(provider, sdk.MeterProvider):
        readers = [
            export.PeriodicExportingMetricReader(_load_exporter("metrics", name)) for name in names
        ]
        provider = sdk.MeterProvider(readers, resource=_create_resource())
        metrics.set_meter_provider(provider)
    return provider


def _create_resource() -> Any:
    """Return the sender, ``sqleval`` unless OTEL_SERVICE_NAME or a resource attribute names it."""
    resources: Any = import_optional("opentelemetry.sdk.resources", "otel", "OpenTelemetry")
    attributes = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    is_named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in attributes
    return resources.Resource.create({} if is_named else {"service.name": "sqleval"})
