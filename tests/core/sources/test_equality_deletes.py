"""Rows that an Iceberg table deletes by the values of columns."""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import FileFormat
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

import sqleval
from sqleval import SourceError
from sqleval.sources.lake.iceberg_files import list_iceberg_files
from sqleval.sources.lake.iceberg_tasks import list_tasks
from tests.support.iceberg_deletes import commit, write_deletes, write_positions, write_rows

Table = Any


def make_rows(keys: list[int | None], start: int = 0) -> pl.DataFrame:
    """Return rows with a unique number each; the values of all other columns repeat."""
    at = pl.int_range(start, start + len(keys), eager=True)
    return pl.DataFrame(
        {"row": at, "key": pl.Series(keys, dtype=pl.Int64), "day": (at % 2).cast(pl.Int32)}
    ).with_columns(
        name="n" + (pl.col("row") % 3).cast(pl.String), y=pl.col("row") % 2, p=pl.col("row") / 1000
    )


ROWS = make_rows([0, 1, 2, None, 4, 5, 6, 7, 8, 9])
#: The numbers of columns.
ROW, KEY, DAY, NAME, P = 1, 2, 3, 4, 6


def frame(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def insert_again(table: Table) -> set[int]:
    """Delete rows, and insert one of them in the same snapshot and another one in a later one."""
    commit(table, write_deletes(table, frame(key=[1, 2]), [KEY]), *write_rows(table, ROWS[1:2]))
    commit(table, *write_rows(table, make_rows([2], 20)))
    return {0, 1, 3, 4, 5, 6, 7, 8, 9, 20}


def delete_null(table: Table) -> set[int]:
    commit(table, write_deletes(table, frame(key=[None, 5]).cast(pl.Int64), [KEY]))
    return {0, 1, 2, 4, 6, 7, 8, 9}


def delete_others_than_null(table: Table) -> set[int]:
    commit(table, write_deletes(table, frame(key=[0, 5]), [KEY]))
    return {1, 2, 3, 4, 6, 7, 8, 9}


def delete_pairs(table: Table) -> set[int]:
    """Row 8 has another name than the deletes of its key, and row 3 has no key."""
    pairs = frame(name=["n0", "n1", "n0"], key=[9, 8, None])
    commit(table, write_deletes(table, pairs, [NAME, KEY]))
    return {0, 1, 2, 4, 5, 6, 7, 8}


def delete_by_several_columns(table: Table) -> set[int]:
    commit(table, write_deletes(table, frame(key=[4]), [KEY]))
    commit(
        table,
        write_deletes(table, frame(name=["n0"]), [NAME]),
        write_deletes(table, frame(day=[1], name=["n2"]).cast({"day": pl.Int32}), [DAY, NAME]),
    )
    commit(table, *write_rows(table, make_rows([4, 30], 30)))
    commit(table, write_deletes(table, frame(key=[30]), [KEY]))
    return {1, 2, 7, 8, 30}


def delete_positions(table: Table) -> set[int]:
    (task,) = table.scan().plan_files()
    positions = write_positions(table, task.file.file_path, [0, 9])
    commit(table, positions, write_deletes(table, frame(key=[9, 1]), [KEY]))
    commit(table, *write_rows(table, make_rows([1], 20)))
    commit(table, write_deletes(table, frame(key=[2]), [KEY]))
    return {3, 4, 5, 6, 7, 8, 20}


def delete_in_a_partition(table: Table) -> set[int]:
    """Rows of the other day stay, and those that were there before the table had partitions."""
    with table.update_spec() as spec:
        spec.add_field("day", IdentityTransform())
    every = make_rows([1, 2, 3, 4, 5, 6], 10)
    commit(table, *write_rows(table, every))
    commit(table, write_deletes(table, frame(key=[1, 2, 3, 4]), [KEY], [1], 1))
    return {*range(10), 10, 12, 14, 15}


def delete_in_all_partitions(table: Table) -> set[int]:
    kept = delete_in_a_partition(table)
    commit(table, write_deletes(table, frame(key=[1, 5]), [KEY]))
    commit(table, write_deletes(table, frame(key=[6]), [KEY], [0], 1))
    commit(table, *write_rows(table, make_rows([1], 20)))
    return kept - {1, 5, 10, 14} | {20}


def delete_in_buckets(table: Table) -> set[int]:
    """Deletes lie in the bucket of their key."""
    bucket = BucketTransform(4).transform(LongType())
    files = {key: write_rows(table, make_rows([key], key)) for key in range(10, 16)}
    with table.update_spec() as spec:
        spec.add_field("key", BucketTransform(4), "bucket")
    for key, (file,) in files.items():
        file.spec_id = 1
        file[3] = Record(bucket(key))
        commit(table, file)
    assert len({*map(bucket, files)}) > 1
    for key in (11, 14):
        commit(table, write_deletes(table, frame(key=[key]), [KEY], [bucket(key)], 1))
    other = next(key for key in files if bucket(key) != bucket(10))
    commit(table, write_deletes(table, frame(key=[10]), [KEY], [bucket(other)], 1))
    return {*range(10), 10, 12, 13, 15}


def delete_after_a_former_partition(table: Table) -> set[int]:
    with table.update_spec() as spec:
        spec.add_field("day", IdentityTransform())
    commit(table, *write_rows(table, make_rows([1, 2], 10)))
    with table.update_spec() as spec:
        spec.remove_field("day")
    commit(table, write_deletes(table, frame(key=[2]), [KEY], spec=table.spec().spec_id))
    return {0, 1, *range(3, 11)}


def rename_key(table: Table) -> set[int]:
    commit(table, write_deletes(table, frame(key=[1]), [KEY]))
    with table.update_schema() as schema:
        schema.rename_column("key", "it's a key")
        schema.rename_column("day", "key")
    commit(table, write_deletes(table, frame(renamed=[2]), [KEY]))
    return {0, *range(3, 10)}


def drop_key(table: Table) -> set[int]:
    """Another column gets the key's name, and a later column has other values."""
    commit(table, write_deletes(table, frame(key=[1, 2]), [KEY]))
    with table.update_schema(allow_incompatible_changes=True) as schema:
        schema.delete_column("key")
    with table.update_schema() as schema:
        schema.add_column("key", StringType())
    rows = make_rows([None], 20).with_columns(key=pl.lit("1"))
    commit(table, *write_rows(table, rows))
    (number,) = (field.field_id for field in table.schema().fields if field.name == "key")
    commit(table, *write_rows(table, rows.with_columns(row=pl.lit(21, pl.Int64), key=pl.lit("2"))))
    commit(table, write_deletes(table, frame(key=["1"]), [number]))
    return {0, *range(3, 10), 21}


def add_key(table: Table) -> set[int]:
    """In older files the column is NULL."""
    with table.update_schema() as schema:
        schema.add_column("extra", LongType())
    extra = make_rows([1, 2], 20).with_columns(extra=pl.col("row"))
    commit(table, *write_rows(table, extra))
    (number,) = (field.field_id for field in table.schema().fields if field.name == "extra")
    deletes = frame(extra=[None, 21], key=[7, 2]).cast(pl.Int64)
    commit(table, write_deletes(table, deletes, [number, KEY]))
    return {*range(7), 8, 9, 20}


def widen_key(table: Table) -> set[int]:
    first = frame(day=[1], key=[5]).cast({"day": pl.Int32})
    commit(table, write_deletes(table, first, [DAY, KEY]))
    with table.update_schema() as schema:
        schema.update_column("day", LongType())
    commit(table, *write_rows(table, make_rows([7], 21)))
    commit(table, write_deletes(table, frame(day=[1], key=[7]), [DAY, KEY]))
    commit(table, *write_rows(table, make_rows([5], 23)))
    return {*range(5), 6, 8, 9, 23}


def update_often(table: Table) -> set[int]:
    """Each snapshot adds deletes and rows."""
    kept = {key: row for row, key in ROWS.select("row", "key").iter_rows()}
    for at in range(6):
        key, row = 6 + (at * 3) % 5, 100 + at
        rows, deletes = make_rows([key], row), write_deletes(table, frame(key=[key]), [KEY])
        commit(table, deletes, *write_rows(table, rows))
        kept[key] = row
    return {*kept.values()}


CASES: list[Callable[[Table], set[int]]] = [
    insert_again, delete_null, delete_others_than_null, delete_pairs, delete_by_several_columns,
    delete_positions, delete_in_a_partition, delete_in_all_partitions, delete_in_buckets,
    delete_after_a_former_partition, rename_key, drop_key, add_key, widen_key, update_often,
]  # fmt: skip


def add_nested(table: Table) -> None:
    """Add a column that the engine does not read from its files."""
    with table.update_schema() as schema:
        inner = NestedField(100, "inner", StringType(), required=False)
        schema.add_column("nested", StructType(inner))


def make_table(folder: Path, name: str = "rows", *, is_nested: bool = False) -> Table:
    """Make a table; with a nested column, the engine does not read its files."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace_if_not_exists("lake")
    arrow = ROWS.to_arrow(compat_level=pl.CompatLevel.oldest())
    table = catalog.create_table(f"lake.{name}", schema=arrow.schema)
    if is_nested:
        add_nested(table)
    commit(table, *write_rows(table, ROWS))
    return table


def read_rows(source: object, *, has_files: bool | None = None, **options: Any) -> set[int]:
    """Return the numbers of the rows that are evaluated, each of them once."""
    scanned = sqleval.scan(source, label="y", score="p", by="row", **options)
    assert has_files in (None, bool(scanned.source.files))
    found = scanned.evaluate("prevalence").collect().filter(pl.col("n") > 0)
    assert found["n"].to_list() == [1] * found.height
    return {*found["row"]}


@pytest.fixture(scope="module")
def open_case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], tuple[Table, set[int]]]:
    """Return a function that makes the table of a case once, and its rows that are left."""

    @cache
    def make_case(case: Callable[[Table], set[int]]) -> tuple[Table, set[int]]:
        table = make_table(tmp_path_factory.mktemp("case"))
        return table, case(table)

    return make_case


@pytest.mark.parametrize("case", CASES)
def test_rows_that_are_left(case: Any, open_case: Callable[[Any], tuple[Table, set[int]]]) -> None:
    """The engine reads the files; PyIceberg reads a table with a nested column.

    PyIceberg applies a condition after any deletes, as the next test checks. For the engine the
    condition is part of the same statement, and is tried with a third of the cases.
    """
    table, rows = open_case(case)
    nested = table.catalog.load_table(table.name())
    add_nested(nested)
    assert read_rows(table, has_files=True) == rows
    assert read_rows(nested, has_files=False) == rows
    if CASES.index(case) % 3 == 0:
        assert read_rows(table, where="row % 2 = 1") == {row for row in rows if row % 2}


@pytest.mark.parametrize("is_nested", [False, True], ids=["simple", "nested"])
def test_an_earlier_version_has_the_rows_that_were_deleted(is_nested: bool, tmp_path: Path) -> None:
    table = make_table(tmp_path, is_nested=is_nested)
    first = table.current_snapshot().snapshot_id
    rows = delete_positions(table)
    assert read_rows(table, has_files=not is_nested) == rows
    assert read_rows(table, where="row % 2 = 1") == {row for row in rows if row % 2}
    assert read_rows(table, version=first) == {*ROWS["row"]}


def test_data_files_that_change(tmp_path: Path) -> None:
    """Deletes change the files of earlier snapshots, of their partition alone."""
    table = make_table(tmp_path)

    def list_files() -> dict[str, str]:
        files = list_iceberg_files(table, "rows", None, list_tasks(table, None, "rows")).files
        return {file.path: file.deleted for file in files}

    before = list_files()
    assert {*before.values()} == {""}
    commit(table, *write_rows(table, ROWS), write_deletes(table, frame(key=[1]), [KEY]))
    first = list_files()
    assert [not deleted for path, deleted in first.items() if path in before] == [False]
    assert [deleted for path, deleted in first.items() if path not in before] == [""]
    with table.update_spec() as spec:
        spec.add_field("day", IdentityTransform())
    commit(table, *(files := write_rows(table, ROWS)))
    commit(table, write_deletes(table, frame(key=[1]), [KEY], [1], 1))
    deleted = {file.file_path: list_files()[file.file_path] for file in files}
    assert [bool(deleted[file.file_path]) for file in files] == [
        file.partition[0] == 1 for file in files
    ]
    assert first.items() <= list_files().items()


@pytest.mark.parametrize("is_nested", [False, True], ids=["simple", "nested"])
def test_floats_that_are_deleted(is_nested: bool, tmp_path: Path) -> None:
    """NaN is equal to NaN, and zero to -0.0; files know no bounds of NaN."""
    table = make_table(tmp_path, is_nested=is_nested)
    with table.update_schema() as schema:
        schema.add_column("small", FloatType()).add_column("large", DoubleType())
    values = [math.nan, -math.nan, 0.0, -0.0, 0.1, math.inf, None, 1.0]
    rows = make_rows([*range(8)], 20).with_columns(
        small=pl.Series(values, dtype=pl.Float32), large=pl.Series(values, dtype=pl.Float64)
    )
    commit(table, *write_rows(table, rows))
    *_, small, large = (field.field_id for field in table.schema().fields)
    first = frame(small=[math.nan, 0.0]).cast(pl.Float32)
    commit(table, write_deletes(table, first, [small]))
    assert read_rows(table) == {*range(10), 24, 25, 26, 27}
    assert read_rows(table, where="small > 0.05") == {24, 25, 27}
    with table.update_schema() as schema:
        schema.update_column("small", DoubleType())
    # The data file holds the number as a FLOAT.
    pairs = frame(small=[float(rows["small"][4]), math.inf], large=[0.1, 0.0])
    commit(table, write_deletes(table, pairs, [small, large]))
    commit(table, write_deletes(table, frame(large=[1.0, None]), [large]))
    assert read_rows(table) == {25}


OTHERS: dict[str, tuple[IcebergType, list[Any]]] = {
    "flag": (BooleanType(), [True, False]),
    "day_of": (DateType(), [date(2026, 1, 1), date(1969, 1, 1)]),
    "at": (TimestampType(), [datetime(2026, 1, 1, 1, 2, 3, 4), datetime(2026, 1, 1)]),
    "at_utc": (
        TimestamptzType(),
        [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)],
    ),
    "price": (DecimalType(9, 2), [Decimal("1.20"), Decimal("-3.00")]),
    "clock": (TimeType(), [time(1, 2, 3), time(0)]),
    "code": (BinaryType(), [b"a", b""]),
    "fixed": (FixedType(2), [b"ab", b"cd"]),
    "id": (UUIDType(), [UUID(int=1).bytes, UUID(int=2).bytes]),
}


#: Types that the engine does not read from files: PyIceberg reads a table that has one of them.
UNREAD = ("clock", "code", "fixed", "id")


@pytest.mark.parametrize("has_files", [True, False])
def test_keys_of_other_types(has_files: bool, tmp_path: Path) -> None:
    """For each type, one row has a deleted value, one has NULL, and all others are kept."""
    others = {name: each for name, each in OTHERS.items() if not has_files or name not in UNREAD}
    table = make_table(tmp_path)
    with table.update_schema() as schema:
        for name, (kind, _) in others.items():
            schema.add_column(name, kind)
    count = 2 * len(others) + 1
    rows = make_rows([1] * count, 20).to_arrow(compat_level=pl.CompatLevel.oldest())
    deletes = []
    for at, (name, (_, (gone, kept))) in enumerate(others.items()):
        values = [kept] * count
        values[2 * at : 2 * at + 2] = [gone, None]
        kind = table.schema().as_arrow().field(name).type
        rows = rows.append_column(name, pa.array(values, kind))
        number = table.schema().find_field(name).field_id
        deletes.append((pa.table({name: pa.array([gone, None], kind)}), [number]))
    commit(table, *write_rows(table, rows))
    commit(table, *(write_deletes(table, *each) for each in deletes[1:]))
    # The deleted rows of the first type are still there; all other deleted rows are gone.
    assert read_rows(table, has_files=has_files) == {20, 21, 19 + count}
    commit(table, write_deletes(table, *deletes[0]))
    assert read_rows(table) == {19 + count}


def test_a_partition_of_nan(tmp_path: Path) -> None:
    """NaN is a partition like any other one; PyIceberg cannot write it."""
    table = make_table(tmp_path)
    with table.update_schema() as schema:
        schema.add_column("size", DoubleType())
    sizes = [math.nan, math.nan, 0.5]
    made = [
        write_rows(table, make_rows([key], 20 + key).with_columns(size=pl.lit(size)))
        for key, size in enumerate(sizes)
    ]
    with table.update_spec() as spec:
        spec.add_field("size", IdentityTransform(), "part")
    for size, (file,) in zip(sizes, made, strict=True):
        file.spec_id = 1
        file[3] = Record(size)
        commit(table, file)
    commit(table, write_deletes(table, frame(key=[0, 2]), [KEY], [float("nan")], 1))
    assert read_rows(table) == {*range(10), 21, 22}


def test_a_partition_that_is_void(tmp_path: Path) -> None:
    """A removed partition field of version 1 is void, so its deletes apply to all partitions."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("lake")
    arrow = ROWS.to_arrow(compat_level=pl.CompatLevel.oldest())
    options = {"format-version": "1"}
    table = catalog.create_table("lake.rows", schema=arrow.schema, properties=options)
    with table.update_spec() as spec:
        spec.add_field("day", IdentityTransform(), "part")
    table.append(arrow)
    with table.update_spec() as spec:
        spec.remove_field("part")
    assert [str(field.transform) for field in table.spec().fields] == ["void"]
    with table.transaction() as change:
        change.upgrade_table_version(2)
    deletes = write_deletes(table, frame(key=[1, 4]), [KEY], [None], table.spec().spec_id)
    commit(table, deletes)
    assert read_rows(table) == {*range(10)} - {1, 4}


def test_what_equality_deletes_cannot_compare(tmp_path: Path) -> None:
    table = make_table(tmp_path, is_nested=True)
    inner = table.schema().find_field("nested.inner").field_id
    deletes = write_deletes(table, frame(inner=["a"]), [inner])
    commit(table, deletes)
    message = rf"cannot read lake.rows: .*{Path(deletes.file_path).name} compare column number 8,"
    with pytest.raises(SourceError, match=message):
        sqleval.scan(table, label="y", score="p")
    other = make_table(tmp_path, "other")
    deletes = write_deletes(other, frame(key=[1]), [KEY])
    deletes[14] = []
    commit(other, deletes)
    with pytest.raises(SourceError, match=r"column number 0, .*in Spark by CALL system.rewrite_"):
        sqleval.scan(other, label="y", score="p")


def test_equality_deletes_of_another_format(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    deletes = write_deletes(table, frame(key=[1]), [KEY])
    deletes[2] = FileFormat.AVRO
    commit(table, deletes)
    with pytest.raises(SourceError, match=r"format AVRO, and must be in PARQUET or ORC; equality"):
        sqleval.scan(table, label="y", score="p")


def test_equality_deletes_that_are_gone(tmp_path: Path) -> None:
    for is_nested in (False, True):
        table = make_table(tmp_path, f"t{is_nested}", is_nested=is_nested)
        deletes = write_deletes(table, frame(key=[1]), [KEY])
        commit(table, deletes)
        place = Path(deletes.file_path.removeprefix("file://"))
        place.unlink()
        with pytest.raises(SourceError, match=place.name):
            read_rows(table)


def test_conditions_reach_data_files(tmp_path: Path) -> None:
    """Deleted rows are left out batch by batch, so that memory never holds all rows."""
    table = make_table(tmp_path)
    delete_by_several_columns(table)
    source = sqleval.scan(table, label="y", score="p").source
    con = duckdb.connect()
    plan = con.sql(f"EXPLAIN SELECT SUM(p) FROM {source.relation} WHERE name = 'n1'").fetchall()
    text = plan[0][1]
    assert "ANTI" in text
    assert "DELIM" not in text.upper()
    assert re.search(r"Filters:[^A-Z]*='n1'", text.replace(" ", "").replace("\n", ""))
