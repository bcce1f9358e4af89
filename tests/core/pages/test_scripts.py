"""Every block of every page runs as a script in an empty folder without writing to stderr."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.support.pages import (
    INSTALLATION,
    PAGES,
    ROOT,
    TOGETHER,
    WITH_DATA,
    Script,
    all_scripts,
    blocks,
    read_page,
    run_script,
    says,
    scripts,
)

PICTURES = ROOT / "docs" / "pictures"
#: Blocks that other tests run: consoles, orchestrators and MLflow, job files, rows of tables that a
#: test inserts, and a Spark server.
ELSEWHERE = {
    ("docs/guide/coming-from.md", "python"): "core/pages/test_coming_from_page.py",
    ("docs/guide/coming-from.md", "sh"): "core/pages/test_coming_from_page.py",
    ("docs/guide/console.md", "python"): "engines/pages/test_console_page.py",
    ("docs/guide/dbt.md", "sh"): "engines/pages/test_dbt_page.py",
    ("docs/guide/jobs.md", "python"): "engines/pages/test_jobs_page.py",
    ("docs/guide/jobs.md", "sh"): "core/pages/test_jobs_page.py",
    ("docs/guide/regression.md", "sh"): "core/pages/test_regression_page.py",
    ("docs/guide/spark.md", "python"): "engines/pages/test_spark_page.py",
    ("docs/guide/spark.md", "sh"): "engines/pages/test_spark_page.py",
    ("docs/guide/own-metrics.md", "python"): "core/pages/test_own_metrics_page.py",
    ("docs/guide/own-metrics.md", "sh"): "core/pages/test_own_metrics_page.py",
    ("docs/developers/adding.md", "python"): "core/pages/test_adding_page.py",
}


def runs_the_tests(script: Script) -> bool:
    """Whether a script is this test suite."""
    return "-m pytest" in INSTALLATION.sub("", script.text)


SCRIPTS = {
    str(script): script
    for script in all_scripts()
    if (script.page, script.language) not in ELSEWHERE and not runs_the_tests(script)
}


def draws_its_pictures(script: Script, folder: Path) -> bool:
    """Whether the commands draw the pictures beside the pages."""
    names = re.findall(r"--plot (\S+)", script.text)
    drawn = [(folder / name).read_text(encoding="utf-8").count("<path") for name in names]
    return all((PICTURES / name).is_file() for name in names) and min(drawn, default=4) > 3


def shows_its_output(script: Script, done: list[Done]) -> bool:
    """Whether the block of text below a script equals its output."""
    lines = "".join(each.stdout for each in done).splitlines()
    text = read_page(script.page).partition(f"{script.text}```\n")[2]
    shown = re.findall(r"^```(?:text)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0]
    return [line.rstrip() for line in lines] == shown.splitlines()


def prints_commands_of_its_page(script: Script, done: list[Done]) -> bool:
    """Whether an inspection ends with two commands, both on the page."""
    lines = done[0].stdout.splitlines()
    commands = [line for line in lines if line.startswith("  sqleval evaluate")]
    return len(commands) == 2 and all(command in read_page(script.page) for command in commands)


#: Further checks of outputs and files: the page, a part of the script, the check.
CHECKS: list[tuple[str, str, Callable[[Script, list[Done], Path], bool]]] = [
    ("README.md", "venv", lambda script, done, folder: shows_its_output(script, done)),
    ("README.md", "import", lambda script, done, folder: "roc_auc" in done[0].stdout),
    ("README.md", "worst-first", lambda script, done, folder: "roc_auc" in done[0].stdout),
    ("README.md", "sqleval report", lambda script, done, folder:
        (folder / "report.html").stat().st_size > 100_000),
    ("README.md", "sqleval init", lambda script, done, folder:
        "job.yml: 6 files, binary (1 is positive, threshold 0.5), 2 metrics by all rows and by"
        in done[1].stderr),
    ("docs/guide/first-steps.md", "sql(", lambda script, done, folder:
        "FROM _results AS r" in done[0].stdout),
    ("docs/guide/first-steps.md", "sqleval inspect", lambda script, done, folder:
        prints_commands_of_its_page(script, done)),
    ("docs/guide/lake.md", 'warehouse.duckdb"', lambda script, done, folder:
        done[0].stdout.count("roc_auc") == 2),
    ("docs/guide/lake.md", 'labels="data', lambda script, done, folder: "delong" in done[0].stdout),
    ("docs/guide/lake.md", "inspect", lambda script, done, folder:
        "--nulls drop" in done[0].stdout and "roc_auc" in done[1].stdout
        and (folder / "summer.parquet").is_file()),
    ("docs/guide/large-inputs.md", "bins=9", lambda script, done, folder:
        "bins of 9 bits" in done[0].stdout and done[0].stdout.count("low") == 1),
    ("docs/guide/large-inputs.md", "tolerance=", lambda script, done, folder:
        done[0].stdout.count("low") == 1),
    ("docs/guide/large-inputs.md", "mkdir quarter", lambda script, done, folder:
        "bins of 11 bits" in done[3].stdout and done[4].stdout == ""
        and "2013-07-01" in done[5].stdout and "carrier, origin" in done[6].stdout),
    ("docs/guide/splits.md", "norm", lambda script, done, folder: shows_its_output(script, done)),
    ("docs/guide/splits.md", "select(", lambda script, done, folder:
        "train again on all rows with C=1.0" in done[0].stdout),
    ("docs/guide/splits.md", "sqleval split", lambda script, done, folder:
        len(list((folder / "folds").iterdir())) == 10),
    *((page, "--plot", lambda script, done, folder: draws_its_pictures(script, folder))
      for page in ("docs/guide/gallery.md", "docs/guide/thresholds.md", "docs/textbook.md")),
]  # fmt: skip


#: A reader's first command and script.
FIRST = [str(script) for script in scripts("README.md")[:2]]


@pytest.mark.parametrize("name", FIRST)
def test_the_first_scripts_run(name: str, tmp_path: Path) -> None:
    (folder := tmp_path / "empty").mkdir()
    check_output(SCRIPTS[name], run_script(SCRIPTS[name], folder), folder)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in FIRST])
def test_a_script_of_a_page_runs(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (folder := tmp_path / "empty").mkdir()
    monkeypatch.chdir(folder)
    check_output(SCRIPTS[name], run_script(SCRIPTS[name], folder, capfd), folder)


def check_output(script: Script, done: list[Done], folder: Path) -> None:
    for page, part, check in CHECKS:
        if page == script.page and part in script.text:
            assert check(script, done, folder), part


def test_every_check_has_a_script() -> None:
    for page, part, _ in CHECKS:
        assert [each for each in SCRIPTS.values() if each.page == page and part in each.text], part


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_the_data_of_its_scripts(name: str) -> None:
    if any("data/" in script.text for script in scripts(name)):
        assert says(name, WITH_DATA)
    # Only pages with many blocks run as one script; elsewhere each block has its own imports.
    if says(name, TOGETHER):
        assert len(blocks(name, "python", "sh")) > 3


def test_the_other_blocks_have_tests_of_their_own() -> None:
    for (name, language), file in ELSEWHERE.items():
        assert blocks(name, language)
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        # It names the page, or takes the blocks from the test that does.
        assert name.removeprefix("docs/") in text.replace('" / "', "/") or (
            f"from tests.core.pages import {Path(file).stem}" in text
        )
