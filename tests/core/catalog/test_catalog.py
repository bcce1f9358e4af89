"""The loader of SQL files: every file of the package loads, and a broken one is refused."""

import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import sqleval
from sqleval import LoadError, RequestError
from sqleval.catalog import CONTRACT, Catalogue, Relation, builtin, find_sql_folder, request
from sqleval.catalog.contract import read_file
from sqleval.catalog.listing import find_cost
from sqleval.catalog.parameters import Param
from tests.support.tried import check_tried

ROOT = Path(__file__).resolve().parents[3]
REJECTED: list[tuple[str, str]] = runpy.run_path(str(ROOT / "tests" / "support" / "rejected.py"))[
    "REJECTED"
]
HEADER = """/*
summary: a metric
formula: f
direction: higher
range: 0 .. 1
reference: sklearn.metrics.f1_score
task: two classes
weights: none
since: 0.1.0
*/
"""
#: The line on which the SQL below that header begins.
FIRST = HEADER.count("\n") + 1
SOUND = "SELECT slice, SUM(score) AS value FROM predictions GROUP BY slice\n"
TOTALS = "/*\nsummary: t\n*/\nSELECT slice, SUM(score) AS total FROM predictions GROUP BY slice\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of SQL with one step, to which a test adds its files."""
    write(tmp_path, "base/totals.sql", TOTALS)
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(path: Path) -> Relation:
    return read_file(path, Catalogue(path.parents[1]).names)


@cache
def load_shipped(path: Path) -> Relation:
    """Load a file of the package, anew rather than from the built-in catalogue."""
    return read_file(path, builtin().names)


def refused(folder: Path, name: str, text: str) -> str:
    """Write a file, and return the message that refuses it."""
    path = write(folder, name, text)
    with pytest.raises(LoadError) as raised:
        load(path)
    return str(raised.value)


# -- what is shipped -----------------------------------------------------------------------

