"""Writes commits to a Delta table that `deltalake` can read but not write."""

import base64
import json
import struct
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

#: The alphabets of Z85 and of Python's base85.
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def write_deletion_vector(rows: list[int]) -> dict[str, Any]:
    """Return the deletion vector of some rows, in the form that Delta's log contains."""
    roaring = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    roaring += struct.pack(f"<{len(rows)}H", *rows)
    content = struct.pack("<IQI", 1681511377, 1, 0) + roaring
    text = base64.b85encode(content).decode().translate(str.maketrans(B85, Z85))
    size = {"sizeInBytes": len(content), "cardinality": len(rows)}
    return {"storageType": "i", "pathOrInlineDv": text, **size}


def delete_rows(table: Path, rows: list[int], part: str = "") -> dict[str, Any]:
    """Delete rows of the one file of version 0 whose entry holds a text; return that entry."""
    log = table / "_delta_log"
    actions = map(json.loads, (log / f"{0:020}.json").read_text().splitlines())
    (add,) = (a["add"] for a in actions if "add" in a and part in str(a["add"]))
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    add = {**add, "deletionVector": write_deletion_vector(rows)}
    lines = [{"remove": remove}, {"add": add}]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, lines)))
    return add


def rename_columns(
    table: Path, names: dict[str, str], mapping: str = "name", reader: int = 2
) -> None:
    """Commit new names of columns and a protocol to a table whose files keep the old names.

    Spark does this for ALTER TABLE ... RENAME COLUMN.
    """
    log = table / "_delta_log"
    commits = sorted(log.glob("*.json"))
    actions = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
    (metadata,) = (action["metaData"] for action in actions if "metaData" in action)
    features = next(a["protocol"].get("readerFeatures", []) for a in actions if "protocol" in a)
    metadata["configuration"]["delta.columnMapping.mode"] = mapping
    schema = json.loads(metadata["schemaString"])
    inner = [f for field in schema["fields"] if isinstance(field["type"], dict)
             for f in field["type"]["fields"]]  # fmt: skip
    keys = metadata["partitionColumns"]
    for i, field in enumerate([*schema["fields"], *inner]):
        first = field["name"]
        # Found by number, columns of files may have any name, as in files written by Iceberg.
        physical = first if mapping != "id" or first in keys else f"col-{i + 1}"
        field["metadata"] = {
            "delta.columnMapping.id": i + 1, "delta.columnMapping.physicalName": physical,
        }  # fmt: skip
        field["name"] = names.get(first, first)
    metadata["schemaString"] = json.dumps(schema)
    metadata["partitionColumns"] = [names.get(key, key) for key in keys]
    protocol: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": 5}
    if features:
        listed = [*features, "columnMapping"]
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": listed,
                    "writerFeatures": listed}  # fmt: skip
    lines = [{"protocol": protocol}, {"metaData": metadata}]
    (log / f"{len(commits):020}.json").write_text("\n".join(map(json.dumps, lines)))


def write_numbered(table: Path, frame: pl.DataFrame, key: str) -> None:
    """Write a partitioned table of files whose columns carry their numbers, from 1."""
    rows = frame.drop(key).to_arrow()
    schema = pa.schema(
        field.with_metadata({"PARQUET:field_id": str(i + 1)}) for i, field in enumerate(rows.schema)
    )
    for value in frame[key].unique():
        folder = table / f"{key}={value}"
        folder.mkdir(parents=True)
        part = frame.filter(pl.col(key) == value).drop(key).to_arrow()
        pq.write_table(part.cast(schema), folder / "part.parquet")
    keys = pa.schema([frame.to_arrow().schema.field(key)])
    deltalake.convert_to_deltalake(
        table, partition_by=deltalake.Schema.from_arrow(keys), partition_strategy="hive",
        configuration={"delta.enableDeletionVectors": "true"},
    )  # fmt: skip
