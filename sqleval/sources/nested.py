"""Reads JSON documents whose rows lie inside, such as ``{"samples": [{...}, {...}]}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqleval.common.names import find_nearest
from sqleval.common.sql_text import quote, write_literal
from sqleval.common.structs import find_lists
from sqleval.errors import RequestError, SourceError
from sqleval.sources.lines import MISFIT
from sqleval.sources.source import Ask, Source

#: The least size of a document that DuckDB is told to accept, which is its default.
_LEAST = 16_777_216
#: A compressed document is at most about this many times larger than its file.
_UNPACKED = 20


def open_nested(source: Source, rows: str, kept: Sequence[str]) -> Source:
    """Return the source of the rows in a field of JSON documents.

    Parameters
    ----------
    source : Source
        The local files, as DuckDB's reader of JSON reads them.
    rows : str
        The field that holds the rows; its levels are divided by dots.
    kept : sequence of str
        The columns that are not of the documents: keys in the paths, and the file of a row.
    """
    sizes = (
        _UNPACKED ** file.endswith((".gz", ".zst")) * size for file, size, _ in source.listing()
    )
    options = (
        f"maximum_object_size = {max(_LEAST, *sizes)}, sample_size = -1, "
        "maximum_sample_files = 1000000, map_inference_threshold = -1"
    )
    reader = f"{source.relation.removesuffix(')')}, {options})"
    # The relation is not yet complete, but tells this source from others.
    relation = f"(SELECT {quote(rows)} FROM {reader})"
    settle = _Rows(reader, rows, tuple(kept))
    return replace(source, relation=relation, text_reader="", settle=settle)


@dataclass(frozen=True)
class _Rows:
    """Finds the columns of the rows in a field; equal for equal text."""

    reader: str
    rows: str
    kept: tuple[str, ...]

    def __call__(self, source: Source, ask: Ask) -> Source:
        kind = self._find_type(source, ask)
        if kind.endswith("[][]") or kind == "JSON[]":
            relation = self._write_lists(source, ask)
        elif kind.startswith("STRUCT(") and kind.endswith(")[]"):
            kept = "".join(f", {quote(name)}" for name in self.kept)
            field = ".".join(["d", *map(quote, self.rows.split("."))])
            rows = f"(SELECT {field} AS r{kept} FROM {self.reader} AS d)"
            relation = f"(SELECT UNNEST(r, max_depth := 2){kept} FROM {rows})"
        else:
            inner = find_lists({self.rows: kind})
            near = f"; did you mean {' or '.join(map(repr, inner))}?" if inner else ""
            raise RequestError(
                f"rows={self.rows!r} of {source.label} holds {kind[:60]}; it must hold a list of "
                f'objects, or a list of lists beside "columns"{near}'
            )
        return replace(source, relation=relation, settle=None)

    def _find_type(self, source: Source, ask: Ask) -> str:
        """Return the type of the field; raise `RequestError` if there is none."""
        columns: Mapping[str, str] = {}
        fields, before = self.rows.split("."), "d"
        for depth, field in enumerate(fields):
            if depth:
                select = f"UNNEST(d) FROM (SELECT {before} AS d FROM {self.reader} AS d)"
            else:
                select = f"* EXCLUDE ({', '.join(map(quote, self.kept))}) FROM {self.reader}"
                select = select if self.kept else f"* FROM {self.reader}"
            columns, _ = ask(f"SELECT {select} LIMIT 0")
            before = f"{before}.{quote(field)}"
            kind = next((kind for name, kind in columns.items() if name == field), "")
            is_last = depth == len(fields) - 1
            if not kind or not (is_last or (kind.startswith("STRUCT(") and kind.endswith(")"))):
                raise self._refuse(source, ".".join(fields[: depth + 1]), kind, columns)
        return columns[fields[-1]]

    def _refuse(
        self, source: Source, field: str, kind: str, columns: Mapping[str, str]
    ) -> RequestError:
        lists = [name for name, each in columns.items() if each.endswith("[]")]
        if kind:
            reason = f"{field!r} holds {kind[:60]}, which has no fields"
        else:
            before, dot, _ = field.rpartition(".")
            lists = [f"{before}{dot}{name}" for name in lists]
            listed = f"; lists are {', '.join(map(repr, lists))}" if lists else ""
            near = find_nearest(field, [f"{before}{dot}{name}" for name in columns])
            reason = f"there is no field {field!r}{near}{listed}"
        return RequestError(f"rows={self.rows!r}: {reason} in {source.label}")

    def _write_lists(self, source: Source, ask: Ask) -> str:
        """Return the relation of rows that are lists, whose names are in ``columns`` beside them.

        Numbers and texts of one row share no type, so each column gets its own from all rows.
        """
        top, *path = self.rows.split(".")
        beside = [*path[:-1], "columns"] if path else []
        types = {top: "JSON"} | ({} if path else {"columns": "JSON"})
        given = ", ".join(f"{write_literal(name)}: '{kind}'" for name, kind in types.items())
        reader = f"{self.reader.removesuffix(')')}, columns = {{{given}}})"
        rows = _write_extract(quote(top), path)
        names = _write_extract(quote(top), beside) if path else '"columns"'
        _, found = ask(f"SELECT DISTINCT CAST({names} AS VARCHAR[]) FROM {reader} LIMIT 2")
        if len(found) != 1 or not found[0][0]:
            why = "differs between documents" if len(found) > 1 else "is missing"
            field = ".".join([top, *beside]) if path else "columns"
            raise SourceError(
                f"rows={self.rows!r} of {source.label} holds lists, but the field {field!r}, which "
                f"names their values, {why}"
            )
        columns: list[str] = found[0][0]
        kept = "".join(f", {quote(name)}" for name in self.kept)
        values = f"(SELECT UNNEST(CAST({rows} AS JSON[])) AS r{kept} FROM {reader})"
        lists = f"(SELECT CAST(r AS JSON[]) AS r{kept} FROM {values})"
        _, structures = ask(
            "SELECT i, JSON_GROUP_STRUCTURE(v) FROM (SELECT UNNEST(r) AS v, "
            f"GENERATE_SUBSCRIPTS(r, 1) AS i FROM {lists}) GROUP BY i"
        )
        by_place = dict(structures)
        written = [_write_cell(name, i, by_place.get(i)) for i, name in enumerate(columns, 1)]
        message = write_literal(f"{MISFIT}a row must have {len(columns)} values, and one is: ")
        check = (
            f"CASE WHEN LEN(r) = {len(columns)} THEN TRUE "
            f"ELSE ERROR({message} || SUBSTRING(CAST(r AS VARCHAR), 1, 200)) END"
        )
        selected = ", ".join([*written, *map(quote, self.kept)])
        return f"(SELECT {selected} FROM {lists} WHERE {check})"


def _write_extract(column: str, path: Sequence[str]) -> str:
    """Return the SQL of a field of a JSON column."""
    steps = "".join(f".{quote(each)}" for each in path)
    return f"JSON_EXTRACT({column}, {write_literal('$' + steps)})" if path else column


def _write_cell(name: str, place: int, structure: str | None) -> str:
    """Return the SQL of a value in a list of JSON values, with the type of its column."""
    if structure in (None, '"VARCHAR"', '"NULL"', '"JSON"'):
        return f"r[{place}] ->> '$' AS {quote(name)}"
    kind = str(structure).replace('"UBIGINT"', '"BIGINT"')
    return f"JSON_TRANSFORM_STRICT(r[{place}], {write_literal(kind)}) AS {quote(name)}"