SHIPPED = sorted((ROOT / "sql").glob("*/**/*.sql"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_shipped_file_loads(path: Path) -> None:
    relation = load_shipped(path)
    assert relation.name == path.name.split(".")[0]
    assert relation.family == path.relative_to(ROOT / "sql").parts[0]
    assert relation.path == path
    assert path.read_text(encoding="utf-8").endswith(";\n") is False
    kinds = {
        "base": ("step", "mergeable"),
        "curve": ("curve",),
        "split": ("split", "step", "mergeable"),
        "drift": ("step", "mergeable"),
    }
    assert relation.kind in kinds.get(relation.family, ("metric", "row metric", "columns"))
    assert relation.name in builtin().closure(relation.name) or relation.name in CONTRACT


def test_the_catalogue_finds_every_file() -> None:
    assert find_sql_folder() == ROOT / "sql"
    assert sorted(path for paths in builtin().names.values() for path in paths) == SHIPPED
    names = [relation.name for relation in builtin().relations("metric", "curve")]
    assert len(names) == len(set(names))
    assert {"roc_auc", "f1", "log_loss", "mse", "ndcg", "roc_curve"} <= set(names)


def test_each_twin_states_its_condition_and_has_the_columns_of_its_portable_file() -> None:
    for paths in builtin().names.values():
        plain, *others = [load_shipped(path) for path in paths]
        for twin in (other for other in others if other.kind != "columns"):
            assert twin.when, f"{twin.path} is a twin and does not say when"
            if plain.kind == "metric":
                assert twin.kind == "metric"
                assert {"slice", "value"} <= {*twin.columns}


def test_a_relation_has_the_facts_of_its_header_and_sql(folder: Path) -> None:
    sql = """SELECT
    slice,
    CAST(SUM(CASE WHEN score >= $cut THEN weight ELSE 0 END) AS DOUBLE) / NULLIF(MAX(total), 0)
        AS value,
    CASE WHEN MAX(total) = 0 THEN 'no mass' WHEN MAX(total) IS NULL THEN 'no rows' END AS note
FROM predictions
JOIN totals USING (slice)
GROUP BY slice
"""
    header = HEADER.replace("weights: none", "weights: none\nparams:\n  cut: float = 0.5")
    relation = load(write(folder, "binary/share.sql", header + sql))
    assert (relation.name, relation.family, relation.kind) == ("share", "binary", "metric")
    assert relation.columns == ("slice", "value", "note")
    assert relation.reads == ("predictions", "totals")
    assert relation.notes == ("no mass", "no rows")
    assert relation.params == {"cut": Param("float", 0.5)}
    assert load(folder / "base" / "totals.sql").kind == "mergeable"


def test_an_unknown_name_shows_the_nearest() -> None:
    with pytest.raises(RequestError, match=r"no metric called 'roc_auk'; did you mean 'roc_auc'\?"):
        builtin().get("roc_auk")


# -- what is refused -----------------------------------------------------------------------


def test_the_page_counts_what_is_rejected() -> None:
    check_tried("metrics whose SQL is not portable", len(REJECTED))


@pytest.mark.parametrize(("sql", "message"), REJECTED, ids=[sql for sql, _ in REJECTED])
def test_rejected(sql: str, message: str, folder: Path) -> None:
    output = refused(folder, "binary/bad.sql", HEADER + sql + "\n")
    assert message in output
    assert output.startswith(f"binary/bad.sql:{FIRST}: ")


def test_the_line_is_that_of_the_fault(folder: Path) -> None:
    lines = [
        "SELECT",
        "  slice,",
        "  -- 0.5",
        "  SUM(score)",
        "    * 0.5 AS value",
        "FROM predictions",
    ]
    sql = "\n".join([*lines, "GROUP BY slice\n"])
    assert refused(folder, "binary/bad.sql", HEADER + sql).startswith(
        f"binary/bad.sql:{FIRST + 4}: the decimal literal 0.5"
    )


def header(**changes: str | None) -> str:
    """Return the header with some keys changed, and those that are None left out."""
    values = dict(re.findall(r"^(\w+): (.*)$", HEADER, re.MULTILINE)) | changes
    kept = {key: value for key, value in values.items() if value is not None}
    return "/*\n" + "".join(f"{key}: {value}\n" for key, value in kept.items()) + "*/\n"


PARAMS = {"params": "\n  cut: float = 0.5"}
WITH_CUT = "SELECT slice,\n  SUM(score * $cut) AS value\nFROM predictions GROUP BY slice\n"
BROKEN: dict[str, tuple[str, str]] = {
    "no header": (SOUND, ":1: the file must start with its header, a /* YAML */ comment"),
    "line comments": (
        "-- summary: x\n" + SOUND,
        ":1: the file must start with its header, a /* YAML */ comment",
    ),
    "no end of the header": (
        "/*\nsummary: x\n" + SOUND,
        ":1: the file must start with its header, a /* YAML */ comment",
    ),
    "nothing": ("", ":1: the file must start with its header, a /* YAML */ comment"),
    "not YAML": (
        "/*\nsummary: x\nformula: [1, 2\nrange: 0 .. 1\n*/\n" + SOUND,
        ":4: the header is not YAML: ",
    ),
    "a tab in YAML": ("/*\nsummary: x\n\tformula: y\n*/\n" + SOUND, ":3: the header is not YAML: "),
    "a colon in a sentence": (
        header(summary="one: two: three") + SOUND,
        ":2: the header is not YAML: mapping values are not allowed",
    ),
    "a list": ("/*\n- summary\n*/\n" + SOUND, ":1: the header must be a YAML mapping"),
    "an empty header": ("/* */\n" + SOUND, ":1: the header must be a YAML mapping"),
    "an unknown key": (
        header(sumary="x") + SOUND,
        ":10: unknown header key 'sumary'; did you mean 'summary'?",
    ),
    "a key whose name is a word above it": (
        header(metric="x") + SOUND,
        ":10: unknown header key 'metric'; the keys are across, aliases, ",
    ),
    "the same as an unknown metric": (
        header(same_as="sound_metrik") + SOUND,
        ":10: same_as must be the name of a metric, not 'sound_metrik'",
    ),
    "a key twice": (HEADER.replace("*/", "summary: again\n*/") + SOUND, "summary"),
    **{
        f"no {key}": (header(**{key: None}) + SOUND, f":1: the header of a metric needs {key!r}")
        for key in ("summary", "formula", "direction", "range", "reference", "weights", "since")
    },
    "a wrong direction": (header(direction="up") + SOUND, "direction"),
    "a wrong use of weights": (header(weights="yes") + SOUND, "weights"),
    "an undeclared parameter": (
        HEADER + WITH_CUT,
        f":{FIRST + 1}: $cut is not declared under params",
    ),
    "a parameter almost declared": (
        header(params="\n  cutt: float = 0.5") + WITH_CUT,
        ":14: $cut is not declared under params; did you mean 'cutt'?",
    ),
    "an unused parameter": (
        header(**PARAMS) + SOUND,
        ":11: parameter 'cut' is declared and not used",
    ),
    "an unused parameter, named above": (
        header(summary="cut off", **PARAMS) + SOUND,
        ":11: parameter 'cut' is declared and not used",
    ),
    "a parameter without a default": (
        header(params="\n  cut: float") + WITH_CUT,
        ": parameter 'cut': it must read 'type [in RANGE] = default', not 'float'",
    ),
    "a parameter of an unknown type": (
        header(params="\n  cut: double = 1") + WITH_CUT,
        ": parameter 'cut': it must read 'type [in RANGE] = default', not 'double = 1'",
    ),
    "a default of another type": (
        header(params="\n  cut: float = high") + WITH_CUT,
        ":11: parameter 'cut': the default 'high' is not a float",
    ),
    "a default outside its range": (
        header(params="\n  cut: float in (0, 1] = 2") + WITH_CUT,
        ":11: parameter 'cut': the default must be in (0, 1], not 2.0",
    ),
    "a default that is a part of a number": (
        header(params="\n  cut: int = 1.5") + WITH_CUT,
        ":11: parameter 'cut': the default must be an int, not 1.5",
    ),
    "a default that is no truth value": (
        header(params="\n  cut: bool = maybe") + WITH_CUT,
        ":11: parameter 'cut': the default must be a bool, not 'maybe'",
    ),
    "a parameter that is an option": (
        header(params="\n  average: float = 1") + WITH_CUT,
        ":11: 'average' is an option of every metric",
    ),
    "a parameter that SQL cannot name": (
        header(params="\n  a-b: float = 1") + WITH_CUT,
        ":11: the name of a parameter has letters, digits and _ alone, not 'a-b'",
    ),
    "an empty summary": (header(summary="") + SOUND, ":2: summary must be a text, not None"),
    "a range from high to low": (header(range="1 .. 0") + SOUND, ":5: range must read '0 .. 1'"),
    "another domain": (header(domain="p") + SOUND, ":10: domain must be one of score: 0 .. 1"),
    "other bins": (header(unbinned="sometimes") + SOUND, ":10: unbinned must be 'always' or "),
    "an alias as a text": (header(aliases="m") + SOUND, ":10: aliases must be a list of names"),
    "types as a list": (header(types="[value]") + SOUND, ":10: types must be a mapping"),
    "an order by no column": (
        header(order="cut DESC") + SOUND,
        ":10: order: no column 'cut'; it returns slice, value",
    ),
    "a band of no column": (
        header(band="[slice, valu, lines]") + SOUND,
        ":10: band: no column 'valu'; did you mean 'value'?",
    ),
    "a band as a text": (header(band="value") + SOUND, ":10: band must be [x, y, lines]"),
    "a column twice": (
        HEADER + SOUND.replace("value", "value, MAX(score) AS value"),
        f":{FIRST}: the column 'value' occurs twice",
    ),
    "a column in capitals": (
        HEADER + SOUND.replace("value", "VALUE"),
        f":{FIRST}: write the column 'VALUE' in lower case: 'value'",
    ),
    "a value that is a text": (
        HEADER + SOUND.replace("SUM(score)", "CASE WHEN 1 = 0 THEN 1e0\n  ELSE 'none' END"),
        f":{FIRST + 1}: the column 'value' is a number, not the text 'none'",
    ),
    "a column without a meaning": (
        HEADER + SOUND.replace("value", "value, COUNT(*) AS trial"),
        f":{FIRST}: a metric returns no column 'trial'; did you mean 'trials'?",
    ),
    "half of an interval": (
        HEADER + SOUND.replace("value", "value, COUNT(*) AS trials"),
        f":{FIRST}: an interval needs successes and trials; or ",
    ),
    "one bound": (
        HEADER + SOUND.replace("value", "value, MAX(score) AS low"),
        f":{FIRST}: bounds are two columns, low and high",
    ),
    "params as a list": (header(params="\n  - cut") + WITH_CUT, "params"),
    "an unknown condition": (
        header(when="unweigthed") + SOUND,
        ":1: unknown condition 'unweigthed'; did you mean 'unweighted'?",
    ),
    "two statements": (
        HEADER + SOUND.strip() + ";\n" + SOUND,
        "a file holds one SELECT statement and nothing else",
    ),
    "no statement": (HEADER, "a file holds one SELECT statement and nothing else"),
    "no SELECT": (
        HEADER + "DROP TABLE predictions\n",
        "a file holds one SELECT statement and nothing else",
    ),
    "not SQL": (
        HEADER + "SELECT slice,\n  SUM(score AS value\nFROM predictions\n",
        f":{FIRST + 1}: not SQL: ",
    ),
    "words": (
        HEADER + "this is no query at all\n",
        f":{FIRST}: not SQL: Invalid expression / Unexpected token, at 'at'",
    ),
    "an open quote": (HEADER + "SELECT slice, 'a AS value FROM predictions\n", "not SQL: "),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, folder: Path) -> None:
    text, message = BROKEN[name]
    output = refused(folder, "binary/bad.sql", text)
    assert output.startswith("binary/bad.sql:")
    assert message in output


def test_a_byte_order_mark_is_no_part_of_the_file(folder: Path) -> None:
    path = write(folder, "binary/good.sql", "\ufeff" + (HEADER + SOUND).replace("\n", "\r\n"))
    assert load(path).text == HEADER + SOUND


def test_a_version_is_a_whole_number_from_1(folder: Path) -> None:
    path = write(folder, "binary/good.sql", HEADER + SOUND)
    assert load(path).version == 1
    for text in ("2", "1"):
        changed = HEADER.replace("since:", f"version: {text}\nsince:")
        assert load(write(folder, "binary/good.sql", changed + SOUND)).version == int(text)
    for text in ("0", "1.0", "true", "'2'", ""):
        changed = HEADER.replace("since:", f"version: {text}\nsince:")
        message = refused(folder, "binary/bad.sql", changed + SOUND)
        assert "version must be a whole number from 1, not " in message
        assert f":{changed.count(chr(10), 0, changed.index('version:')) + 1}: " in message


def test_a_step_needs_no_more_than_a_summary(folder: Path) -> None:
    message = refused(folder, "base/bad.sql", "/*\nformula: x\n*/\nSELECT slice FROM predictions\n")
    assert message == "base/bad.sql:1: the header of a step needs 'summary'"
    assert load(folder / "base" / "totals.sql").header == {"summary": "t"}


def test_a_curve_needs_its_own_keys(folder: Path) -> None:
    text = "/*\nsummary: x\n*/\nSELECT slice, score AS threshold FROM predictions\n"
    message = refused(folder, "curve/bad.sql", text)
    tasks = "two classes, classes, several classes, many labels, regression, ranking, value"
    missing = f"'formula', 'reference', 'since', 'task' ({tasks}), 'weights' (frequency, none)"
    assert message == f"curve/bad.sql:1: the header of a curve needs {missing}"


def test_an_unknown_condition_in_the_name_of_a_twin(folder: Path) -> None:
    write(folder, "binary/good.sql", HEADER + SOUND)
    message = refused(folder, "binary/good.duckbd.sql", HEADER + SOUND)
    assert message == "binary/good.duckbd.sql:1: unknown condition 'duckbd'; did you mean 'duckdb'?"


def test_two_portable_files_of_one_name(folder: Path) -> None:
    write(folder, "binary/totals.sql", HEADER + SOUND)
    with pytest.raises(LoadError) as raised:
        Catalogue(folder)
    where = f"{folder / 'base' / 'totals.sql'} and {folder / 'binary' / 'totals.sql'}"
    expected = f"'totals' is the name of several files; one must change: {where}"
    assert str(raised.value) == expected


def test_a_twin_without_a_portable_file(folder: Path) -> None:
    twin = write(folder, "binary/alone.duckdb.sql", HEADER + SOUND)
    with pytest.raises(LoadError) as raised:
        Catalogue(folder)
    add = f"add {twin.with_name('alone.sql')}"
    assert str(raised.value) == f"{twin} is a twin, and the portable file is missing: {add}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "alone.sql",
            "{path} lies in no folder of a family; name the folder above, "
            "{folder.parent}, or write {folder}/binary/my_metric.sql",
        ),
        ("my-metric.sql", "{path}: a name has letters, digits and _ alone, and is no keyword"),
        ("class.sql", "{path}: a name has letters, digits and _ alone, and is no keyword"),
        ("predictions.sql", "{path}: the compiler writes 'predictions'; take another name"),
    ],
)
def test_a_file_that_no_request_could_name(folder: Path, name: str, message: str) -> None:
    path = write(folder, name if name == "alone.sql" else f"binary/{name}", HEADER + SOUND)
    with pytest.raises(LoadError) as raised:
        Catalogue(folder)
    assert str(raised.value) == message.format(path=path, folder=folder)


