"""Text files of a web server: formats by prefix, and options of CSV."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqleval.errors import DataError, RequestError, SourceError
from tests.core.sources.test_csv_options import OPTIONS, ROWS, TEXT
from tests.core.sources.test_prefixes import QRELS, RUN, read
from tests.support.emulators import WebServer


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    server = WebServer(tmp_path)
    yield server.url
    server.close()


def test_lines_are_split_as_in_local_files(tmp_path: Path, web: str) -> None:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "a.qrels.gz").write_bytes(gzip.compress(QRELS.encode()))
    (tmp_path / "table.txt").write_text('\n y   p  name\n1  0.5 "a b"\n\n0 1 c\n')
    (tmp_path / "a.arff").write_text(
        "@relation r\n@attribute p real\n@attribute y {'no, no',yes}\n@data\n"
        "% c\n0.5,'no, no'\n?,yes\n"
    )
    for name in ("trec+{}/run.txt", "{}/a.qrels.gz", "whitespace+{}/table.txt", "{}/a.arff"):
        found = read(name.format(web))
        assert found.equals(read(name.format(tmp_path))), name
        assert found.height > 1
    (tmp_path / "bad.run").write_text("1 Q0 d1 1 x t\n")
    with pytest.raises(DataError, match="column score must be DOUBLE, but a value is x"):
        read(f"{web}/bad.run")


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252"])
def test_options_of_csv(tmp_path: Path, web: str, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode(encoding))
    csv = {**OPTIONS, "encoding": encoding, "separator": ";"}
    assert read(f"csv+{web}/a.txt", csv=csv).rows() == ROWS
    with pytest.raises(RequestError, match="csv= 'comment' is for local files"):
        read(f"csv+{web}/a.txt", csv={"comment": "#"})


def test_rows_inside_of_remote_documents_are_refused(tmp_path: Path, web: str) -> None:
    (tmp_path / "a.json").write_text('{"samples": [{"y": 1}]}')
    with pytest.raises(SourceError, match=r"rows='samples' \(--rows\) is for local files"):
        read(f"{web}/a.json", rows="samples")
