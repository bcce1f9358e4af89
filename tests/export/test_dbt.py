"""The dbt package: real builds on DuckDB and PostgreSQL, and what its files hold."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import jinja2
import polars as pl
import pytest
import sqlglot
import yaml
from sqlglot import exp

import sqleval
from sqleval.export.dbt.history import STRATEGIES
from sqleval.export.statement import export_statement
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.dbt import Done, run_dbt
from tests.support.engines import PostgreSQL

ROOT = Path(__file__).parents[2]
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


def make_rows(step: int) -> pl.DataFrame:
    """Return predictions by day: tied scores, a slice without a key, a day of one class.

    Labels of the second day are missing before the third step, which has a new day. A score of
    the fifth day is wrong in the fourth step and right in the fifth.
    """
    days = {1: 3, 2: 3, 3: 4}.get(step, 5)
    i = pl.col("i")
    is_missing = (i // 60 == 1) & (i % 4 == 0) & pl.lit(step < 3)
    is_wrong = (i == 260) & pl.lit(step == 4)
    return pl.DataFrame({"i": range(60 * days)}).select(
        day=pl.date(2026, 7, 1) + pl.duration(days=i // 60),
        carrier=pl.when(i % 3 == 1).then(pl.lit("a")).when(i % 3 == 2).then(pl.lit("b")),
        y=pl.when(is_missing)
        .then(None)
        .when(i // 60 == 2)
        .then(1)
        .otherwise(i * i % 7 % 2)
        .cast(pl.Int64),
        p=pl.when(is_wrong).then(1.7).otherwise((i * 37 % 11) / 10).cast(pl.Float64),
    )


def read_flights() -> pl.DataFrame:
    table = pl.scan_parquet(LAKE, hive_partitioning=False)
    return table.select(
        "flight_date", "carrier", pl.col("delayed").cast(pl.Int64), "p_boosted"
    ).collect()


class Project(NamedTuple):
    """The folder of a project, and how to read a table that dbt made."""

    folder: Path
    read: Callable[[str], pl.DataFrame]


class Built(NamedTuple):
    """What dbt did by step, and how to read a table that it made."""

    steps: list[Done]
    read: Callable[[str], pl.DataFrame]


def export(folder: Path, predictions: str, *more: str, code: int = 0) -> str:
    return run("export", "dbt", str(folder), predictions, *more, code=code).stderr


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
    export(folder / "rows", "other", *common, *roles, *metrics, "--name", "rows")
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
    import duckdb

    for step in range(1, 6):
        make_rows(step).write_parquet(folder / f"rows_{step}.parquet")
    flights = f"read_parquet('{LAKE}/*/*.parquet', hive_partitioning = false)"
    write_project(
        folder, "duckdb", flights,
        f"read_parquet('{folder}/rows_{{{{ env_var(\"STEP\") }}}}.parquet')",
    )  # fmt: skip
    file = str(folder / "warehouse.duckdb")
    write_profile(folder / "project", {"type": "duckdb", "path": file})

    def read(table: str) -> pl.DataFrame:
        with duckdb.connect(file, read_only=True) as connection:
            return connection.sql(f"FROM {table}").pl()

    return Project(folder / "project", read)


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

    One process of dbt builds both projects: it imports and prepares as long as it builds.
    """
    # The flights do not change: after a second build of everything, the rows alone are built.
    again, rows = ["build", "--exclude", TESTS[0]], ["build", "--select", "preds+"]
    commands = [["deps"], ["build", "--store-failures"], again, rows, rows, rows]
    with PostgreSQL() as server:
        projects = {
            "duckdb": write_project_of_duckdb(tmp_path_factory.mktemp("duckdb")),
            "postgres": write_project_of_postgres(tmp_path_factory.mktemp("postgres"), server),
        }
        done = run_dbt({project.folder: commands for project in projects.values()})
        yield {name: Built(done[each.folder], each.read) for name, each in projects.items()}


def evaluate(table: pl.DataFrame, metrics: list[str], **roles: Any) -> pl.DataFrame:
    """Return what `evaluate` says, as the history has it."""
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


def check_that_a_problem_is_an_error_until_the_rows_are_right(built: Built) -> None:
    wrong, right = built.read("lake.rows_after_4"), built.read("lake.rows_after_5")
    bad = wrong.filter(pl.col("problem").is_not_null())
    assert bad["period"].unique().to_list() == [date(2026, 7, 5)]
    assert bad["problem"].unique().to_list() == [
        "log_loss needs scores in 0 .. 1; score='p' is outside in 1 of 60 rows"
    ]
    assert bad["value"].null_count() == bad.height > 0
    assert re.search(r"FAIL \d+ rows_no_problem", built.steps[4].log)
    assert_equal(right, evaluate_rows(5))


