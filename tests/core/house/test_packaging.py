"""The wheel, installed in a clean environment, lists the metric of every SQL file."""

import json
import os
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from build import ProjectBuilder
from packaging.requirements import Requirement
from pyproject_hooks import quiet_subprocess_runner

ROOT = Path(__file__).parents[3]


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
    (installed,) = metadata.distributions(name="sqleval", path=[str(own)])
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
    assert version == f"{metadata.version('sqleval')} True"
    # Type checkers read the annotations of packages that have this file.
    assert Path(path).with_name("py.typed").exists()
    listed = {row["name"] for row in json.loads(done.stdout)}
    files = {path.name.split(".")[0] for path in (ROOT / "sql").glob("*/*.sql")}
    for family in ("split", "drift"):
        files -= {path.name.split(".")[0] for path in (ROOT / "sql" / family).glob("*.sql")}
    steps = {path.name.split(".")[0] for path in (ROOT / "sql" / "base").glob("*.sql")}
    assert listed == files - steps
