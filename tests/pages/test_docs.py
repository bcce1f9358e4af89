"""The README is executed, its catalogue is generated, and the wheel holds the SQL files."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from docs import generate as docs
from sqleval.catalog import contract

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_catalogue_is_up_to_date() -> None:
    assert docs.updated(README) == README


def test_python_examples_run() -> None:
    code = "\n".join(blocks("python"))
    # -W error would also judge what DuckDB 1.x says about itself while it is imported.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "roc_auc" in done.stdout


def shell(command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, in a folder of its own that has the data."""
    (home / "data").symlink_to(ROOT / "data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, cwd=home,
        env={**os.environ, "PATH": path},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", blocks("sh")[2].strip().splitlines(), ids=lambda c: c[:30])
def test_command_line_examples_run(command: str, tmp_path: Path) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow
def test_a_job_starts_as_the_page_says(tmp_path: Path) -> None:
    done = shell(blocks("sh")[3].strip().replace("\n", " && "), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "job.yml: 6 files, binary, 2 metrics by carrier, 1 gate" in done.stderr


def test_the_contract_page_lists_what_the_loader_knows() -> None:
    page = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    table = page[page.index("## The header") :]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == contract.HEADER_KEYS
    for condition in contract.CONDITIONS:
        assert f"`{condition}`" in page


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "sqleval").rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > 400} == {}


def lend(requires: list[str] | None, folder: Path, extras: frozenset[str] = frozenset()) -> None:
    """Link into a folder what the requirements name, with what that needs, and nothing else."""
    for requirement in map(Requirement, requires or []):
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            continue
        found = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(found.version, prereleases=True)
        tops = {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}
        new = [top for top in tops if not (folder / top).exists()]
        for top in new:
            (folder / top).symlink_to(found.locate_file(top))
        if new or requirement.extras:
            lend(found.requires, folder, frozenset(requirement.extras))


@pytest.mark.slow
def test_the_wheel_lists_every_metric_in_a_clean_environment(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    home = tmp_path / "clean"
    venv.create(home, with_pip=False)
    binaries = home / ("Scripts" if os.name == "nt" else "bin")
    install = [sys.executable, "-m", "pip", "--python", str(binaries / "python"), "install", "-q"]
    subprocess.run([*install, "--no-deps", str(wheel)], check=True, capture_output=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (installed,) = metadata.distributions(name="sqleval", path=[str(own)])
    lend(installed.requires, own)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    where = "import sqleval; print(sqleval.__file__)"
    commands = ([binaries / "python", "-c", where], [binaries / "sqleval", "list", "--format=json"])
    file, done = (
        subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        for command in commands
    )
    assert Path(file.stdout.strip()).is_relative_to(own)
    listed = {row["name"] for row in json.loads(done.stdout)}
    files = {path.name.split(".")[0] for path in (ROOT / "sql").glob("*/*.sql")}
    files -= {path.name.split(".")[0] for path in (ROOT / "sql" / "split").glob("*.sql")}
    steps = {path.name.split(".")[0] for path in (ROOT / "sql" / "base").glob("*.sql")}
    assert listed == files - steps
