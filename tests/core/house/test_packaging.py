"""The wheel works in a clean environment, and the documents name the right installation."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from build import ProjectBuilder
from packaging.requirements import Requirement
from pyproject_hooks import quiet_subprocess_runner

from sqleval.common.imports import DISTRIBUTION, advise_install

ROOT = Path(__file__).parents[3]


def lend(requires: list[str] | None, folder: Path, extras: frozenset[str] = frozenset()) -> None:
    """Link the required packages and their dependencies into a folder, and nothing else."""
    for requirement in map(Requirement, requires or []):
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            continue
        found = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(found.version, prereleases=True)
        tops = {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}
        new = [top for top in tops if not (folder / top).exists()]
        for top in new:
            (folder / top).symlink_to(str(found.locate_file(top)))
        if new or requirement.extras:
            lend(found.requires, folder, frozenset(requirement.extras))


def run_uv(*arguments: str | Path) -> None:
    """Run uv, which installs in a tenth of pip's processor time."""
    command = ["bash", ROOT / ".ci" / "uv", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def make_environment(home: Path, *packages: str | Path) -> Path:
    """Make an environment and install packages in it; return the folder of its programs."""
    run_uv("venv", "-q", "--python", sys.executable, home)
    binaries = home / ("Scripts" if os.name == "nt" else "bin")
    run_uv("pip", "install", "-q", "--python", binaries / "python", *packages)
    return binaries


def build_wheel(folder: Path) -> str:
    """Build the sdist, and from it the wheel, as `python -m build` does.

    Both are built in one environment, which has only what pyproject.toml asks for.
    """
    requires = ProjectBuilder(ROOT).build_system_requires
    python = str(make_environment(folder / "builder", *requires) / "python")
    sdist = ProjectBuilder(ROOT, python, quiet_subprocess_runner).build("sdist", folder)
    unpack = [sys.executable, "-m", "tarfile", "-e", sdist, str(folder)]
    subprocess.run(unpack, check=True, capture_output=True)
    unpacked = folder / Path(sdist).name.removesuffix(".tar.gz")
    return ProjectBuilder(unpacked, python, quiet_subprocess_runner).build("wheel", folder)


def test_the_wheel_lists_every_metric_in_a_clean_environment(tmp_path: Path) -> None:
    home = tmp_path / "clean"
    binaries = make_environment(home, "--no-deps", build_wheel(tmp_path))
    own = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (installed,) = metadata.distributions(name="sqleval-engine", path=[str(own)])
    lend(installed.requires, own)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    where = "import sqleval as s; print(s.__file__); print(s.__version__, 'scan' in dir(s))"
    commands = ([binaries / "python", "-c", where], [binaries / "sqleval", "list", "--format=json"])
    file, done = (
        subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        for command in commands
    )
    path, version = file.stdout.splitlines()
    assert Path(path).is_relative_to(own)
    assert version == f"{metadata.version('sqleval-engine')} True"
    # Type checkers read the annotations of a package only if it has this file.
    assert Path(path).with_name("py.typed").exists()
    listed = {row["name"] for row in json.loads(done.stdout)}
    files = {path.name.split(".")[0] for path in (ROOT / "sql").glob("*/*.sql")}
    for family in ("split", "drift"):
        files -= {path.name.split(".")[0] for path in (ROOT / "sql" / family).glob("*.sql")}
    assert listed == files


def list_files() -> Iterator[Path]:
    """Yield every file of the repository that a reader, a program or a test reads as text."""
    yield from (path for path in ROOT.iterdir() if path.is_file())
    for folder in (".ci", "data", "docs", "sql", "sqleval", "tests"):
        found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        yield from (path for path in found if path.suffix not in (".parquet", ".pyc", ".xz"))


def test_nothing_advises_to_install_the_package_from_an_index() -> None:
    # On PyPI `sqleval` is another project: documents install the checkout, or libraries by name.
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = "|".join(options["optional-dependencies"])
    old = re.compile(rf"""pip3? install[^\n&|;`]*[\s'"]sqleval|\bsqleval\[({extras})\b""")
    assert old.search("run pip install -U 'sqleval'")
    assert old.search("needs sqleval[plot]")
    assert not old.search("pip install -q -e . && .venv/bin/sqleval evaluate")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in list_files()}
    assert len(texts) > 500
    found = {str(path.relative_to(ROOT)): old.search(text) for path, text in texts.items()}
    # This file contains the forms for which it searches.
    own = str(Path(__file__).relative_to(ROOT))
    assert {path for path, match in found.items() if match} == {own}


def test_the_metadata_name_the_libraries_of_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    for extra, libraries in project["optional-dependencies"].items():
        advised = set(re.findall(r"'([\w.-]+)", advise_install(extra)))
        named = {re.match(r"[\w.-]+", each)[0] for each in libraries}  # type: ignore[index]
        assert advised >= named - {DISTRIBUTION}, extra
        assert DISTRIBUTION not in advised
    assert advise_install("plot") == "pip install 'altair>=6' 'vl-convert-python>=1.9'"
