"""Each file format, under each compression, gives the rows of one Parquet file."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import sqleval
from tests.support.comparison import assert_frame_equal
from tests.support.flights import ROLES, ROWS

SOME = ROWS.gather_every(10)
#: The codecs of files that are compressed as a whole, by their ending.
WHOLE = {"": None, ".gz": "gzip", ".zst": "zstd"}
#: Codecs within a file.
PARQUET = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
ARROW = ("uncompressed", "lz4", "zstd")
TEXTS: dict[str, Any] = {
    "csv": SOME.write_csv, "tsv": lambda: SOME.write_csv(separator="\t"),
    "jsonl": SOME.write_ndjson, "ndjson": SOME.write_ndjson, "json": SOME.write_json,
}  # fmt: skip
#: Other endings of a format are tried with one of its compressions: the reader is the same.
CASES = [
    *((text, ending, str(codec)) for text in ("csv", "jsonl") for ending, codec in WHOLE.items()),
    *((text, ending, str(WHOLE[ending])) for text, endings in {
        "tsv": ("", ".gz"), "ndjson": (".zst",), "json": ("", ".gz"),
    }.items() for ending in endings),
    *(("parquet", "", codec) for codec in PARQUET),
    *(("arrow", "", codec) for codec in ARROW), ("feather", "", "zstd"), ("ipc", "", "lz4"),
]  # fmt: skip


#: The endings of the files decide how a folder is read, so one codec within them is enough.
FOLDERS_OF = ("zstd",)
#: One metric of the values is enough: metrics are computed alike for all formats.
FEW = ["log_loss"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Return the metrics of these rows in one Parquet file."""
    path = tmp_path_factory.mktemp("some") / "rows.parquet"
    SOME.write_parquet(path)
    return sqleval.scan(path, **ROLES).evaluate(FEW).collect()


def write_file(path: Path, codec: str) -> None:
    """Write the rows in the format of the ending."""
    _, kind, *_ = path.name.split(".")
    if kind == "parquet":
        pq.write_table(SOME.to_arrow(), path, compression=codec)
    elif kind in TEXTS:
        with pa.output_stream(path, compression=None if codec == "None" else codec) as out:
            out.write(TEXTS[kind]().encode())
    else:
        pyarrow.feather.write_feather(SOME.to_arrow(), str(path), compression=codec)


@pytest.mark.parametrize(("name", "ending", "codec"), CASES)
def test_a_format_and_its_compressions(
    name: str, ending: str, codec: str, tmp_path: Path, expected: pl.DataFrame
) -> None:
    path = tmp_path / f"rows.{name}{ending}"
    write_file(path, codec)
    for source in (path, tmp_path) if name in TEXTS or codec in FOLDERS_OF else (path,):
        found = sqleval.scan(source, **ROLES).evaluate(FEW).collect()
        assert_frame_equal(found.drop("method"), expected.drop("method"))