def check_that_a_failed_gate_is_an_error_or_a_warning(built: Built) -> None:
    assert [step.code for step in built.steps] == [0, 1, 0, 0, 1, 0]
    first, second = built.steps[1].log, built.steps[2].log
    assert re.search(rf"FAIL \d+ {TESTS[0]}", first)
    assert TESTS[0] not in second
    warned = re.findall(r"WARN \d+ (flights_\w+)", second)
    assert sorted(warned) == sorted(TESTS[1:])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a job with the same gates says of the flights."""
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
    run("run", str(folder / "job.yml"), "--backfill", code=1)
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


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_real_builds(name: str, builds: dict[str, Built], judged: dict[str, Any]) -> None:
    built = builds[name]
    check_that_the_history_equals_evaluate(built)
    check_that_a_second_build_evaluates_nothing(built)
    check_late_labels_and_a_new_day(built)
    check_that_a_problem_is_an_error_until_the_rows_are_right(built)
    check_that_a_failed_gate_is_an_error_or_a_warning(built)
    check_that_gates_mean_what_they_mean_in_a_job_file(built, judged)
    check_that_a_macro_evaluates_a_relation(built)


# -- the files ---------------------------------------------------------------------------------

BASIC = ["--dialect", "postgres", "--time", "day", "--label", "y", "--score", "p"]


def render(template: str, **more: Any) -> str:
    """Return what Jinja makes of a file, with what dbt has."""
    names = {
        "config": lambda **_: "", "predictions": lambda: "lake.preds", "this": "lake.history",
        "is_incremental": lambda: True, "run_started_at": datetime.now(UTC),
        "dbt": SimpleNamespace(type_string=lambda: "VARCHAR", type_timestamp=lambda: "TIMESTAMP"),
    }  # fmt: skip
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    return environment.from_string(template).render(**{**names, **more})


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_dialect_is_parsed(name: str, tmp_path: Path) -> None:
    roles = ["--by", "carrier,hub", "--sets", "cube", "--where", "y <> 3", "--weight", "w"]
    export(
        tmp_path / "out", "preds", *BASIC, "--dialect", name, *roles, "-m", "ks", "--grain", "week"
    )
    model = (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
    (tree,) = sqlglot.parse(render(model), dialect=name)
    assert isinstance(tree, exp.Query)
    names = tree.named_selects
    assert names[:5] == ["period", "slice_by", "carrier", "hub", "metric"]
    macro = (tmp_path / "out" / "macros" / "ks.sql").read_text(encoding="utf-8")
    call = render(macro + "{{ ks('lake.preds') }}").partition("WITH")
    called = sqlglot.parse_one("".join(call[1:]), dialect=name)
    assert isinstance(called, exp.Query)
    assert called.named_selects[:3] == [
        "carrier",
        "hub",
        "by",
    ]


def test_a_macro_is_the_statement_of_sql(tmp_path: Path) -> None:
    where = "note <> '{{ {% {# }} %} #}'"
    export(tmp_path / "out", "preds", *BASIC, "--where", where, "-m", "roc_auc")
    macro = (tmp_path / "out" / "macros" / "roc_auc.sql").read_text(encoding="utf-8")
    expected = export_statement(
        ["roc_auc"], "postgres", "lake.preds", label="y", score="p", where=where
    )
    found = render(macro + "{{ roc_auc('lake.preds') }}")
    assert expected.partition("\nORDER BY")[0].removesuffix(";\n") in found
    assert "{{ {% {# }} %} #}" in render(
        (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
    )


def test_another_export_replaces_the_files_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert export(folder, "preds", *BASIC, "-m", "ks", "-m", "recall(threshold=0.3)") == (
        f"wrote {folder}: 10 files\n"
    )
    (folder / "macros" / "own.sql").write_text("{% macro own() %}{% endmacro %}", encoding="utf-8")
    export(folder, "lake.preds", *BASIC, "-m", "f_beta(beta=2)", "--name", "lake")
    names = sorted(path.name for path in (folder / "macros").iterdir())
    assert names == ["f_beta_beta_2.sql", "own.sql", "predictions.sql"]
    names = [path.name for path in (folder / "tests").glob("*.sql")]
    assert names == ["lake_rows_without_time.sql"]
    project = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    assert project["vars"] == {"predictions": "lake.preds"}


@pytest.mark.medium
def test_the_definition_is_of_the_statement(tmp_path: Path) -> None:
    def read_definition(*more: str) -> str:
        export(tmp_path / "out", "preds", *BASIC, "-m", "ks", *more)
        model = (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
        (found,) = set(re.findall(r"'([0-9a-f]{12})'", model))
        return str(found)

    first = read_definition()
    assert read_definition("--gate", "ks > 0.1", "--name", "other") == first
    others = [("--by", "a"), ("--grain", "week"), ("--nulls", "drop"), ("-m", "f1")]
    assert len({first, *(read_definition(*more) for more in others)}) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "kss"], "kss"),
        ([], "name a metric: --metric roc_auc"),
        (["-m", "roc_curve"], "roc_curve is a curve; the package holds metrics"),
        (["-m", "ks", "--name", "my-package"], "a dbt package has a name of small letters"),
        (["-m", "ks", "--dialect", "clickhouse"], "no dbt package for the dialect 'clickhouse'"),
        (["-m", "ks", "--by", "n_rows"], "by='n_rows': the history has a column of that name"),
        (["-m", "ks", "--by", "Period"], "'Period' has the name of the period"),
        (["-m", "ks", "--weight", "period"], "'period' has the name of the period"),
        (["-m", "ks", "--by", "m=upper(a)"], "--by NAME=SQL cannot be used here"),
        (["-m", "ks", "--gate", "ks"], "cannot read the check 'ks'"),
        (["-m", "ks", "--gate", "f1 > 0.5"], "the package has no metric 'f1'"),
        (["-m", "ks", "--gate", "age <= 1"], "dbt checks the age of data itself"),
        (["-m", "ks", "--gate", "worse(ks, previous 28)"], "are for sqleval run"),
        (["-m", "ks", "--gate", "drift(psi, baseline) < 0.2"], "drift is for sqleval run"),
        (["-m", "ks", "--gate", "ks > baseline * 0.9"], "are for sqleval run"),
        (["-m", "ks", "--gate", "{check: ks > 0.1, undefined: fail}"], "are for sqleval run"),
        (["-m", "ks", "--gate", "ks > baseline"], "needs baseline= (--baseline)"),
        (["-m", "ks", "--gate", "{check: ks > 0, by: [a]}"], "the slices are: overall"),
        (["-m", "ks", "--gate", "{check: ks > 0, on: low}"], "is on low, which needs ci= (--ci)"),
        (["-m", "ks", "--gate", "{check: ks > 0, sev: warn}"], "no key 'sev'"),
        (["-m", "ks", "--gate", "{check: ks > 0"], "not YAML"),
        (["-m", "ks", "--baseline", "2013-08", "2013-07"], "2013-08 is later than to 2013-07"),
        (["-m", "ks", "--baseline", "2013-8", "2013-9"], "baseline '2013-8': write 2013-07-01"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_an_error(options: list[str], message: str, tmp_path: Path) -> None:
    assert message in export(tmp_path / "out", "preds", *BASIC, *options, code=2)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    project = tmp_path / "dbt_project.yml"
    project.write_bytes(b"name: theirs # \xff\n")
    for path in (tmp_path, project):
        message = export(path, "preds", *BASIC, "-m", "ks", code=2)
        assert "holds something else; choose another folder" in message
    assert [path.name for path in tmp_path.iterdir()] == ["dbt_project.yml"]


@pytest.mark.parametrize(
    ("names", "days"),
    [
        (("2013-07", "2013-08"), ["2013-07-01", "2013-08-31"]),
        (("2012", "2012-02"), ["2012-01-01", "2012-02-29"]),
        (("2012", "2012"), ["2012-01-01", "2012-12-31"]),
        (("2013-07-08", "2013-07-15"), ["2013-07-08", "2013-07-15"]),
    ],
)
def test_a_baseline_is_from_its_first_to_its_last_day(
    names: tuple[str, str], days: list[str], tmp_path: Path
) -> None:
    gate = ["--gate", "ks > baseline - 0.1", "--baseline", *names]
    export(tmp_path / "out", "preds", *BASIC, "-m", "ks", *gate)
    model = (tmp_path / "out" / "models" / "metric_history.yml").read_text(encoding="utf-8")
    _, test = yaml.safe_load(model)["models"][0]["data_tests"]
    assert test["gate"]["arguments"] == {
        "metric": "ks", "operator": ">", "bound": -0.1, "baseline": days,
    }  # fmt: skip


@pytest.mark.medium
@pytest.mark.parametrize(
    ("options", "roles", "metrics"),
    [
        (["--label", "y", "--score", "p"], {"label": "y", "score": "p"}, ["ks", "f1"]),
        (
            ["--label", "y", "--score", "one=p", "--score", "two=q", "--by", "carrier,i"],
            {"label": "y", "score": {"one": "p", "two": "q"}, "by": ["carrier", "i"]},
            ["roc_auc"],
        ),
        (
            ["--label", "c", "--prediction", "d", "--by", "carrier"],
            {"label": "c", "prediction": "d", "by": ["carrier"]},
            ["f1(average=None)", "accuracy"],
        ),
        (
            ["--label", "q", "--prediction", "p", "--weight", "w", "--where", "i < 9"],
            {"label": "q", "prediction": "p", "weight": "w", "where": "i < 9"},
            ["rmse", "mae"],
        ),
        (
            ["--label", "y", "--score", "p", "--positive", "0", "--bins", "5", "--grain", "week"],
            {"label": "y", "score": "p", "positive": 0},
            ["average_precision", "brier_score"],
        ),
    ],
    ids=["plain", "models", "classes", "regression", "bins"],
)
def test_every_role_is_kept(
    options: list[str], roles: dict[str, Any], metrics: list[str], tmp_path: Path
) -> None:
    import duckdb

    i = pl.col("i")
    table = make_rows(5).with_row_index("j").select(
        pl.col("day").cast(pl.Datetime("us")) + pl.duration(hours=7),
        "carrier", "y", "p", i=(pl.col("j") % 13).cast(pl.Int64),
    )  # fmt: skip
    table = table.with_columns(
        q=((i * 5 + 3) % 13) / 13, w=(i % 3).cast(pl.Int64),
        c=(i % 3).replace_strict({0: "x", 1: "y", 2: "z"}),
        d=(i * i % 3).replace_strict({0: "x", 1: "y", 2: "z"}),
    )  # fmt: skip
    asked = [each for metric in metrics for each in ("-m", metric)]
    common = ["--dialect", "duckdb", "--time", "day", "--nulls", "drop"]
    export(tmp_path / "out", "preds", *common, *options, *asked)
    model = (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
    bins = 5 if "--bins" in options else None
    start = pl.col("day").dt.truncate("1w" if "week" in options else "1d").cast(pl.Date)
    dated = table.with_columns(period=start).drop("day")
    by = ["period", *roles.pop("by", [])]
    expected = sqleval.scan(dated, by=by, nulls="drop", **roles).evaluate(metrics, bins=bins)
    expected = expected.collect()
    with duckdb.connect() as connection:
        connection.register("preds", table.to_arrow())
        sql = render(model, is_incremental=lambda: False, predictions=lambda: "preds")
        found = connection.sql(sql).pl()
    assert found["problem"].null_count() == found.height == expected.height > 0
    keys = [name for name in expected.columns if name in (*by, "model", "class", "metric")]
    names = [name for name in expected.columns if name not in ("method",)]
    assert_frame_equal(
        found.select(names).cast(expected.select(names).schema).sort(keys),
        expected.select(names).sort(keys), check_exact=False, rel_tol=1e-9, abs_tol=1e-9,
    )  # fmt: skip


@pytest.mark.medium
def test_another_definition_evaluates_again(tmp_path: Path) -> None:
    import duckdb

    def write(*more: str) -> str:
        options = ["--dialect", "duckdb", "--time", "day", "--label", "y", "--score", "p"]
        export(tmp_path / "out", "preds", *options, "--nulls", "drop", "-m", "ks", *more)
        return (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")

    names: dict[str, Any] = {"predictions": lambda: "preds", "this": "history"}
    with duckdb.connect() as connection:
        connection.register("preds", make_rows(5).to_arrow())
        first = render(write(), is_incremental=lambda: False, **names)
        connection.execute(f"CREATE TABLE history AS {first}")
        for model, due in ((write(), 0), (write("-m", "gini"), 5), (write(), 0)):
            rows = connection.sql(render(model, **names)).pl()
            assert rows["period"].n_unique() == due


@pytest.mark.parametrize(
    ("predictions", "relation"),
    [
        ("preds", "model lake preds"),
        ("lake.preds", "source lake preds"),
        ("db.lake.preds", "db.lake.preds"),
        ("read_parquet('x.parquet')", "read_parquet('x.parquet')"),
    ],
)
def test_predictions_are_a_model_a_source_or_sql(
    predictions: str, relation: str, tmp_path: Path
) -> None:
    export(tmp_path / "out", predictions, *BASIC, "-m", "ks")
    project = yaml.safe_load((tmp_path / "out" / "dbt_project.yml").read_text(encoding="utf-8"))
    macro = (tmp_path / "out" / "macros" / "predictions.sql").read_text(encoding="utf-8")
    # Its text, as Jinja by itself has no `return`.
    found = jinja2.Environment().from_string(macro + "{{ predictions() }}").render(
        **{"return": str}, var=project["vars"].get, project_name="lake",
        ref=lambda *names: f"model {' '.join(names)}",
        source=lambda *names: f"source {' '.join(names)}",
    )  # fmt: skip
    assert found.strip() == relation
