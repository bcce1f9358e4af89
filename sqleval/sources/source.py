"""Defines a source: its relation in SQL, its size and its version.

This module reads no rows. `files`, `frames` and `opening` open sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

from sqleval.common.sql_text import write_literal
from sqleval.sources.formats import PARQUET
from sqleval.sources.reading import BY_ENDING, Reading

#: Runs a statement over a source, and returns the types of its columns, and its rows.
Ask = Callable[[str], tuple[Mapping[str, str], Sequence[tuple[Any, ...]]]]
#: The first options of DuckDB's readers. Hive keys stay text; by default DuckDB infers a type from
#: their values.
HIVE = "hive_partitioning = TRUE, hive_types_autocast = FALSE"


#: Many small files are read once: at least so many, with so many bytes on average and in total.
#: Measured on 5,000 Parquet files of 200 rows, reading them once takes a third of the CPU time.
_MANY_FILES, _SMALL_FILE, _MOST_KEPT = 20, 100_000, 500_000_000


class FileStamp(NamedTuple):
    """The state of a file, by which its versions differ."""

    modified: int
    changed: int
    size: int
    inode: int


class Partitions(NamedTuple):
    """Files whose paths hold values of columns, so that a condition may exclude unread files.

    Attributes
    ----------
    keys : tuple of str
        The columns in the paths.
    table : object
        An Arrow table of the keys of each file, and ``_sqleval_place``, the file's number.
    select : callable
        Returns the source of the files with some of these numbers.
    """

    keys: tuple[str, ...]
    table: object
    select: Callable[[Sequence[int]], Source]


class DatabaseFile(NamedTuple):
    """A DuckDB file, which the engine opens while a statement reads it.

    Attributes
    ----------
    path : str
        The file.
    table : str
        The table, with or without its schema; empty for the only one.
    query : str or None
        A SELECT over its tables.
    read : callable or None
        For the catalogue of a DuckLake, which may also be a SQLite file: returns the source, which
        no longer needs the file.
    """

    path: str
    table: str
    query: str | None
    read: Callable[[Any], Source] | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """A table, files, frame or database from which statements read rows.

    Attributes
    ----------
    relation : str
        The text after FROM.
    name : str
        The name that a registered object gets.
    make : callable or None
        Returns the object to register, with the needed columns.
    empty : object or None
        An object with the same columns and no rows, from which the types are read.
    stream : bool
        Whether a statement may read it only once.
    once : bool
        Whether it can be read only once in total.
    peek : callable or None
        Returns the first rows of such a source, and keeps them for the later reading.
    con : object or None
        The user's own connection.
    duckdb_relation : object or None
        A DuckDB relation, which runs on its own connection.
    files : tuple of str
        The files, when they are local.
    list_matches : callable or None
        Returns the files that its patterns match now; None without patterns.
    several : tuple of str
        Paths that may match several Parquet files, whose column types must be compared.
    text_reader : str
        The part of the relation that reads CSV or JSON files, whose types are guessed from their
        first rows; empty for other sources.
    unusable : mapping of str to str
        Columns in lower case that cannot be used, and why: files disagree about them, or their
        dates have two readings.
    singles : frozenset of str
        The columns that are FLOAT in some files and DOUBLE in others, in lower case.
    check : callable or None
        Raises if one of the columns to read is damaged.
    rows : int or None
        The number of rows; None if unknown.
    label : str
        Its name in messages.
    listed : tuple of (str, int, int)
        Files that are not local: URL, bytes, time of modification in nanoseconds.
    look : callable or None
        Reads the types of the columns, and returns the source as statements must read it.
    partitions : Partitions or None
        The values of columns in the paths of its files.
    find_unreadable : callable or None
        Returns a file that cannot be read, with the reason, after an error that does not name it.
    select : callable or None
        Returns a source without some of the rows for which a condition does not hold.
    database : DatabaseFile or None
        The DuckDB file that it reads; the relation is written when the engine describes the source.
    catalogued : bool
        Whether a catalogue lists its files, so that a confined engine may read their folders.
    is_table : bool
        Whether it is a table of a lake, whose files hold deleted rows and older column names.
    has_order : bool
        Whether its rows have a stated order, unlike those of a folder or a table.
    in_order : callable or None
        Returns the source as it must be read for that order; None if it is read so anyway.
    keeps_order : bool
        Whether the engine must read its rows in their order.
    unreadable : mapping of str to str
        Columns of types that no engine reads, and these types. Using such a column is an error.
    settle : callable or None
        Asks the engine for names or types, and returns the source as statements must read it.
    reading : Reading
        How its files are read.
    written : str
        The text after FROM in the engine's own SQL, for display; empty for an object without one.
    """

    relation: str
    name: str = ""
    make: Callable[[Sequence[str]], object] | None = None
    empty: object = None
    stream: bool = False
    once: bool = False
    peek: Callable[[int], object] | None = None
    con: Any = None
    duckdb_relation: Any = None
    files: tuple[str, ...] = ()
    list_matches: Callable[[], Sequence[str]] | None = None
    several: tuple[str, ...] = ()
    text_reader: str = ""
    unusable: Mapping[str, str] = field(default_factory=dict[str, str])
    singles: frozenset[str] = frozenset()
    check: Callable[[Sequence[str]], None] | None = None
    rows: int | None = None
    label: str = ""
    listed: tuple[tuple[str, int, int], ...] = ()
    look: Callable[[], Source] | None = None
    partitions: Partitions | None = None
    find_unreadable: Callable[[], str | None] | None = None
    select: Callable[[str], Source] | None = None
    database: DatabaseFile | None = None
    catalogued: bool = False
    is_table: bool = False
    has_order: bool = False
    in_order: Callable[[], Source] | None = None
    keeps_order: bool = False
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    settle: Callable[[Source, Ask], Source] | None = None
    reading: Reading = BY_ENDING
    written: str = ""

    @property
    def reads_text(self) -> bool:
        """Whether DuckDB reads CSV or JSON files."""
        return "read_csv(" in self.relation or "read_json(" in self.relation

    def write_text_reader(self, file: str) -> str:
        """Return DuckDB's reader of one of its CSV files, with its options."""
        return f"read_csv({write_literal(escape(file))}, {HIVE}{self.reader_options}"

    def write_sniffer(self, file: str) -> str:
        """Return DuckDB's function that guesses the dialect of one of its CSV files."""
        options = re.sub(r"^, filename = '\w+'", "", self.reader_options)
        return f"sniff_csv({write_literal(escape(file))}{options}"

    def add_options(self, options: str) -> Source:
        """Return the source with more options of DuckDB's reader of CSV or JSON files."""
        return self._replace_reader(f"{self.text_reader.removesuffix(')')}, {options})")

    @property
    def reader_options(self) -> str:
        """The options of DuckDB's reader of CSV or JSON files, except the first ones."""
        return self.text_reader.rpartition(HIVE)[2]

    def read_as(self, types: Mapping[str, str] | None) -> Source:
        """Return the source with types for some columns of its CSV files; without any for None."""
        before, option, others = self.reader_options.partition(", types = {")
        if types is None:
            after = others.partition("}")[2] if option else ""
            return self._replace_options(f"{before}{after}")
        written = ", ".join(f"{write_literal(name)}: '{kind}'" for name, kind in types.items())
        if not option:
            return self.add_options(f"types = {{{written}}}")
        for name in types:  # the types that a user gave are replaced
            others = re.sub(rf"(, )?{re.escape(write_literal(name))}: '\w+'", "", others, count=1)
        others = others.removeprefix(", ")
        written += "" if others.startswith("}") else ", "
        return self._replace_options(f"{before}{option}{written}{others}")

    def _replace_options(self, options: str) -> Source:
        return self._replace_reader(
            f"{self.text_reader.removesuffix(self.reader_options)}{options}"
        )

    def _replace_reader(self, reader: str) -> Source:
        relation = self.relation.replace(self.text_reader, reader)
        return replace(self, relation=relation, text_reader=reader)

    def add_columns(self, relation: str, names: Sequence[str], read: Sequence[str]) -> Source:
        """Return the source with a relation that adds columns.

        Parameters
        ----------
        relation : str
            The text after FROM, which reads the relation of this source.
        names : sequence of str
            The columns that it adds.
        read : sequence of str
            The columns from which it computes them.
        """

        def add(source: Source) -> Source:
            make, check, select = source.make, source.check, source.select

            def list_read(columns: Sequence[str]) -> list[str]:
                return list(dict.fromkeys([*(c for c in columns if c not in names), *read]))

            def read_columns(columns: Sequence[str]) -> object:
                assert make is not None
                return make(list_read(columns))

            def check_columns(columns: Sequence[str]) -> None:
                assert check is not None
                check(list_read(columns))

            def choose(condition: str) -> Source:
                assert select is not None
                return add(select(condition))

            return replace(
                source,
                relation=relation,
                make=make and read_columns,
                check=check and check_columns,
                select=select and choose,
            )

        return add(self)

    def objects(self, columns: Sequence[str]) -> dict[str, object]:
        """Return the objects to register by name before ``columns`` are read.

        Raises
        ------
        SourceError
            If the source can be read only once and was read, or if its check fails.
        """
        if self.check is not None:
            self.check(columns)
        return {} if self.make is None else {self.name: self.make(columns)}

    @property
    def bytes(self) -> int:
        """The size of the local files; 0 if one is gone (the engine raises when it reads it)."""
        try:
            return sum(Path(file).stat().st_size for file in self.files)
        except OSError:
            return 0

    @property
    def has_small_files(self) -> bool:
        """Whether opening its files takes longer than keeping their rows for a second reading."""
        is_many = len(self.files) >= _MANY_FILES
        return is_many and self.bytes <= min(_SMALL_FILE * len(self.files), _MOST_KEPT)

    @property
    def approximate_rows(self) -> int | None:
        """An estimate of the rows; None for Parquet, whose metadata holds the number."""
        if self.rows is not None:
            return self.rows
        # The metadata does not have the number of rows of a query over files.
        is_plain = self.relation.startswith("read_parquet(")
        if is_plain and self.files and all(f.lower().endswith(PARQUET) for f in self.files):
            return None
        return self.bytes // 20

    @property
    def is_large(self) -> bool:
        """Whether it is worth reading a sample of the scores to choose a plan."""
        return self.bytes > 2_000_000 if self.rows is None else self.rows > 200_000

    def has_at_most(self, rows: int) -> bool:
        """Whether there are at most ``rows`` rows, by their number or the size of the files."""
        if self.rows is not None:
            return self.rows <= rows
        return bool(self.files) and self.bytes <= 10 * rows

    def version(self) -> tuple[FileStamp, ...] | None:
        """Return the stamps of all local files; None if the source is not only local files.

        Raises
        ------
        OSError
            If a file is gone.
        """
        if not self.files or self.make is not None or self.look is not None:
            return None
        stats = [Path(file).stat() for file in self.files]
        return tuple(FileStamp(s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino) for s in stats)

    def listing(self) -> list[tuple[str, int, int]]:
        """Return the files: path or URL, bytes, time of modification in nanoseconds."""
        if self.listed:
            return list(self.listed)
        stats = [(file, Path(file).stat()) for file in self.files]
        return [(file, stat.st_size, stat.st_mtime_ns) for file, stat in stats]
