"""Reads the commits of a Delta table: the data files that each adds and removes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from sqleval.sources.stores import Storage, is_remote, open_store


class Commit(NamedTuple):
    """The data files of a commit, by path or URL.

    Attributes
    ----------
    added : mapping of str to int or None
        The number of rows of each file that it adds; None if the log does not have it.
    removed : frozenset of str
        The files that it removes.
    is_rewrite : bool
        Whether the added files hold the rows of the removed ones and nothing else changed, as
        after OPTIMIZE in Delta or a `replace` in Iceberg.
    """

    added: dict[str, int | None]
    removed: frozenset[str]
    is_rewrite: bool


def read_commits(path: str, version: int, storage: Storage) -> Iterator[Commit]:
    """Yield the commits of a table up to a version, the last one first; old ones may be gone."""
    filesystem: Any = None
    place = path
    if is_remote(path):
        store, place = open_store(path, storage)
        filesystem = store.filesystem
    for number in range(version, -1, -1):
        file = f"{place.rstrip('/')}/_delta_log/{number:020}.json"
        try:
            text = _read(file, filesystem)
        except OSError:
            return  # Older commits were cleaned up into a checkpoint.
        yield _parse(text, path)


def _read(file: str, filesystem: Any) -> str:
    if filesystem is None:
        return Path(file).read_text(encoding="utf-8")
    with filesystem.open_input_file(file) as stream:
        return bytes(stream.read()).decode()


def _parse(text: str, root: str) -> Commit:
    actions = [cast("dict[str, Any]", json.loads(line)) for line in text.splitlines() if line]
    adds = [action["add"] for action in actions if "add" in action]
    removes = [action["remove"] for action in actions if "remove" in action]
    other = any("metaData" in action or "protocol" in action for action in actions)

    def locate(action: dict[str, Any]) -> str:
        return f"{root.rstrip('/')}/{unquote(action['path'])}"

    def count(add: dict[str, Any]) -> int | None:
        return json.loads(add.get("stats") or "{}").get("numRecords")

    plain = all(
        action.get("dataChange") is False and not action.get("deletionVector")
        for action in (*adds, *removes)
    )
    return Commit(
        {locate(add): count(add) for add in adds},
        frozenset(map(locate, removes)),
        plain and not other and bool(adds) and bool(removes),
    )
