"""The walls between folders of the package, the libraries of each, and the size of functions."""

import ast
import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from . import imports

#: The folders that a folder may import from; all may import `sqleval.errors`.
ALLOWED = {
    "common": "",
    "dialects": "common",
    "catalog": "common dialects",
    "sources": "common",
    "binding": "common catalog sources",
    "plots": "common catalog",
    "inference": "common",
    "alarms": "common inference",
    "engines": "common dialects sources binding",
    "compiler": "common catalog sources binding",
    "history": "common engines",
    "states": "common catalog sources binding compiler engines",
    "splits": "common dialects catalog sources binding compiler engines",
    "resampling": "common catalog sources binding compiler engines",
    "comparison": "common catalog sources binding compiler engines inference resampling",
    "curves": "common catalog sources binding compiler engines inference resampling comparison",
    "frontend": "common dialects catalog sources binding compiler engines states plots inference "
    "resampling comparison curves",
    "export": "common dialects catalog sources binding compiler splits jobs",
    "inspection": "common catalog engines sources binding frontend",
    "drifts": "common catalog sources binding compiler engines states resampling frontend",
    "report": "common catalog frontend inspection plots inference comparison",
    "selection": "common catalog sources binding frontend",
    "checking": "common catalog frontend export",
    "jobs": "common catalog sources binding compiler engines states frontend history inspection "
    "plots inference alarms drifts",
    "cli": "common catalog sources binding compiler engines states splits frontend export "
    "selection history inspection jobs plots report comparison curves drifts checking",
}
#: The libraries that a folder may import, besides Python's standard library.
LIBRARIES = {
    "dialects": "sqlglot",
    "common": "sqlglot adbc_driver_postgresql jinja2 markupsafe",
    "catalog": "sqlglot yaml",
    "binding": "sqlglot",
    "sources": "sqlglot polars numpy pyarrow fsspec aiohttp deltalake pyiceberg polars_iceberg "
    "lance adbc_driver_sqlite",
    "plots": "polars altair vl_convert",
    "inference": "numpy polars scipy",
    "alarms": "polars",
    "engines": "duckdb polars sqlglot pyspark pysail pyarrow adbc_driver_manager google "
    "snowflake databricks trino",
    "compiler": "sqlglot",
    "history": "polars tenacity plotext deltalake adbc_driver_postgresql",
    "states": "polars pyarrow",
    "splits": "sqlglot polars",
    "resampling": "polars",
    "comparison": "polars sqlglot",
    "curves": "polars",
    "frontend": "polars",
    "export": "sqlglot yaml",
    "inspection": "",
    "drifts": "polars",
    "checking": "polars",
    "report": "polars",
    "selection": "polars",
    "jobs": "polars pydantic pydantic_core yaml prometheus_client junitparser "
    "openlineage mlflow alembic tenacity",
    "cli": "click rich polars pythonjsonlogger opentelemetry",
    # The accessor of pandas is imported by itself.
    imports.TOP: "pandas",
}
#: Modules that may import a library that the rest of their folder may not.
ONLY = {
    "pyspark": {"engines.opening", "engines.spark", "engines.spark_files"},
    "google": {"engines.bigquery"},
    "snowflake": {"engines.snowflake"},
    "databricks": {"engines.databricks"},
    "trino": {"engines.trino"},
    "altair": {"plots.parts"},
    "duckdb": {
        "engines.duckdb",
        "engines.duckdb_connection",
        "engines.duckdb_databases",
        "engines.duckdb_files",
        "engines.duckdb_opening",
        "engines.process",
    },
    "pyarrow": {
        "engines.postgres",
        "sources.arrays",
        "sources.arrow_formats",
        "sources.arrow_guesses",
        "sources.arrow_types",
        "sources.database.adbc",
        "sources.batches",
        "sources.bounded",
        "sources.datasets",
        "sources.lake.delta_columns",
        "sources.lake.ducklake_catalogue",
        "sources.lake.ducklake_rows",
        "sources.frames",
        "sources.lazy_stream",
        "sources.stores",
        "sources.lake.datasets",
        "sources.lake.data_files",
        "sources.lake.readers",
        "sources.verify",
        "states.files",
    },
    "rich": {"cli.output"},
    "scipy": {"inference.libraries"},
}


def test_a_folder_imports_from_the_folders_below_it() -> None:
    folders = imports.rooms()
    assert {*folders} == {*ALLOWED, imports.TOP}
    for name, allowed in ALLOWED.items():
        assert folders[name] <= {*allowed.split()}, name


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert imports.circles(imports.edges()) == []
    assert imports.circles(imports.rooms()) == []


def list_libraries() -> dict[str, set[str]]:
    """Return the libraries that each module imports."""
    found = imports.read_imports(imports.PACKAGE)
    return {module: each.libraries for module, each in found.items()}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_folder_imports_its_own_libraries_alone(name: str) -> None:
    found: set[str] = set()
    for module, libraries in list_libraries().items():
        if imports.room(module) == name:
            found |= libraries
    assert found - {*sys.stdlib_module_names} == {*LIBRARIES[name].split()}


@pytest.mark.parametrize("library", ONLY)
def test_a_library_stays_in_its_module(library: str) -> None:
    using = {module for module, libraries in list_libraries().items() if library in libraries}
    assert using == ONLY[library]


def test_imports_by_text_name_a_library() -> None:
    # The tests above do not see names that are put together at run time.
    found = imports.read_imports(imports.PACKAGE)
    put_together = {module for module, each in found.items() if None in each.texts}
    # The public names of the package, and `import_optional` itself.
    assert put_together == {"__init__", "common.imports"}


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{module}: {function}": lines
        for module, each in imports.read_imports(imports.PACKAGE).items()
        for function, lines in each.lengths.items()
    }
    assert len(lengths) > 1000
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


def test_the_walk_sees_late_imports_and_circles() -> None:
    assert "plots.charts" in imports.edges()["frontend.plotting"]  # within a function
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert imports.circles(graph) == [["b", "c"]]
    assert imports.levels(graph) == 3
    late = ast.parse("def f():\n    import duckdb\n    import_module('altair.x')")
    assert imports.find_imports(late).libraries == {"duckdb", "altair"}
    inner = ast.parse("try:\n  pass\nexcept E:\n  with x:\n    import duckdb\nelse:\n  import rich")
    assert imports.find_imports(inner, has_calls=False).libraries == {"duckdb", "rich"}


#: An import from the package, on one line or in brackets: parsing whole files takes ten times as
#: long.
IMPORT = re.compile(r"^[ \t]*(from sqleval[\w.]* import (?:\([^)]*\)|.*))", re.MULTILINE)


def test_what_tests_and_pages_import_exists() -> None:
    # No other test checks the benches, which run by hand.
    root = Path(__file__).parents[3]
    files = [*root.glob("tests/**/*.py"), *root.glob("docs/*.py")]
    found = {(text, file) for file in files for text in IMPORT.findall(file.read_text("utf-8"))}
    imported = {(text, file): ast.parse(text).body[0] for text, file in found}
    assert len(imported) > 300
    for (text, file), node in imported.items():
        assert isinstance(node, ast.ImportFrom), f"{file}: {text}"
        module = importlib.import_module(str(node.module))
        for name in (each.name for each in node.names):
            is_there = hasattr(module, name) or find_spec(f"{node.module}.{name}")
            assert is_there, f"{file}: {node.module} has no {name}"
