"""Writes how the engine reads the rows of a DuckLake's table from its files."""

# Frozen: no new features; `ducklake_catalogue` says which library makes this unnecessary.

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from glob import escape
from importlib import import_module
from typing import Any, NamedTuple

from sqleval.common.sql_text import quote, write_literal
from sqleval.sources.lake.data_files import DataFile
from sqleval.sources.lake.ducklake_catalogue import LakeFile, LakeTable
from sqleval.sources.lake.readers import Part, write_part
from sqleval.sources.source import Source

#: Name and number of the column that holds the snapshot which added or deleted a row.
_SINCE, _SINCE_NUMBER = '"_ducklake_internal_snapshot_id"', 2147483539
#: Changes of a snapshot that keep all earlier rows; the changes of an expired snapshot are unknown.
_KEEPING, _UNKNOWN = frozenset({"inserted_into_table", "merge_adjacent"}), frozenset({"expired"})
#: The name, in a list of data files, of the rows that the catalogue itself stores.
_INLINED = "rows of the catalogue"


class LakeFiles(NamedTuple):
    """The data files of a DuckLake's table, with the interface of `data_files.TableFiles`.

    ``changes`` has the changes of each snapshot, as `ducklake.read_changes` returns them.
    """

    table: LakeTable
    changes: Mapping[int, frozenset[str]] = {}

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files in order, and a placeholder for rows stored in the catalogue."""
        data_files = [
            DataFile(file.path, file.size, _hash_deletes(file, self.table.snapshot))
            for file in self.table.files
        ]
        if self.table.inlined.num_rows:
            data_files.append(
                DataFile(self._inlined, self.table.inlined.num_rows, _hash_rows(self.table.inlined))
            )
        return tuple(sorted(data_files))

    @property
    def places(self) -> list[str]:
        """The files that the engine reads, including the files of deleted rows."""
        return _list_places(self.table.files)

    def list_merged(self, since: int) -> list[LakeFile] | None:
        """Return the files with the rows of an earlier snapshot, after some files were merged.

        None if later snapshots did more than add rows and merge files, or if a merged file also
        has rows that were added later.
        """
        later = range(since + 1, self.table.snapshot + 1)
        if any(self.changes.get(at, _UNKNOWN) - _KEEPING for at in later):
            return None
        old = [file for file in self.table.files if file.begin <= since]
        return None if any(file.last > since for file in old) else old

    @property
    def _inlined(self) -> str:
        return f"{self.table.folder.rstrip('/')}/{_INLINED}"

    def open(self, paths: Iterable[str], name: str, name_as: str = "") -> Source:
        """Return the source of some files, with each row's file in a column ``name_as``."""
        chosen = set(paths)
        files = [file for file in self.table.files if file.path in chosen]
        return _open(self.table, files, name, name_as, self._inlined in chosen and self._inlined)


def open_lake(table: LakeTable, name: str) -> Source:
    """Return the source of all rows of a table, which is registered under a name."""
    return _open(table, table.files, name, "", _INLINED)


def _open(
    table: LakeTable, files: Sequence[LakeFile], name: str, name_as: str, inlined: str | bool
) -> Source:
    types = {column.name: column.type for column in table.columns.values()}
    defaults = {column.name: column.default for column in table.columns.values()}
    texts = [write_part(part, types, defaults, name_as) for part in _make_parts(table, files)]
    rows = table.inlined if inlined else table.inlined.slice(0, 0)
    if rows.num_rows or not texts:
        columns = [f"CAST({quote(c)} AS {kind}) AS {quote(c)}" for c, kind in types.items()]
        columns += [f"{write_literal(str(inlined))} AS {quote(name_as)}"] if name_as else []
        texts.append(f"SELECT {', '.join(columns)} FROM {quote(name)}")
    relation = f"({' UNION ALL '.join(texts)})"
    places = tuple(_list_places(files))
    source = Source(relation, files=places, label=table.label, catalogued=True, is_table=True)
    if not rows.num_rows and files:
        return source

    def make(columns: Sequence[str]) -> object:
        return rows

    return replace(source, name=name, make=make, empty=rows.slice(0, 0))


def _list_places(files: Iterable[LakeFile]) -> list[str]:
    return sorted(path for file in files for path in (file.path, file.deletes) if path)


def _make_parts(table: LakeTable, files: Sequence[LakeFile]) -> Iterator[Part]:
    """Group files by the names of their columns, and by whether they have deleted rows."""
    groups: dict[tuple[object, bool], list[LakeFile]] = {}
    for file in files:
        has_deleted = bool(file.deletes or file.deleted or file.is_merged)
        groups.setdefault((id(file.names), has_deleted), []).append(file)
    for (_, has_deleted), group in groups.items():
        names = group[0].names
        keys: Mapping[int, str | int] = dict(zip(table.columns, table.columns, strict=True))
        keys = keys if names is None else names
        yield Part(
            [file.path for file in group],
            {c.name: c.default for number, c in table.columns.items() if number not in keys},
            {c.name: keys[number] for number, c in table.columns.items() if number in keys},
            _write_deleted(group, table.snapshot) if has_deleted else "",
        )


def _write_deleted(files: Sequence[LakeFile], snapshot: int) -> str:
    """Write the SELECT of the rows, by file and number, that are not part of a snapshot."""
    texts: list[str] = []
    for is_later in (False, True):
        pairs = {f.deletes: f.path for f in files if f.deletes and f.has_later_deletes is is_later}
        if pairs:
            where = f" WHERE {_SINCE} <= {snapshot}" if is_later else ""
            listed = ", ".join(
                f"({write_literal(d)}, {write_literal(f)})" for d, f in pairs.items()
            )
            texts.append(
                f"SELECT m.file, n.pos FROM (SELECT filename, pos FROM {_read(pairs)}{where}) AS n "
                f"JOIN (VALUES {listed}) AS m(deletes, file) ON m.deletes = n.filename"
            )
    if merged := [file.path for file in files if file.is_merged]:
        # Read it by number, because a column of the table may have the internal column's name.
        field = "{'name': 'since', 'type': 'BIGINT', 'default_value': NULL}"
        rows = _read(merged, f", schema = MAP {{{_SINCE_NUMBER}: {field}}}")
        texts.append(f"SELECT filename, file_row_number FROM {rows} WHERE since > {snapshot}")
    if places := [f"({write_literal(file.path)}, {at})" for file in files for at in file.deleted]:
        texts.append(f"VALUES {', '.join(places)}")
    return " UNION ALL ".join(texts)


def _read(files: Iterable[str], options: str = "") -> str:
    return f"read_parquet([{', '.join(write_literal(escape(file)) for file in files)}]{options})"


def _hash_rows(rows: Any) -> str:
    pa: Any = import_module("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()[:16]


def _hash_deletes(file: LakeFile, snapshot: int) -> str:
    """Return a hash of the deleted rows of a file; empty without any."""
    if not (file.deletes or file.deleted or file.is_merged):
        return ""
    later = snapshot if file.has_later_deletes or file.is_merged else ""
    text = f"{file.deletes}|{later}|{file.deleted}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
