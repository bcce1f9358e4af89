"""Each file format, under each compression, gives the rows of one Parquet file."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import sqleval
from tests.support.flights import METRICS, ROLES, ROWS

#: The codecs of a format whose files are compressed as a whole, by the ending.
WHOLE = {"": None, ".gz": "gzip", ".zst": "zstd"}
#: Codecs within a file.
PARQUET = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
ARROW = ("uncompressed", "lz4", "zstd")
TEXTS: dict[str, Any] = {
    "csv": ROWS.write_csv, "tsv": lambda: ROWS.write_csv(separator="\t"),
    "jsonl": ROWS.write_ndjson, "ndjson": ROWS.write_ndjson, "json": ROWS.write_json,
}  # fmt: skip
CASES = [
    *((text, ending, str(codec)) for text in TEXTS for ending, codec in WHOLE.items()),
    *(("parquet", "", codec) for codec in PARQUET),
    *((name, "", codec) for name in ("arrow", "feather", "ipc") for codec in ARROW),
]


def write_file(path: Path, codec: str) -> None:
    """Write the rows as the ending says."""
    _, kind, *_ = path.name.split(".")
    if kind == "parquet":
        pq.write_table(ROWS.to_arrow(), path, compression=codec)
    elif kind in TEXTS:
        with pa.output_stream(path, compression=None if codec == "None" else codec) as out:
            out.write(TEXTS[kind]().encode())
    else:
        pyarrow.feather.write_feather(ROWS.to_arrow(), str(path), compression=codec)


@pytest.mark.parametrize(("name", "ending", "codec"), CASES)
def test_a_format_and_its_compressions(
    name: str, ending: str, codec: str, tmp_path: Path, wanted: pl.DataFrame
) -> None:
    path = tmp_path / f"rows.{name}{ending}"
    write_file(path, codec)
    for source in (path, tmp_path):
        found = sqleval.scan(source, **ROLES).evaluate(METRICS).collect()
        assert_frame_equal(found.drop("method"), wanted.drop("method"))
