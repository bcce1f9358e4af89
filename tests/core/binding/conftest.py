"""The rows in one Parquet file."""

from tests.core.sources import conftest as files

one_file = files.one_file
