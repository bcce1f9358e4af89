"""The files of the dbt package hold the right models, tests and macros."""

import datetime as dates
import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import polars as pl
import pytest
import sqlglot
import yaml
from sqlglot import exp

import sqleval
from sqleval.export.dbt.history import STRATEGIES
from sqleval.export.statement import export_statement
from tests.support.comparison import assert_frame_equal
from tests.support.dbt import export, make_rows
from tests.support.versions import needs

BASIC = ["--dialect", "postgres", "--time", "day", "--label", "y", "--score", "p"]


def render(template: str, **more: Any) -> str:
    """Render a file with Jinja, with the functions that dbt provides."""
    names = {
        "config": lambda **_: "", "predictions": lambda: "lake.preds", "this": "lake.history",
        "is_incremental": lambda: True, "is_due": lambda: "1 = 1",
        "run_started_at": datetime.now(UTC),
        "dbt": SimpleNamespace(type_string=lambda: "VARCHAR", type_timestamp=lambda: "TIMESTAMP"),
    }  # fmt: skip
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    return environment.from_string(template).render(**{**names, **more})


class _Return(Exception):
    """The value that a macro returns, as in dbt."""


def find_due(folder: Path, connection: Any, relation: str, **variables: object) -> str:
    """Return the condition for the rows that a build reads, from the macro of a package."""

    def stop(value: str) -> None:
        raise _Return(value)

    def run_query(sql: str) -> SimpleNamespace:
        return SimpleNamespace(rows=connection.execute(sql).fetchall())

    text = (folder / "macros" / "is_due.sql").read_text(encoding="utf-8")
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    names = {
        "return": stop, "run_query": run_query, "this": "history", "var": variables.get,
        "is_incremental": lambda: True, "predictions": lambda: relation,
        "modules": SimpleNamespace(datetime=dates),
    }  # fmt: skip
    try:
        environment.from_string(text, globals=names).module.is_due()  # pyright: ignore
    except _Return as found:
        return str(found)
    raise AssertionError("the macro returns nothing")


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_dialect_is_parsed(name: str, tmp_path: Path) -> None:
    roles = ["--by", "carrier,hub", "--sets", "cube", "--where", "y <> 3", "--weight", "w"]
    export(
        tmp_path / "out", "preds", *BASIC, "--dialect", name, *roles, "-m", "ks", "--grain", "week"
    )
    model = (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
    (tree,) = sqlglot.parse(render(model), dialect=name)
    assert isinstance(tree, exp.Union)
    (evaluated,) = (each for each in tree.ctes if each.alias == "evaluated")
    names = evaluated.this.named_selects
    assert tree.expression.named_selects == names  # of the rows that are kept
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
    # The printed text also says which table it is about.
    expected = re.sub(r"^-- From .*\n", "", expected, flags=re.MULTILINE)
    found = render(macro + "{{ roc_auc('lake.preds') }}")
    assert expected.partition("\nORDER BY")[0].removesuffix(";\n") in found
    assert "{{ {% {# }} %} #}" in render(
        (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
    )


def test_another_export_replaces_the_files_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert export(folder, "preds", *BASIC, "-m", "ks", "-m", "recall(threshold=0.3)") == (
        f"wrote {folder}: 11 files\n"
    )
    (folder / "macros" / "own.sql").write_text("{% macro own() %}{% endmacro %}", encoding="utf-8")
    export(folder, "lake.preds", *BASIC, "-m", "f_beta(beta=2)", "--name", "lake")
    names = sorted(path.name for path in (folder / "macros").iterdir())
    assert names == ["f_beta_beta_2.sql", "is_due.sql", "own.sql", "predictions.sql"]
    names = [path.name for path in (folder / "tests").glob("*.sql")]
    assert names == ["lake_rows_without_time.sql"]
    project = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    assert project["vars"] == {"predictions": "lake.preds", "lookback": 30}


def test_the_definition_is_of_metrics_roles_and_options(tmp_path: Path) -> None:
    def read_definition(*more: str) -> str:
        export(tmp_path / "out", "preds", *BASIC, "-m", "ks", *more)
        model = (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
        (found,) = set(re.findall(r"'(v1-[0-9a-f]{9})'", model))
        return str(found)

    first = read_definition()
    assert read_definition("--gate", "ks > 0.1", "--name", "other") == first
    others = [
        ("--by", "a"),
        ("--grain", "week"),
        ("--nulls", "drop"),
        ("-m", "f1"),
        ("--ci", "0.9"),
    ]
    assert len({first, *(read_definition(*more) for more in others)}) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "kss"], "kss"),
        ([], "name a metric: --metric roc_auc"),
        (["-m", "roc_curve"], "roc_curve is a curve; the package holds metrics"),
        (["-m", "ks", "--name", "my-package"], "the name of a dbt package has small letters"),
        (["-m", "ks", "--dialect", "clickhouse"], "no dbt package for the dialect 'clickhouse'"),
        (["-m", "ks", "--by", "n_rows"], "by='n_rows': the history has a column of that name"),
        (["-m", "ks", "--by", "Period"], "'Period' has the name of the period"),
        (["-m", "ks", "--weight", "period"], "'period' has the name of the period"),
        (["-m", "ks", "--by", "m=upper(a)"], "--by NAME=SQL cannot be used here"),
        (["-m", "ks", "--gate", "ks"], "cannot read the check 'ks'"),
        (["-m", "ks", "--gate", "f1 > 0.5"], "the package has no metric 'f1'"),
        (["-m", "ks", "--gate", "age <= 1"], "use dbt source freshness"),
        (["-m", "ks", "--gate", "worse(ks, previous 28)"], "only sqleval run has worse"),
        (["-m", "ks", "--gate", "drift(psi, baseline) < 0.2"], "only sqleval run has drift"),
        (["-m", "ks", "--gate", "ks > baseline * 0.9"], "only sqleval run has worse"),
        (["-m", "ks", "--gate", "{check: ks > 0.1, undefined: warn}"], "only sqleval run has"),
        (["-m", "ks", "--lookback", "0"], "0 is not in the range x>=1"),
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
        options: list[tuple[list[str], int]] = [([], 0), (["-m", "gini"], 5), ([], 0)]
        for more, due in options:
            model = write(*more)
            # Also the days before the last ones, whose rows are not counted.
            condition = find_due(tmp_path / "out", connection, "preds", lookback=2)
            is_due = partial(str, condition)
            rows = connection.sql(render(model, is_due=is_due, **names)).pl()
            assert rows["period"].n_unique() == due


@needs("its EXPLAIN ANALYZE shows how many files are read", duckdb="2")
def test_a_build_reads_only_the_files_of_the_days_that_are_due(tmp_path: Path) -> None:
    import duckdb

    lake = tmp_path / "lake"
    days = {day: rows for (day,), rows in make_rows(5).group_by("day")}
    for day, rows in days.items():
        (lake / f"day={day}").mkdir(parents=True)
        rows.drop("day").write_parquet(lake / f"day={day}" / "1.parquet")
    relation = f"read_parquet('{lake}/*/*.parquet', hive_partitioning = true)"
    roles = ["--time", "day", "--label", "y", "--score", "p", "-m", "ks"]
    export(tmp_path / "out", relation, "--dialect", "duckdb", *roles, "--nulls", "drop")
    model = (tmp_path / "out" / "models" / "metric_history.sql").read_text(encoding="utf-8")
    names: dict[str, Any] = {"predictions": lambda: relation, "this": "history"}
    with duckdb.connect() as connection:
        first = render(model, is_incremental=lambda: False, **names)
        connection.execute(f"CREATE TABLE history AS {first}")

        def count_files(lookback: int) -> tuple[list[dates.date], set[str]]:
            """Return the days that a build evaluates, and how many of the files it reads."""
            condition = find_due(tmp_path / "out", connection, relation, lookback=lookback)
            sql = render(model, is_due=lambda: condition, **names)
            rows = connection.sql(sql).pl()
            plan = str(connection.execute(f"EXPLAIN ANALYZE {sql}").fetchall())
            return rows["period"].unique().sort().to_list(), {
                *re.findall(r"Scanning Files: (\d+/\d+)", plan)
            }

        assert count_files(5)[0] == []
        july = dates.date(2026, 7, 1)
        # Rows came late for the first and the fourth day: the first is not among the last two.
        for offset in (0, 3):
            day = july + dates.timedelta(days=offset)
            (lake / f"day={day}" / "2.parquet").write_bytes(
                (lake / f"day={day}" / "1.parquet").read_bytes()
            )
        assert count_files(2) == ([dates.date(2026, 7, 4)], {"2/7"})
        assert count_files(5) == ([july, dates.date(2026, 7, 4)], {"4/7"})
        connection.execute("UPDATE history SET problem = 'wrong' WHERE period = '2026-07-02'")
        assert count_files(1) == ([dates.date(2026, 7, 2)], {"1/7"})


@pytest.mark.parametrize(
    ("grain", "starts", "condition"),
    [
        ("day", ["2024-02-28", "2024-02-29"], [("2024-02-28", "2024-03-01")]),
        ("week", ["2026-06-29", "2026-07-13"], [
            ("2026-06-29", "2026-07-06"), ("2026-07-13", "2026-07-20"),
        ]),
        ("month", ["2023-12-01", "2024-01-01", "2024-02-01", "2024-04-01"], [
            ("2023-12-01", "2024-03-01"), ("2024-04-01", "2024-05-01"),
        ]),
        ("quarter", ["2023-01-01", "2023-04-01", "2023-07-01", "2023-10-01"], [
            ("2023-01-01", "2024-01-01"),
        ]),
        ("year", ["2023-01-01", "2024-01-01", "2026-01-01"], [
            ("2023-01-01", "2025-01-01"), ("2026-01-01", "2027-01-01"),
        ]),
    ],
)  # fmt: skip
def test_periods_in_a_row_are_one_condition(
    grain: str, starts: list[str], condition: list[tuple[str, str]], tmp_path: Path
) -> None:
    import duckdb

    export(tmp_path / "out", "preds", *BASIC, "--time", "flight day", "--grain", grain, "-m", "ks")
    with duckdb.connect() as connection:
        values = ", ".join(f"(DATE '{each}', 'x', 'wrong', 1, 1)" for each in starts)
        connection.execute(
            "CREATE TABLE history AS FROM (VALUES "
            f"{values}) AS t(period, definition, problem, n_rows, n_labels)"
        )
        connection.execute('CREATE TABLE preds ("flight day" DATE, y INT)')
        found = find_due(tmp_path / "out", connection, "preds", lookback=1)
    assert [*re.findall(r"'(\S+)' AS DATE.*?'(\S+)' AS DATE", found)] == condition
    assert found.count('s."flight day" >= CAST') == len(condition)


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
    # The macro's `return` is a function that gives its text, because plain Jinja has none.
    found = jinja2.Environment().from_string(macro + "{{ predictions() }}").render(
        **{"return": str}, var=project["vars"].get, project_name="lake",
        ref=lambda *names: f"model {' '.join(names)}",
        source=lambda *names: f"source {' '.join(names)}",
    )  # fmt: skip
    assert found.strip() == relation
