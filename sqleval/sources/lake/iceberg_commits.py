"""Reads the snapshots of an Iceberg table: the data files that each adds and removes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from sqleval.sources.lake.delta_commits import Commit


def read_iceberg_commits(table: Any) -> Iterator[Commit]:
    """Yield the current snapshot and those before it, the newest first; expired ones are gone."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        try:
            commit = _read(snapshot, table.io)
        except OSError:
            return  # The manifests of a snapshot that is being expired are gone.
        yield commit
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def _read(snapshot: Any, io: Any) -> Commit:
    manifests: Any = import_module("pyiceberg.manifest")
    added: dict[str, int | None] = {}
    removed: set[str] = set()
    kept_rows, has_deletes = 0, False
    for manifest in snapshot.manifests(io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
            file, status = entry.data_file, entry.status
            if status == manifests.ManifestEntryStatus.EXISTING:
                continue
            if file.content != manifests.DataFileContent.DATA:
                has_deletes = True
            elif status == manifests.ManifestEntryStatus.ADDED:
                added[file.file_path] = file.record_count
                kept_rows += file.record_count
            else:
                removed.add(file.file_path)
                kept_rows -= file.record_count
    operation = snapshot.summary.operation if snapshot.summary else None
    # A `replace` keeps the rows. If it also rewrites deletes, which then belong to other files, or
    # applies them, which leaves fewer rows, it does not count as a rewrite.
    is_rewrite = (
        operation is not None
        and operation.value == "replace"
        and not (has_deletes or kept_rows)
        and bool(added)
        and bool(removed)
    )
    return Commit(added, frozenset(removed), is_rewrite)
