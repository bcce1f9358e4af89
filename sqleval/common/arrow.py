"""Wraps Arrow streams to hide the class of their object."""

from typing import Any


class ArrowStream:
    """The Arrow stream of an object, without the object's class.

    Polars keeps the class of the object from which it makes a frame. DuckDB's class would then
    outlive its module, which reports dozens of leaks on stderr when a script ends.

    Parameters
    ----------
    rows : object
        An object with ``__arrow_c_stream__``.
    """

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the stream as a capsule; see Arrow's PyCapsule interface."""
        return self._rows.__arrow_c_stream__(requested_schema)
