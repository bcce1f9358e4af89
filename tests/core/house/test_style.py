"""Modules and lines are short enough to be read at once; `test_imports` checks functions."""

from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "sqleval").rglob("*.py")
    }
    assert {path: n for path, n in lengths.items() if n > 400} == {}


def test_no_comment_in_sql_is_longer_than_100_characters() -> None:
    comments = {
        f"{path.relative_to(ROOT)}:{number}": len(line)
        for folder in ("sql", "sqleval")
        for path in (ROOT / folder).rglob("*.sql")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.lstrip().startswith("--")
    }
    assert comments
    assert {place: n for place, n in comments.items() if n > 100} == {}