def test_a_folder_without_files(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"there is no folder .*nowhere; write "):
        Catalogue(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT slice,\n  SUM(p) AS value\n-- p\nFROM predictions GROUP BY slice\n",
         f"binary/bad.sql:{FIRST + 1}: predictions has no column 'p'; it has bucket, fold, item, "),
        ("SELECT slice, SUM(score) AS value, 'x' AS note FROM predictions GROUP BY slice "
         "HAVING note > 'a'\n",
         f"binary/bad.sql:{FIRST}: predictions has no column 'note'; it has "),
        ("SELECT slice, totl AS value FROM totals\n",
         f"binary/bad.sql:{FIRST}: totals has no column 'totl'; did you mean 'total'?"),
        ("SELECT t.slice, t.score AS value FROM totals AS t JOIN predictions USING (slice)\n",
         f"binary/bad.sql:{FIRST}: totals has no column 'score'; it has total"),
        ("SELECT totals.slice, MAX(p) AS value FROM totals JOIN predictions USING (slice)\n"
         "GROUP BY totals.slice\n",
         f"binary/bad.sql:{FIRST}: totals or predictions has no column 'p'; it has "),
        ("SELECT slice, score AS value FROM predictions\n",
         f"binary/bad.sql:{FIRST}: a metric has one row per slice: write GROUP BY slice"),
        ("WITH rows AS (SELECT slice, score FROM predictions)\n"
         "SELECT t.slice, r.score AS value FROM totals AS t JOIN rows AS r USING (slice)\n",
         f"binary/bad.sql:{FIRST}: a metric has one row per slice: write GROUP BY slice"),
    ],
)  # fmt: skip
def test_a_metric_that_reads_what_is_not_there_or_repeats_slices(
    folder: Path, sql: str, message: str
) -> None:
    write(folder, "binary/bad.sql", HEADER + sql)
    catalogue = Catalogue(folder)
    with pytest.raises(LoadError) as raised:
        catalogue.list_parameters(catalogue.get("bad"), frozenset())
    assert str(raised.value).startswith(message)


