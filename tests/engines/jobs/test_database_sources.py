"""Jobs over tables of PostgreSQL: a hash of the rows of each period says what changed."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.core.jobs import test_database_sources as files
from tests.core.jobs.test_database_sources import DatabaseLake
from tests.support.engines import PostgreSQL
from tests.support.lake import rows


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[DatabaseLake]:
    with PostgreSQL() as server:

        def query(statement: str) -> pl.DataFrame | None:
            found = server._connection.execute(statement)
            if found.description is None:
                return None
            return pl.DataFrame(found.fetchall(), [c.name for c in found.description], orient="row")

        made = DatabaseLake(tmp_path, server.url, query)
        made.write("preds", rows(days=3))
        yield made


test_a_run_evaluates_the_periods_whose_rows_have_changed = (
    files.test_a_run_evaluates_the_periods_whose_rows_have_changed
)
test_labels_in_a_table = files.test_labels_in_a_table
test_a_wrong_table_is_the_same_error_at_every_door = (
    files.test_a_wrong_table_is_the_same_error_at_every_door
)
