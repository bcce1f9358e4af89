"""Records spans and counters of OpenTelemetry, if the process has imported that library."""

import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
#: The values that an attribute of OpenTelemetry may have.
Attribute = str | bool | int | float | Sequence[str]
#: Sets an attribute of a span.
Describe = Callable[[str, Attribute], None]

_SCOPE = "sqleval"
#: A string literal in a statement, which may be a path with a key, or a value of private data.
_TEXT = re.compile(r"'(?:[^']|'')*'")


def _ignore(name: str, value: Attribute) -> None:
    """Set no attribute."""


@contextmanager
def start_span(name: str, attributes: Mapping[str, Attribute]) -> Generator[Describe]:
    """Record a span while the body runs, and yield the function that sets its attributes.

    An error of the body is recorded as well. Without OpenTelemetry nothing is recorded.

    Parameters
    ----------
    name : str
        The name of the span.
    attributes : mapping
        The attributes that are known at the start.

    Examples
    --------
    >>> with start_span("count rows", {"sqleval.job": "nightly"}) as describe:
    ...     describe("sqleval.rows", 3)
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _ignore
        return
    tracer = trace.get_tracer_provider().get_tracer(_SCOPE)
    with tracer.start_as_current_span(name, attributes=attributes) as span:
        yield span.set_attribute


@contextmanager
def start_statement_span(system: str, statement: str) -> Generator[None]:
    """Record a span for a statement; texts in it are replaced by question marks.

    Examples
    --------
    >>> with start_statement_span("duckdb", "SELECT 1"):
    ...     pass
    """
    if "opentelemetry.trace" not in sys.modules:
        yield
        return
    text = _TEXT.sub("?", statement)
    attributes = {"db.system.name": system, "db.query.text": text}
    with start_span(f"{system} statement", attributes):
        yield


def keep_span(read: Callable[..., Iterator[T]]) -> Callable[..., Iterator[T]]:
    """Return a function that runs within the current span, in any thread.

    Polars collects a lazy frame in another thread, which has no current span.

    Examples
    --------
    >>> [*keep_span(lambda: iter([1, 2]))()]
    [1, 2]
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None or not trace.get_current_span().is_recording():
        return read
    span = trace.get_current_span()

    def read_within(*arguments: Any) -> Iterator[T]:
        parts = read(*arguments)
        while True:
            # Not around the yield, or the span would be current in the caller, too.
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                try:
                    part = next(parts)
                except StopIteration:
                    return
            yield part

    return read_within


def add_count(name: str, count: int, attributes: Mapping[str, Attribute]) -> None:
    """Add to a counter of OpenTelemetry, if there is one.

    Examples
    --------
    >>> add_count("sqleval.gates", 2, {"sqleval.status": "failed"})
    """
    metrics: Any = sys.modules.get("opentelemetry.metrics")
    if metrics is not None:
        _create_counter(metrics.get_meter_provider(), name).add(count, attributes)


@lru_cache(maxsize=16)
def _create_counter(provider: Any, name: str) -> Any:
    """Create a counter once for each provider, which warns about a second one of the same name."""
    return provider.get_meter(_SCOPE).create_counter(name)
