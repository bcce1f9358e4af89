"""Damaged, vanished and changed Parquet files: an error that names the file, never a number."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqleval
from sqleval import RequestError, SourceError
from sqleval.engines import waiting
from tests.bench import damages
from tests.support.tried import PAGE, check_tried
from tests.support.versions import needs

ROLES = {"label": "y", "score": "p"}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Return a file without checksums, in a folder with another one."""
    for name in ("a", "b"):
        damages.write_rows(tmp_path / f"{name}.parquet", "snappy", checksums=False)
    return tmp_path / "b.parquet"


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    """Return a file with checksums."""
    damages.write_rows(tmp_path / "c.parquet", "snappy", checksums=True)
    return tmp_path / "c.parquet"


def flip_page(path: Path, column: int, group: int = 0) -> None:
    """Flip a bit in the last byte of a column's pages."""
    chunk = pq.read_metadata(path).row_group(group).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start + chunk.total_compressed_size - 1] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("checksums", [False, True])
def test_damage_is_an_error_or_changes_nothing(tmp_path: Path, checksums: bool) -> None:
    counts = damages.sweep(tmp_path, "snappy", 3, checksums=checksums)
    # Each damage is read with and without verify=.
    what = "damages of a Parquet file, with and without checksums"
    check_tried(what, sum(counts.values()) // 2)
    for (kind, verify, outcome), count in counts.items():
        assert outcome != damages.UNNAMED, (kind, verify, count)
        if outcome == damages.CHANGED:
            assert "page" in kind, (kind, verify, count)
            assert not (checksums and verify), (kind, count)
    assert counts["page", True, damages.ERROR] >= 3 * checksums


def test_the_page_counts_all_damages_of_the_benchmark(whole: Path) -> None:
    chunks = damages.list_chunks(whole)
    kinds = [kind for kind, _ in damages.list_damages(whole.read_bytes(), chunks, damages.EACH)]
    in_pages = sum("page" in kind for kind in kinds) * len(damages.CODECS)
    others = len(kinds) * len(damages.CODECS) - in_pages
    table = PAGE.read_text(encoding="utf-8").partition("Damages tried")[2].partition("\n\n**")[0]
    rows = re.findall(r"\| (\d+) \| (\d+) \| (\d+) \|$", table, re.MULTILINE)
    # Damages outside of pages are tried on files with and without checksums.
    assert [sum(map(int, row)) for row in rows] == [others * 2] + [in_pages] * 4


@pytest.mark.parametrize("start", [0, 4])
def test_the_file_of_a_folder_is_named(whole: Path, start: int) -> None:
    chunk = damages.list_chunks(whole)[1]
    content = whole.read_bytes()
    spoilt = content[:20] if start == 0 else content[:chunk] + b"\xff" * 30 + content[chunk + 30 :]
    whole.write_bytes(spoilt)
    with pytest.raises(SourceError, match=r"b\.parquet") as raised:
        damages.evaluate(whole.parent)
    assert "a.parquet" not in str(raised.value)


@needs("DuckDB 1.5 reads such a file", duckdb="2")
def test_an_internal_error_of_the_engine_is_not_the_end_of_it(whole: Path) -> None:
    expected = damages.evaluate(whole)
    content = whole.read_bytes()
    size = pq.read_metadata(whole).row_group(0).column(1).total_compressed_size
    # Thrift writes n >= 0 as 2n, and -n - 1 as 2n + 1, seven bits to a byte.
    low, high = (size * 2) & 0x7F | 0x80, (size * 2) >> 7 & 0x7F | 0x80 * (size * 2 >= 1 << 14)
    at = content.rindex(bytes([low, high]))
    spoilt = whole.with_name("spoilt.parquet")
    spoilt.write_bytes(content[:at] + bytes([low | 1]) + content[at + 1 :])
    for _ in range(2):
        with pytest.raises(SourceError, match=r"spoilt\.parquet") as raised:
            damages.evaluate(spoilt)
        assert "Stack Trace" not in str(raised.value)
    assert damages.are_equal(damages.evaluate(whole), expected)


def test_a_column_name_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "named.parquet"
    pq.write_table(pa.table({"y": [0, 1], "p": [0.1, 0.9], "name": [1, 2]}), path)
    path.write_bytes(path.read_bytes().replace(b"name", b"\xffame"))
    with pytest.raises(SourceError, match=r"named\.parquet.* is not UTF-8"):
        sqleval.scan(str(path), **ROLES)


def test_a_file_that_is_gone_at_collect(whole: Path) -> None:
    lazy = sqleval.scan(str(whole.parent), **ROLES).evaluate("roc_auc")
    whole.unlink()
    with pytest.raises(SourceError, match=r"b\.parquet'?: No such file"):
        lazy.collect()


@pytest.fixture
def at_first_pulse(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Call the functions of a list, each once, while the next statement runs."""
    monkeypatch.setattr(waiting, "_PULSE", 0.002)
    calls: list[object] = []

    def call() -> None:
        while calls:
            calls.pop()()  # type: ignore[operator]

    waiting.on_pulse.append(call)
    yield calls
    waiting.on_pulse.remove(call)


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, at_first_pulse: list[object], change: str
) -> None:
    path, other = tmp_path / "rows.parquet", tmp_path / "other"
    damages.write_rows(path, "none", checksums=False, rows=200_000)
    other.write_bytes(path.read_bytes())
    at_first_pulse.append(path.unlink if change == "removed" else lambda: other.replace(path))
    message = "was changed while it was read" if change == "replaced" else "No such file"
    with pytest.raises(SourceError, match=message) as raised:
        damages.evaluate(path)
    assert "rows.parquet" in str(raised.value)
    assert not at_first_pulse


# -- verify= ------------------------------------------------------------------------------------


def test_a_page_that_differs_from_its_checksum(checked: Path) -> None:
    expected = damages.evaluate(checked)
    assert damages.are_equal(damages.evaluate(checked, verify=True), expected)
    flip_page(checked, 1, group=2)
    message = r"c\.parquet': column 'p', row group 3: a page differs from its checksum"
    for by in (None, ["g"], {"tenth": "round(p, 1)"}):
        with pytest.raises(SourceError, match=message):
            sqleval.scan(str(checked), **ROLES, by=by or (), verify=True).evaluate().collect()
    with pytest.raises(SourceError, match=message):
        sqleval.scan(str(checked), **ROLES, verify=True).curve("roc").collect()
    with pytest.raises(SourceError, match=message):
        sqleval.split(str(checked), key="g", time="p", verify=True).collect()
    # Only the columns that are read are checked.
    lazy = sqleval.scan(str(checked), label="g", prediction="g", task="multiclass", verify=True)
    assert lazy.evaluate("accuracy").collect().height == 1


def test_files_without_checksums_pass_if_they_can_be_read(whole: Path) -> None:
    expected = damages.evaluate(whole.parent)
    assert damages.are_equal(damages.evaluate(whole.parent, verify=True), expected)


def test_late_labels_and_hive_folders_are_checked(tmp_path: Path) -> None:
    labels, rows = tmp_path / "labels.parquet", tmp_path / "rows" / "day=1" / "r.parquet"
    rows.parent.mkdir(parents=True)
    pq.write_table(pa.table({"k": [1, 2], "y": [0, 1]}), labels, write_page_checksum=True)
    pq.write_table(pa.table({"k": [1, 2], "p": [0.1, 0.9]}), rows, write_page_checksum=True)
    roles = {**ROLES, "by": "day", "labels": str(labels), "on": "k", "verify": True}
    lazy = sqleval.scan(str(tmp_path / "rows"), **roles).evaluate("roc_auc")
    assert lazy.collect()["value"].to_list() == [1.0]
    flip_page(labels, 1)
    with pytest.raises(SourceError, match=r"labels\.parquet': column 'y'"):
        lazy.collect()


@pytest.mark.parametrize("source", ["frame", "rows.csv"])
def test_other_sources_have_no_checksums(tmp_path: Path, source: str) -> None:
    (tmp_path / "rows.csv").write_text("y,p\n0,0.1\n1,0.9\n", encoding="utf-8")
    table = pa.table({"y": [0, 1], "p": [0.1, 0.9]})
    given = table if source == "frame" else str(tmp_path / source)
    with pytest.raises(RequestError, match="checks local Parquet files"):
        sqleval.scan(given, **ROLES, verify=True)
