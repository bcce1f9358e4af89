"""Commits to a Delta table that `deltalake` reads and does not write."""

import base64
import json
import struct
from pathlib import Path
from typing import Any

#: The alphabet of Z85, and that of Python's base85.
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def write_deletion_vector(rows: list[int]) -> dict[str, Any]:
    """Return the deletion vector of some rows, as the protocol of Delta has it within its log."""
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
