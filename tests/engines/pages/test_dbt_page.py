"""The pages on dbt, and real builds of packages on DuckDB and PostgreSQL: one process of dbt."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
import yaml

import sqleval
from sqleval.export.macro_script import write_script
from tests.support.commands import run as run_here
from tests.support.comparison import assert_frame_equal
from tests.support.dbt import Done, export, make_rows, run_dbt
from tests.support.engines import PostgreSQL
from tests.support.pages import ROOT, STATUS, read_page, run

PAGE = read_page("docs/guide/dbt.md")
#: A test of a project with the macros of DuckDB.
JOBS_PAGE = read_page("docs/guide/jobs.md").partition("### dbt\n")[2]


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def write_projects_of_the_page(folder: Path) -> list[list[str]]:
    """Write the package and the project of the page; return its commands of dbt."""
    command, *commands = "".join(blocks("sh")).splitlines()
    profile, packages, variables, gate = blocks("yaml")
    (model,) = blocks("sql")
    (folder / "data").symlink_to(ROOT / "data")
    done = run(command, folder)
    assert (done.returncode, bool(STATUS.fullmatch(done.stderr.strip()))) == (0, True)
    write_files(folder, {
        "metrics/profiles.yml": profile,
        # The project of the third section, with its own gate on the history.
        "packages.yml": packages,
        "dbt_project.yml": f"name: own\nprofile: sqleval\n{variables}",
        "models/carriers.sql": model,
        "models/preds.sql": "SELECT * FROM read_parquet('data/flights/predictions/*/*.parquet')",
        "models/again.sql": "SELECT * FROM {{ ref('sqleval', 'metric_history') }}",
        "models/again.yml": yaml.safe_dump({"models": [{"name": "again", **yaml.safe_load(gate)}]}),
        "profiles.yml": profile,
    })  # fmt: skip
    return [line.split()[1:] for line in commands]


def write_project_with_macros(folder: Path) -> list[list[str]]:
    """Write a project whose test asks a macro in its database; return its command."""
    from sqleval.engines.duckdb_files import install

    install(write_script, str(folder / "warehouse.duckdb"))
    text = blocks("sql", JOBS_PAGE)[0]
    write_files(folder, {
        "dbt_project.yml": "name: lake\nversion: '1.0'\nprofile: lake\n"
        "models: {lake: {+materialized: table}}\n",
        "profiles.yml": "lake: {target: dev, outputs: {dev: {type: duckdb, "
        "path: warehouse.duckdb, threads: 1}}}\n",
        "models/preds.sql": "SELECT i % 3 = 0 AS y, 0.3 * (i % 3 = 0)::INT + (i * 7 % 10) / 20 AS p"
        " FROM range(200) AS t(i)\n",
        "tests/good_enough.sql": text,
        "tests/too_much_asked.sql": text.replace("0.6", "1.1"),
    })  # fmt: skip
    return [["build", "--profiles-dir", "."]]


LAKE = ROOT / "data" / "flights" / "predictions"
FLIGHTS = ["roc_auc", "log_loss", "recall(threshold=0.3)"]
#: Gates as in a job file; the first one is an error.
GATES = [
    "{check: roc_auc >= 0.6, by: [carrier]}",
    "{check: log_loss <= baseline + 0.01, by: [], severity: warn}",
    "{check: 'drop(roc_auc, previous 2) < 0.03', by: [carrier], min_rows: 500, severity: warn}",
    "{check: roc_auc >= 0.7, by: [carrier], min_rows: 300, on: high, severity: warn}",
    "{check: roc_auc >= 0.72, by: [], in_a_row: 2, severity: warn}",
    "{check: rows >= 1000, severity: warn}",
]
#: The names of their tests, in this order.
TESTS = [
    "flights_roc_auc_at_least_0_6_by_carrier",
    "flights_log_loss_at_most_baseline_plus_0_01_overall",
    "flights_drop_roc_auc_previous_2_below_0_03_by_carrier",
    "flights_roc_auc_at_least_0_7_by_carrier",
    "flights_roc_auc_at_least_0_72_overall",
    "flights_rows_at_least_1000",
]
#: Gates on the rows; on a day of one class, the first has no value, and the second ignores the day.
ROW_GATES = [
    "{check: roc_auc >= 0.1, by: []}",
    "{check: roc_auc >= 0.2, by: [], undefined: ignore}",
    "{check: log_loss <= 2.5, by: [carrier], undefined: fail, severity: warn}",
    "{check: log_loss <= 50, by: [carrier], min_rows: 1000, severity: warn}",
]
ROWS = ["roc_auc", "average_precision", "log_loss", "f_beta(beta=2)"]
PROJECT = """\
name: lake
profile: lake
vars:
  rows: {predictions: preds}
