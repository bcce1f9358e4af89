"""Tables of Sail: Iceberg's with deleted rows, and Delta's with columns found by number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.engines.opening import open_engine
from tests.support.comparison import assert_frame_equal
from tests.support.lake import Lake, evaluated

DAYS = ["2026-01-01", "2026-01-02", "2026-01-03"]
ROLES: dict[str, Any] = {"label": "y", "score": "p", "by": "day"}


class SailLake(Lake):
    """A lake whose predictions are an Iceberg table of Sail's, a file a day."""

    def __init__(self, folder: Path, version: int, kind: str) -> None:
        super().__init__(folder)
        engine: Any = open_engine("sail")
        self.session = engine.session
        self.table = folder / "table"
        self.kind = kind
        self.name = f"deleted_{kind}_{version}"
        modes = ", ".join(
            f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge")
        )
        self.sql(
            f"CREATE TABLE {self.name} (key BIGINT, day DATE, y BIGINT, p BIGINT) USING iceberg "
            f"LOCATION \"{self.table}\" TBLPROPERTIES ('format-version' = '{version}', {modes})"
        )
        for day, first in enumerate((0, 40, 80)):
            self.sql(
                f"INSERT INTO {self.name} SELECT id, DATE '{DAYS[day]}', id % 2, "
                f"id * 37 % 101 FROM range({first}, {first + 40})"
            )
        self.spec |= {"source": self.table.name, "metrics": ["roc_auc"], "by": None}

    def sql(self, statement: str) -> list[Any]:
        return self.session.sql(statement).collect()

    def delete(self, *keys: int) -> None:
        """Delete rows: MERGE writes numbers, DELETE in version 2 the values of all columns."""
        if self.kind == "values":
            self.sql(f"DELETE FROM {self.name} WHERE key IN ({', '.join(map(str, keys))})")
            return
        listed = ", ".join(f"({key})" for key in keys)
        self.sql(
            f"MERGE INTO {self.name} AS t USING (SELECT * FROM VALUES {listed} AS u(key)) AS u "
            "ON t.key = u.key WHEN MATCHED THEN DELETE"
        )

    def read(self) -> pl.DataFrame:
        rows = [tuple(row) for row in self.sql(f"SELECT key, day, y, p FROM {self.name}")]
        return pl.DataFrame(rows, schema=["key", "day", "y", "p"], orient="row")


@pytest.fixture(params=[(2, "numbers"), (3, "numbers"), (2, "values")])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SailLake]:
    made = SailLake(tmp_path, *request.param)
    yield made
    made.sql(f"DROP TABLE {made.name}")


def evaluate(source: object) -> pl.DataFrame:
    return sqleval.scan(source, **ROLES).evaluate(["roc_auc", "ks"]).collect().drop("method")


def test_rows_that_sail_has_deleted(lake: SailLake) -> None:
    lake.run(backfill=True)
    assert lake.history()["n"].to_list() == [40] * 3
    lake.delete(45, 46, 47)
    lake.delete(45, 60, 81)
    rows = lake.read()
    assert rows.height == 115
    source = sqleval.scan(lake.table, **ROLES).source
    # The engine itself reads deletes in Parquet files, but not the bit maps of version 3.
    assert bool(source.files) is lake.name.endswith("2")
    deletes = [file for file in source.files if "equality-delete" in file]
    assert len(deletes) == 2 * (lake.kind == "values")
    assert_frame_equal(evaluate(lake.table), evaluate(rows))
    changed = evaluated(lake.run(backfill=True))
    assert {DAYS[1], DAYS[2]} <= {*changed}
    found = lake.history().sort("period")
    assert found["n"].to_list() == [40, 36, 39]
    values = evaluate(rows).filter(metric="roc_auc")["value"]
    assert found["value"].to_list() == pytest.approx(values.to_list(), abs=1e-12)
    assert evaluated(lake.run(backfill=True)) == []


def test_columns_of_a_delta_table_by_number(tmp_path: Path) -> None:
    """The files of Sail's table have other column names than the table, and deletion vectors."""
    session = open_engine("sail").session
    for name, part in {"whole": "", "parts": "PARTITIONED BY (day)"}.items():
        session.sql(
            f"CREATE TABLE {name} (key BIGINT, y BIGINT, p DOUBLE, day DATE) USING delta {part} "
            f"LOCATION '{tmp_path / name}' TBLPROPERTIES ('delta.columnMapping.mode' = 'id', "
            "'delta.enableDeletionVectors' = 'true')"
        ).collect()
        session.sql(
            f"INSERT INTO {name} SELECT id, id % 2, (id * 37 % 101) / 101D, "
            "DATE '2026-01-01' + INT(id % 3) FROM range(0, 120)"
        ).collect()
        for has_deleted in (False, True):
            if has_deleted:
                session.sql(f"DELETE FROM {name} WHERE key IN (3, 4, 50)").collect()
            rows = [tuple(row) for row in session.sql(f"SELECT * FROM {name}").collect()]
            frame = pl.DataFrame(rows, ["key", "y", "p", "day"], orient="row")
            found, expected = (
                sqleval.scan(source, **ROLES).evaluate("roc_auc").collect()
                for source in (tmp_path / name, frame)
            )
            assert_frame_equal(found, expected)
            assert bool(sqleval.scan(tmp_path / name, **ROLES).source.files) == (not has_deleted)
