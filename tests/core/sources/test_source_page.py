"""docs/reference/sources.md lists each source, its reader, and a test that reads it."""

import ast
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
#: The rows of the page: the source and its notation, its reader, the extra that installs the
#: reader, the input of the tests, and one of these tests with its lane and module.
#: `docs/generate.py` reads this table. Only the newest DuckDB and Polars run the lane `engines`.
SOURCES = [
    ("files: Parquet, CSV, TSV, JSON (lines)", "a path, pattern, folder or list; `csv+PATH`",
     "DuckDB; text also as `.gz` and `.zst`", "",
     "every format under every compression",
     "core/sources/test_formats.test_a_format_and_its_compressions"),
    ("files: Arrow IPC (`.arrow`, `.feather`, `.ipc`)", "a path, pattern, folder or list",
     "PyArrow", "", "buffers as they are, LZ4 and Zstandard",
     "core/sources/test_formats.test_a_format_and_its_compressions"),
    ("rows inside of JSON documents", "`rows=` (`--rows`), such as `samples`; local files",
     "DuckDB", "", "objects, MLflow's tables, frames of pandas with `orient=\"split\"`",
     "core/sources/test_nested_rows.test_a_table_of_mlflow"),
    ("TREC runs (`.trec`, `.run`) and qrels (`.qrels`)", "a path, `trec+PATH`, `qrels+PATH`",
     "DuckDB, line by line; text also as `.gz` and `.zst`", "", "runs, qrels, wrong lines",
     "core/sources/test_prefixes.test_a_trec_run"),
    ("ARFF (`.arff`)", "a path, `arff+PATH`",
     "DuckDB, line by line; text also as `.gz` and `.zst`", "", "SciPy's reader",
     "core/sources/test_arff.test_all_types_are_read_as_by_scipy"),
    ("tables divided by white space", "`whitespace+PATH`",
     "DuckDB, line by line; text also as `.gz` and `.zst`", "", "pandas, a table as R writes it",
     "core/sources/test_white_space.test_columns_and_types_are_those_of_pandas"),
    ("a published data set of shards", "its folder, or `data/train-*.parquet`",
     "DuckDB, or PyArrow in a store", "", "a local folder, and the same one in S3",
     "engines/sources/test_object_stores.test_a_folder_of_shards"),
    ("S3", "`s3://`, `s3a://`", "PyArrow", "", "moto, with a log of the bytes read",
     "engines/sources/test_object_stores.test_the_lake_gives_what_the_local_files_give"),
    ("Google Cloud Storage", "`gs://`, `gcs://`", "PyArrow", "", "gcp-storage-emulator",
     "engines/sources/test_other_stores.test_google_storage"),
    ("Azure Blob Storage", "`az://`, `abfs://`, `abfss://`", "PyArrow", "", "azurite",
     "engines/sources/test_other_stores.test_azure_storage"),
    ("web servers", "`https://`, `http://`; a URL, or a list of them",
     "PyArrow by fsspec", "http", "a server with ranges, with a log of the bytes read",
     "core/sources/test_other_stores.test_a_web_server"),
    ("Delta tables", "a path, `delta+URL`, a `DeltaTable`",
     "deltalake, and DuckDB or Polars", "delta",
     "tables with three versions; deletion vectors; columns added",
     "core/sources/test_tables.test_versions_of_a_delta_table"),
    ("Iceberg tables", "a path, `iceberg+URL`, `iceberg://CATALOG/NAMESPACE.TABLE`, a `Table`",
     "pyiceberg, and DuckDB or Polars", "iceberg",
     "a table with three snapshots, of an SQL catalogue and of a REST server of the tests; columns "
     "added and renamed; equality deletes",
     "core/sources/test_tables.test_snapshots_of_an_iceberg_table"),
    ("Lance data sets", "a path, `lance+URL`, a `LanceDataset`", "Lance", "lance",
     "a data set with three versions", "core/sources/test_tables.test_versions_of_a_lance_dataset"),
    ("DuckLakes", "`ducklake:CATALOGUE#SCHEMA.TABLE`", "DuckDB, without its extension", "",
     "lakes that the extension wrote, at every snapshot; catalogues of DuckDB and SQLite",
     "core/sources/test_ducklake.test_every_snapshot_of_a_ducklake"),
    ("DuckDB files", "`FILE.duckdb` (`.ddb`, `.db`), `#TABLE` or `--query`",
     "DuckDB, read-only, while a statement runs", "", "tables, queries, labels in another table",
     "core/sources/test_databases.test_tables_and_queries"),
    ("SQLite files", "`FILE.sqlite` (`.sqlite3`, `.db`), `sqlite:///FILE`, `#TABLE` or `--query`",
     "ADBC, in batches", "sqlite", "tables, queries, labels in another table",
     "core/sources/test_databases.test_tables_and_queries"),
    ("PostgreSQL", "`postgresql://USER@HOST/DATABASE`, `#TABLE` or `--query`",
     "ADBC, in batches", "postgres", "a PostgreSQL server",
     "engines/sources/test_databases.test_conditions_that_postgres_evaluates"),
    ("ADBC connections and cursors", "`con=` with a table or `query=`; an executed cursor, once",
     "their driver", "", "SQLite", "core/sources/test_databases.test_connections_of_adbc"),
    ("Arrow streams (`__arrow_c_stream__`)", "the object, once", "PyArrow", "",
     "batches of Polars, readers of PyArrow, and objects with that method alone",
     "core/sources/test_databases.test_arrow_streams_of_any_library"),
    ("frames and tables in memory",
     "Polars, PyArrow, pandas; a DuckDB relation, or a table and `con=`",
     "DuckDB; a LazyFrame in batches", "", "each of them, and odd ones",
     "quick/test_source_kinds.test_same_numbers_as_one_file"),
]  # fmt: skip


def find_test(name: str) -> tuple[Any, set[str]]:
    """Return a test function, and the marks of the function and of its module."""
    file, _, function = name.partition(".")
    module = importlib.import_module(f"tests.{file.replace('/', '.')}")
    marks = getattr(module, "pytestmark", [])
    marks = marks if isinstance(marks, list) else [marks]
    test = getattr(module, function)
    return test, {mark.name for mark in [*marks, *getattr(test, "pytestmark", [])]}


@pytest.mark.parametrize("row", SOURCES, ids=lambda row: row[0])
def test_a_source_of_the_page_is_tested(row: tuple[str, ...]) -> None:
    _, _, _, extra, _, name = row
    assert name.rpartition(".")[2].startswith("test_")
    if not name.startswith("engines/"):  # the libraries of that lane may be missing here
        test, marks = find_test(name)
        assert callable(test)
        assert not marks & {"skip", "skipif", "xfail"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not extra or extra in project["optional-dependencies"]


def find_schemes() -> Iterator[str]:
    """Yield the schemes that the package opens."""
    for module, table in (("stores", "SCHEMES"), ("database/naming", "_SCHEMES")):
        tree = ast.parse(
            (ROOT / "sqleval" / "sources" / f"{module}.py").read_text(encoding="utf-8")
        )
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == table:
                assert isinstance(node.value, ast.Dict)
                yield from (key.value for key in node.value.keys if isinstance(key, ast.Constant))


def test_every_scheme_is_on_the_page() -> None:
    written = " ".join(row[1] for row in SOURCES)
    for scheme in find_schemes():
        assert f"{scheme}://" in written or scheme == "postgres"