models:
  rows: {+schema: rows}
  flights: {+schema: flights}
on-run-end:
  - "CREATE TABLE lake.rows_after_{{ env_var('STEP') }} AS SELECT * FROM lake_rows.metric_history"
  - "CREATE TABLE lake.flights_after_{{ env_var('STEP') }}
     AS SELECT * FROM lake_flights.metric_history"
"""


def read_flights() -> pl.DataFrame:
    table = pl.scan_parquet(LAKE, hive_partitioning=False)
    return table.select(
        "flight_date", "carrier", pl.col("delayed").cast(pl.Int64), "p_boosted"
    ).collect()


class Project(NamedTuple):
    """The folder of a project, and a function that reads a table that dbt made."""

    folder: Path
    read: Callable[[str], pl.DataFrame]


class Built(NamedTuple):
    """The results of dbt by step, and a function that reads a table that it made."""

    steps: list[Done]
    read: Callable[[str], pl.DataFrame]


def write_project(folder: Path, dialect: str, flights: str, preds: str) -> None:
    """Write a project with a model of predictions and two packages, one over the flights."""
    common = ["--dialect", dialect, "--by", "carrier", "--sets", "overall", "--nulls", "drop"]
    flight_roles = ["--time", "flight_date", "--label", "delayed", "--score", "p_boosted"]
    metrics = [each for metric in FLIGHTS for each in ("-m", metric)]
    gates = [each for gate in GATES for each in ("--gate", gate)]
    export(
        folder / "flights", flights, *common, *flight_roles, *metrics, *gates, "--grain", "month",
        "--ci", "0.95", "--baseline", "2013-07", "2013-08", "--name", "flights",
    )  # fmt: skip
    metrics = [each for metric in ROWS for each in ("-m", metric)]
    roles = ["--time", "day", "--label", "y", "--score", "p", "--threshold", "0.3"]
    # The variable of the project names the model.
    gates = [each for gate in ROW_GATES for each in ("--gate", gate)]
    export(folder / "rows", "other", *common, *roles, *metrics, *gates, "--name", "rows")
    project = folder / "project"
    (project / "models").mkdir(parents=True)
    packages = {"packages": [{"local": "../flights"}, {"local": "../rows"}]}
    files = {
        "dbt_project.yml": PROJECT,
        "packages.yml": yaml.safe_dump(packages),
        "models/preds.sql": f"SELECT * FROM {preds}",
        "models/auc.sql": "SELECT * FROM ({{ rows.roc_auc(ref('preds')) }}) AS r",
    }
    for name, content in files.items():
        (project / name).write_text(content, encoding="utf-8")


def write_profile(project: Path, profile: dict[str, Any]) -> None:
    outputs = {"target": "dev", "outputs": {"dev": {"schema": "lake", "threads": 1, **profile}}}
    (project / "profiles.yml").write_text(yaml.safe_dump({"lake": outputs}), encoding="utf-8")


def write_project_of_duckdb(folder: Path) -> Project:
    for step in range(1, 6):
        make_rows(step).write_parquet(folder / f"rows_{step}.parquet")
    flights = f"read_parquet('{LAKE}/*/*.parquet', hive_partitioning = false)"
    write_project(
        folder, "duckdb", flights,
        f"read_parquet('{folder}/rows_{{{{ env_var(\"STEP\") }}}}.parquet')",
    )  # fmt: skip
    file = str(folder / "warehouse.duckdb")
    write_profile(folder / "project", {"type": "duckdb", "path": file})
    return Project(folder / "project", partial(read_from_duckdb, file))


def read_from_duckdb(file: str, table: str) -> pl.DataFrame:
    import duckdb

    with duckdb.connect(file, read_only=True) as connection:
        return connection.sql(f"FROM {table}").pl()


def write_project_of_postgres(folder: Path, server: PostgreSQL) -> Project:
    for step in range(1, 6):
        server.load(f"rows_{step}", make_rows(step).to_arrow())
    server.load("flights", read_flights().to_arrow())
    write_project(
        folder, "postgres", f"{server.database}.public.flights", 'public.rows_{{ env_var("STEP") }}'
    )
    (host,) = parse_qs(urlsplit(server.url).query)["host"]
    profile = {
        "type": "postgres", "host": host, "port": 5432, "user": "postgres", "password": "",
        "dbname": server.database,
    }  # fmt: skip
    write_profile(folder / "project", profile)

    def read(table: str) -> pl.DataFrame:
        columns, found = server.run(f"SELECT * FROM {table}")
        return pl.DataFrame(found, schema=columns, orient="row", infer_schema_length=None)

    return Project(folder / "project", read)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Built]]:
    """Run dbt: a first build, one with nothing new, late labels, a wrong score, a right one.

    One process of dbt makes all builds, including the pages', because its start takes as long as
    a build.
    """
    # The flights do not change: after a second build of everything, the rows alone are built.
    again, rows = ["build", "--exclude", TESTS[0]], ["build", "--select", "preds+"]
    commands = [["deps"], ["build", "--store-failures"], again, rows, rows, rows]
    page, macros = (tmp_path_factory.mktemp(name) for name in ("page", "macros"))
    of_pages = {page: write_projects_of_the_page(page), macros: write_project_with_macros(macros)}
    with PostgreSQL() as server:
        projects = {
            "duckdb": write_project_of_duckdb(tmp_path_factory.mktemp("duckdb")),
            "postgres": write_project_of_postgres(tmp_path_factory.mktemp("postgres"), server),
        }
        done = run_dbt({**{project.folder: commands for project in projects.values()}, **of_pages})
        for name, folder, file in (
            ("page", page, "metrics.duckdb"),
            ("macros", macros, "warehouse.duckdb"),
        ):
            projects[name] = Project(folder, partial(read_from_duckdb, str(folder / file)))
        yield {name: Built(done[each.folder], each.read) for name, each in projects.items()}


def evaluate(table: pl.DataFrame, metrics: list[str], **roles: Any) -> pl.DataFrame:
    """Return the result of `evaluate`, in the columns of the history."""
    keys, ci = ["period", "carrier"], roles.pop("ci", None)
    scan = sqleval.scan(table, by=keys, sets=[keys[:1], keys], nulls="drop", **roles)
    result = scan.evaluate(metrics, ci=ci).collect()
    names = {"period": "overall", "period, carrier": "carrier"}
    return result.with_columns(slice_by=pl.col("by").replace_strict(names)).select(COMPARED)


COMPARED = [
    "period",
    "slice_by",
    "carrier",
    "metric",
    "value",
    "low",
    "high",
    "n",
    "n_dropped",
    "note",
]


def assert_equal(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    keys = COMPARED[:4]
    found = found.select(COMPARED).cast(expected.schema)
    assert_frame_equal(
        found.sort(keys), expected.sort(keys), check_exact=False, rel_tol=1e-9, abs_tol=1e-9
    )


@cache
def evaluate_rows(step: int) -> pl.DataFrame:
    table = make_rows(step).rename({"day": "period"})
    return evaluate(table, ROWS, label="y", score="p", threshold=0.3)


@cache
def evaluate_flights() -> pl.DataFrame:
    table = read_flights().with_columns(period=pl.col("flight_date").dt.truncate("1mo"))
    return evaluate(table, FLIGHTS, label="delayed", score="p_boosted", ci=0.95)


def check_that_the_history_equals_evaluate(built: Built) -> None:
    expected = evaluate_flights()
    assert expected.height > 250
    assert_equal(built.read("lake_flights.metric_history"), expected)


def check_that_a_second_build_evaluates_nothing(built: Built) -> None:
    for name, steps in (("flights", (2,)), ("rows", (2,))):
        first = built.read(f"lake.{name}_after_1")
        order = ["period", "slice_by", "carrier", "metric"]
        for step in steps:
            # With the time of the evaluation among the columns.
            again = built.read(f"lake.{name}_after_{step}")
            assert_frame_equal(again.sort(order), first.sort(order))


def check_late_labels_and_a_new_day(built: Built) -> None:
    before, after = built.read("lake.rows_after_2"), built.read("lake.rows_after_3")
    assert_equal(before, evaluate_rows(2))
    assert_equal(after, evaluate_rows(3))
    assert before.filter(pl.col("n_dropped") > 0)["period"].unique().to_list() == [date(2026, 7, 2)]
    one_class = after.filter(period=date(2026, 7, 3), metric="roc_auc")
    assert one_class["note"].unique().to_list() == ["no negative labels"]
    times = after.group_by("evaluated_at").agg(pl.col("period").dt.day().unique().sort())
    assert times.sort("evaluated_at")["period"].to_list() == [[1, 3], [2, 4]]


def check_that_a_problem_is_of_its_period(built: Built) -> None:
    before = built.read("lake.rows_after_3")
    wrong, right = built.read("lake.rows_after_4"), built.read("lake.rows_after_5")
    bad = wrong.filter(pl.col("problem").is_not_null())
    problems = bad.select("period", "problem").unique().sort("period").rows()
    what = "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of"
    days = [date(2026, 7, 2), date(2026, 7, 5)]
    assert problems == [(days[0], f"{what} 61 rows"), (days[1], f"{what} 60 rows")]
    # A period with values keeps them, a new one has none, and no other is evaluated again.
    same = [name for name in before.columns if name not in ("problem", "evaluated_at")]
    order = ["period", "slice_by", "carrier", "metric"]
    old = wrong.filter(pl.col("period") != days[1])
    assert_frame_equal(old.select(same).sort(order), before.select(same).sort(order))
    assert bad.filter(period=days[1])["value"].null_count() == bad.height / 2 > 0
    same.append("evaluated_at")
    good = pl.col("period").is_in(days).not_()
    old = wrong.filter(good).select(same)
    assert_frame_equal(old.sort(order), before.filter(good).select(same).sort(order))
    log = built.steps[4].log
    assert re.search(r"FAIL 2 rows_no_problem", log)
    assert f"problem: 2026-07-02: {what} 61 rows" in log
    assert_equal(right, evaluate_rows(5))
    assert right["problem"].null_count() == right.height


def check_that_a_gate_over_missing_numbers_fails(built: Built) -> None:
    first, late, wrong, right = (built.steps[step].log for step in (1, 3, 4, 5))
    gate = "gate roc_auc >= 0.1: 2026-07-0"
    no_value = "3, overall: roc_auc None, limit 0.1, 60 rows: no value: no negative labels"
    assert (f"{gate}{no_value}" in first, gate in late, gate in right) == (True, False, False)
    what = "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of"
    assert f"{gate}5, overall: roc_auc None, limit 0.1, 60 rows: {what} 60 rows" in wrong
    assert re.search(rf"{gate}2, overall: roc_auc 0\.\d+, limit 0\.1, 60 rows: {what} 61", wrong)
    for log in (first, late, wrong, right):
        assert "gate roc_auc >= 0.2: 2026-07-03" not in log
    assert "PASS rows_roc_auc_at_least_0_2_overall" in first
    idle = "all slices: log_loss None, limit None, None rows: no slice has a result with at least"
    assert f"gate log_loss <= 50: 2026-07-01, {idle} 1000 rows" in first


def check_that_a_failed_gate_is_an_error_or_a_warning(built: Built) -> None:
    assert [step.code for step in built.steps] == [0, 1, 1, 0, 1, 0]
    first, second = built.steps[1].log, built.steps[2].log
    assert re.search(rf"FAIL \d+ {TESTS[0]}", first)
    assert TESTS[0] not in second
    warned = re.findall(r"WARN \d+ (flights_\w+)", second)
    assert sorted(warned) == sorted(TESTS[1:])
    assert re.search(r"gate roc_auc >= 0\.6: 2013-\d\d-01, carrier=\w\w: roc_auc 0\.\d+, ", first)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the verdicts of a job with the same gates on the flights."""
    job = {
        "name": "flights", "source": str(LAKE), "label": "delayed", "score": "p_boosted",
        "nulls": "drop", "slices": [[], ["carrier"]],
        "period": {"column": "flight_date", "grain": "month"}, "metrics": FLIGHTS, "ci": 0.95,
        "history": "history.duckdb", "baseline": {"from": "2013-07", "to": "2013-08"},
        "gates": [yaml.safe_load(gate) for gate in GATES], "outputs": {"json": "run.json"},
    }  # fmt: skip
    # YAML 1.1 takes `on` for true.
    content = yaml.safe_dump(job).replace("true: high", "on: high")
    folder = tmp_path_factory.mktemp("job")
    (folder / "job.yml").write_text(content, encoding="utf-8")
    run_here("run", str(folder / "job.yml"), "--backfill", code=1)
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def check_that_gates_mean_what_they_mean_in_a_job_file(
    built: Built, judged: dict[str, Any]
) -> None:
    for gate, name in zip(judged["gates"], TESTS, strict=True):
        expected = {
            (each["period"], each["slice"].get("carrier"))
            for each in judged["verdicts"]
            if each["gate"] == gate["gate"] and each["status"] in ("failed", "warned")
        }
        found = built.read(f"lake_dbt_test__audit.{name}").select("period", "carrier")
        assert {(str(period), carrier) for period, carrier in found.iter_rows()} == expected, name
        assert expected, name


