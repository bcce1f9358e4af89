"""Every folder of tests is a lane of the page on lanes, and pytest runs `core` by default."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "developers" / "lanes.md").read_text(encoding="utf-8")
#: Folders of `tests` without tests: shared modules, and benches that run by hand.
OTHERS = {"support", "bench"}


def test_every_folder_is_a_lane_of_the_page() -> None:
    lanes = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders - OTHERS == lanes - {"oldest"}  # `oldest` runs core again
    for folder in OTHERS:
        assert not list((ROOT / "tests" / folder).rglob("test_*.py"))


def test_pytest_alone_runs_what_dev_alone_can_run() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    options = tomllib.loads(text)["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests/quick", "tests/core", "sqleval"]
    # Lanes are folders: there are no marks to sort tests by.
    assert "markers" not in options
    assert "--strict-markers" in options["addopts"]


def test_ci_runs_every_lane() -> None:
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in re.findall(r"`([^`]+)` \|$", PAGE, re.MULTILINE):
        if "pytest tests/quick" not in command and not command.endswith("-n 3"):
            assert command.removeprefix("python -m ") in steps
    assert '"$(block 2)"' in steps