def test_twins_of_a_metric_are_metrics_and_give_its_interval(folder: Path) -> None:
    write(folder, "binary/good.sql", HEADER.replace("*/", "interval: delta\n*/") + SOUND)
    message = r"^binary/good\.sql:10: the interval 'delta' is made from stderr$"
    with pytest.raises(LoadError, match=message):
        Catalogue(folder).files("good")
    write(folder, "binary/good.sql", HEADER + SOUND)
    twin = "/*\nsummary: s\n*/\n" + SOUND.replace("value", "total")
    write(folder, "binary/good.duckdb.sql", twin)
    message = r"^binary/good\.duckdb\.sql:1: the twin of a metric needs the column 'value'$"
    with pytest.raises(LoadError, match=message):
        Catalogue(folder).files("good")


def test_the_last_cte_is_repeated_over_its_own_rows(folder: Path) -> None:
    cte = "WITH less AS (SELECT slice, total FROM totals WHERE total > 0)\n"
    sql = cte + "SELECT a.slice, a.total FROM less AS a JOIN less AS b USING (slice)\n"
    path = write(folder, "base/lessened.sql", f"/*\nsummary: s\nrepeat: 3\n*/\n{sql}")
    written = load(path).query.sql()
    assert [f"{name} AS " in written for name in ("less", "less_2", "less_3", "less_4")] == [
        True, True, True, False,
    ]  # fmt: skip
    assert "FROM less_3 AS a JOIN less_3 AS b" in written
    assert [written.count(f"FROM {name} WHERE") for name in ("totals", "less", "less_2")] == [
        1,
        1,
        1,
    ]
    for repeat, text in (("1", sql), ("true", sql), ("3", TOTALS.partition("*/")[2])):
        message = refused(folder, "base/bad.sql", f"/*\nsummary: s\nrepeat: {repeat}\n*/\n{text}")
        assert message.startswith("base/bad.sql:3: repeat must be a whole number above 1")


