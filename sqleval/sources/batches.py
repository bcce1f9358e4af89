"""Offers batches that Python makes as an Arrow stream to the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import Any


class BatchStream(ABC):
    """An Arrow stream of batches, which are made anew for each reader.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns and their types.
    """

    schema: Any

    @abstractmethod
    def read_batches(self) -> Iterator[Any]:
        """Yield the batches, in the schema's types."""

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        pa: Any = import_module("pyarrow")
        reader = pa.RecordBatchReader.from_batches(self.schema, self.read_batches())
        return reader.__arrow_c_stream__(requested_schema)
