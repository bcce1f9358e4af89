"""The rows in one Parquet file, and their metrics."""

from tests.core.sources import conftest as files

one_file, expected = files.one_file, files.expected