def reading(*relations: str) -> str:
    first, *others = relations
    joins = "".join(f" JOIN {other} USING (slice)" for other in others)
    return f"/*\nsummary: s\n*/\nSELECT {first}.slice, 1 AS one FROM {first}{joins}\n"


def test_the_order_is_the_deepest_first(folder: Path) -> None:
    write(folder, "base/a.sql", reading("b", "c"))
    write(folder, "base/b.sql", reading("c", "predictions"))
    write(folder, "base/c.sql", reading("totals"))
    assert list(Catalogue(folder).closure("a")) == ["totals", "c", "b", "a"]


@pytest.mark.parametrize(
    ("files", "circle", "at"),
    [
        ({"a": ("b",), "b": ("c",), "c": ("a",)}, "a -> b -> c -> a", "a"),
        ({"a": ("b",), "b": ("totals", "c"), "c": ("b",)}, "b -> c -> b", "b"),
        ({"a": ("a",)}, "a -> a", "a"),
    ],
)
def test_a_circle(folder: Path, files: dict[str, tuple[str, ...]], circle: str, at: str) -> None:
    for name, reads in files.items():
        write(folder, f"base/{name}.sql", reading(*reads))
    with pytest.raises(LoadError) as raised:
        Catalogue(folder).closure("a")
    message = f"base/{at}.sql:1: the relations read each other in a circle: {circle}"
    assert str(raised.value) == message


