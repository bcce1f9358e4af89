"""Files are written whole, and none is lost to another process."""

from pathlib import Path

from sqleval.common.whole_file import create_file


def test_a_file_that_another_process_makes_first_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history.duckdb"
    with create_file(str(path)) as draft:
        draft.write_text("ours", encoding="utf-8")
        path.write_text("theirs", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "theirs"
    path.unlink()
    with create_file(str(path)) as draft:
        draft.write_text("ours", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "ours"
    assert list(tmp_path.iterdir()) == [path]