def check_that_a_macro_evaluates_a_relation(built: Built) -> None:
    scan = sqleval.scan(
        make_rows(5), label="y", score="p", by=["carrier"], sets="overall", nulls="drop"
    )
    expected = scan.evaluate("roc_auc").collect()
    found = built.read("lake.auc")
    assert found["_problem"].null_count() == found.height
    names = ["by", "carrier", "metric", "value", "n", "n_dropped", "note"]
    found = found.select(names).cast(expected.select(names).schema)
    assert_frame_equal(
        found.sort("by", "carrier"), expected.select(names).sort("by", "carrier"),
        check_exact=False, rel_tol=1e-9, abs_tol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_real_builds(name: str, builds: dict[str, Built], judged: dict[str, Any]) -> None:
    built = builds[name]
    check_that_the_history_equals_evaluate(built)
    check_that_a_second_build_evaluates_nothing(built)
    check_late_labels_and_a_new_day(built)
    check_that_a_problem_is_of_its_period(built)
    check_that_a_gate_over_missing_numbers_fails(built)
    check_that_a_failed_gate_is_an_error_or_a_warning(built)
    check_that_gates_mean_what_they_mean_in_a_job_file(built, judged)
    check_that_a_macro_evaluates_a_relation(built)


def test_the_commands_run_in_order(builds: dict[str, Built]) -> None:
    first, second, deps, own = builds["page"].steps
    assert (first.code, second.code, deps.code, own.code) == (0, 0, 0, 1)
    assert "WARNING" not in "".join(done.log for done in (first, second, deps, own))
    assert "PASS sqleval_roc_auc_at_least_0_6_overall" in first.log
    assert re.search(r"WARN \d+ sqleval_drop_roc_auc_previous_3", first.log)
    assert re.search(r"FAIL \d+ sqleval_gate_again", own.log)
    carriers = builds["page"].read("carriers")
    order = ["period", "slice_by", "carrier", "metric"]
    history, there = (
        builds["page"].read(table).sort(order)
        for table in ("metric_history", "main_metrics.metric_history")
    )
    assert history["period"].n_unique() == 6
    assert history["evaluated_at"].n_unique() == 1
    assert carriers["roc_auc"].is_between(0.5, 1).all()
    assert_frame_equal(there.drop("evaluated_at"), history.drop("evaluated_at"))


def test_a_test_asks_a_macro(builds: dict[str, Built]) -> None:
    (done,) = builds["macros"].steps
    assert done.code == 1, done.log
    assert "PASS good_enough" in done.log
    assert "FAIL 1 too_much_asked" in done.log