def test_one_parameter_declared_in_two_ways(folder: Path) -> None:
    step = "/*\nsummary: s\nparams:\n  cut: float = 0.5\n*/\n"
    write(folder, "base/below.sql", step + "SELECT slice, score * $cut AS x FROM predictions\n")
    text = header(params="\n  cut: float = 0.7") + (
        "SELECT slice, SUM(x * $cut) AS value FROM below GROUP BY slice\n"
    )
    write(folder, "binary/above.sql", text)
    with pytest.raises(LoadError) as raised:
        Catalogue(folder).parameters("above")
    assert str(raised.value) == (
        "binary/above.sql:11: parameter 'cut' must be declared as in base/below.sql, which it "
        "reads: 'float = 0.5', not 'float = 0.7'"
    )


# -- what a command starts ---------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["--version"]])
def test_help_starts_no_engine(arguments: list[str]) -> None:
    command = Path(sys.executable).with_name("sqleval")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(command), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    modules = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "sqleval.cli.main" in modules
    packages = {name.split(".")[0] for name in modules}
    assert not packages & {"duckdb", "_duckdb", "polars", "pyarrow", "pandas", "numpy"}


def test_the_import_starts_neither_an_engine_nor_a_parser() -> None:
    late = {"duckdb", "pyarrow", "sqlglot", "yaml"}
    code = f"import sqleval, sys; print(*sorted({late} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_an_alias_is_the_name_of_one_file() -> None:
    catalogue = builtin()
    assert {"auroc", "sensitivity", "ppv", "mcc", "ece", "tpr"} <= catalogue.aliases.keys()
    for alias, name in catalogue.aliases.items():
        assert catalogue.get(alias) is catalogue.get(name)
        assert alias not in catalogue.names


