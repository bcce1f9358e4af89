"""The README runs as printed; pages are up to date and linked; the contract page is complete."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs import generate as docs
from sqleval.catalog import builtin, contract, header

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.slow  # the pages need one version of each library
@pytest.mark.parametrize("name", docs.DOCUMENTS)
def test_a_page_is_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert docs.updated(text) == text


def test_the_reference_names_every_metric_and_curve() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    for relation in builtin().relations("metric", "curve"):
        assert page.count(f"| `{relation.name}` |") == 2  # its definition and its formula


PAGES = [ROOT / "README.md", ROOT / "sql" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file), target


def test_python_examples_run() -> None:
    code = "\n".join(blocks("python"))
    # -W error would also judge what DuckDB 1.x says about itself while it is imported.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    # Not even what an extension module says of itself when the script ends.
    assert done.stderr == ""
    assert "roc_auc" in done.stdout


def shell(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, in a folder of its own that has the data."""
    (home / "data").symlink_to(ROOT / "data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, cwd=home,
        env={**os.environ, "PATH": path},
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("recipe", blocks("shell"), ids=lambda recipe: recipe.split()[1])
def test_the_recipes_run(recipe: str, tmp_path: Path) -> None:
    done = shell(recipe.strip(), tmp_path)
    assert done.returncode == 0, done.stderr
    if "init" in recipe:
        assert "6 files, binary, 2 metrics by all rows and by carrier, 1 gate" in done.stderr
    elif "report" in recipe:
        assert (tmp_path / "report.html").stat().st_size > 100_000
    else:
        assert "roc_auc" in done.stdout


def test_the_output_below_the_first_command_is_its_output(tmp_path: Path) -> None:
    command = blocks("sh")[0].partition("&& .venv/bin/")[2].partition("&& .venv/bin/")[2]
    done = shell(command.strip(), tmp_path)
    (shown,) = re.findall(r"^```\n(model .*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()


def test_the_contract_page_lists_what_the_loader_knows() -> None:
    page = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    table = page[page.index("## The header") :]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == header.HEADER_KEYS
    for condition in contract.CONDITIONS:
        assert f"`{condition}`" in page
