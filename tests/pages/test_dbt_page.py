"""The page on dbt, docs/guide/dbt.md: its commands run, with the files that it shows."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.comparison import assert_frame_equal
from tests.support.dbt import run_dbt

from .pages import ROOT, STATUS, read_page, run

PAGE = read_page("docs/guide/dbt.md")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.long
def test_the_commands_run_in_order(tmp_path: Path) -> None:
    import duckdb

    export, *commands = "".join(blocks("sh")).splitlines()
    profile, packages, variables, gate = blocks("yaml")
    (model,) = blocks("sql")
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = run(export, tmp_path)
    assert (done.returncode, bool(STATUS.fullmatch(done.stderr.strip()))) == (0, True)
    files = {
        "metrics/profiles.yml": profile,
        # The project of the third section, with a gate of its own on the history.
        "packages.yml": packages,
        "dbt_project.yml": f"name: own\nprofile: sqleval\n{variables}",
        "models/carriers.sql": model,
        "models/preds.sql": "SELECT * FROM read_parquet('data/flights/predictions/*/*.parquet')",
        "models/again.sql": "SELECT * FROM {{ ref('sqleval', 'metric_history') }}",
        "models/again.yml": yaml.safe_dump({"models": [{"name": "again", **yaml.safe_load(gate)}]}),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "profiles.yml").write_text(profile, encoding="utf-8")
    first, second, deps, own = run_dbt({tmp_path: [line.split()[1:] for line in commands]})[
        tmp_path
    ]
    assert (first.code, second.code, deps.code, own.code) == (0, 0, 0, 1)
    assert "WARNING" not in "".join(done.log for done in (first, second, deps, own))
    assert "PASS sqleval_roc_auc_at_least_0_6_overall" in first.log
    assert re.search(r"WARN \d+ sqleval_drop_roc_auc_previous_3", first.log)
    assert re.search(r"FAIL \d+ sqleval_gate_again", own.log)
    with duckdb.connect(str(tmp_path / "metrics.duckdb"), read_only=True) as connection:
        carriers = connection.sql("FROM carriers").pl()
        history, there = (
            connection.sql(f"FROM {table} ORDER BY period, slice_by, carrier, metric").pl()
            for table in ("metric_history", "main_metrics.metric_history")
        )
    assert history["period"].n_unique() == 6
    assert history["evaluated_at"].n_unique() == 1
    assert carriers["roc_auc"].is_between(0.5, 1).all()
    assert_frame_equal(there.drop("evaluated_at"), history.drop("evaluated_at"))