@pytest.mark.parametrize("alias", [*builtin().aliases, *builtin().names])
def test_a_near_name_is_never_another_metric(alias: str) -> None:
    catalogue = builtin()
    name = catalogue.find(alias)
    if name is None or name in CONTRACT or catalogue.get(name).kind != "metric" or len(alias) < 8:
        return
    # One letter is missing, at every other place but the ends.
    for place in range(2, len(alias) - 2, 2):
        typed = alias[:place] + alias[place + 1 :]
        if catalogue.find(typed):
            continue
        with pytest.raises(RequestError, match="no metric called") as raised:
            request.parse(typed, "binary")
        shown = re.findall(r"'(\w+)'", str(raised.value).partition("did you mean")[2])
        assert catalogue.find(shown[0]) == name, typed


def test_two_files_of_one_alias_are_refused(folder: Path) -> None:
    for name in ("a", "b"):
        aliased = HEADER.replace("task:", "aliases: [other]\ntask:") + SOUND
        write(folder, f"own/{name}.sql", aliased)
    with pytest.raises(LoadError, match=r"own/b\.sql:7: 'other' is an alias of 'a' too"):
        assert Catalogue(folder).aliases
    write(folder, "own/b.sql", HEADER.replace("task:", "aliases: other\ntask:") + SOUND)
    with pytest.raises(LoadError, match=r"own/b.sql:7: aliases must be a list of names"):
        assert Catalogue(folder).aliases


def test_an_alias_that_a_file_hides_is_refused(folder: Path) -> None:
    aliased = HEADER.replace("task:", "aliases: [totals]\ntask:") + SOUND
    path = write(folder, "own/a.sql", aliased)
    with pytest.raises(LoadError, match=r"own/a.sql:7: the alias 'totals' is the name of a file"):
        assert Catalogue(folder).aliases
    # A metric of a user's folder may have the name of a shipped alias.
    write(folder, "own/auroc.sql", HEADER + SOUND)
    for each in (path, folder / "base/totals.sql"):
        each.unlink()
    assert Catalogue(find_sql_folder(), folder).find("auroc") == "auroc"


def test_the_list_of_metrics_shows_itself() -> None:
    listed = sqleval.metrics()
    lines = repr(listed).splitlines()
    assert len(lines) == len(listed)
    assert ["f1", "harmonic mean of precision and recall"] in [
        line.split(maxsplit=1) for line in lines
    ]
    assert "<td style=text-align:left>roc_auc</td>" in listed._repr_html_()


@pytest.mark.parametrize(
    ("name", "cost"),
    {
        "precision": "n", "log_loss": "n", "r2": "n", "cohen_kappa": "n", "matthews_corrcoef": "n",
        "roc_auc": "n log n", "ndcg": "n log n", "median_absolute_error": "n log n",
        "kendall": "n log^2 n", "roc_auc_pairs": "n^2",
    }.items(),
)  # fmt: skip
def test_the_cost_says_how_the_time_grows_with_the_rows(name: str, cost: str) -> None:
    assert find_cost(builtin().get(name), builtin()) == cost
