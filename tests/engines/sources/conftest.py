"""The rows in one Parquet file, and what they evaluate to."""

from tests.core.sources import conftest as files

one_file, expected, few = files.one_file, files.expected, files.few
