"""Modules are short enough to be read in one sitting."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "sqleval").rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > 400} == {}
