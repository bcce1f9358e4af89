"""What can be evaluated: paths, frames, Arrow, tables. Nothing is copied or read here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqleval.errors import SourceError


@dataclass
class Source:
    """Something with rows.

    Attributes
    ----------
    relation : str
        What stands in FROM.
    name : str
        The name that a registered object gets.
    make : callable or None
        Makes the object to register from the columns that are needed.
    empty : object or None
        An object with the same columns and no rows, to learn the types from.
    stream : bool
        Whether a statement may read it only once.
    once : bool
        Whether it can be read only once at all.
    con : object or None
        The user's own connection.
    own : object or None
        A DuckDB relation, which runs on the connection that it came from.
    files : tuple of str
        The files, when they are local.
    parquet : tuple of str
        Paths and patterns of several Parquet files, until their types have been compared.
    differs : dict of str to str
        The columns that such files disagree about, and how.
    """

    relation: str
    name: str = ""
    make: Callable[[Sequence[str]], object] | None = None
    empty: object = None
    stream: bool = False
    once: bool = False
    con: Any = None
    own: Any = None
    files: tuple[str, ...] = ()
    parquet: tuple[str, ...] = ()
    differs: dict[str, str] = field(default_factory=dict[str, str])
    rows: int | None = None
    label: str = ""
    spent: bool = field(default=False, repr=False)

    def objects(self, columns: Sequence[str]) -> dict[str, object]:
        """Return what must be registered to read ``columns``.

        Raises
        ------
        SourceError
            If the source can be read once and has been read.
        """
        if self.make is None:
            return {}
        if self.once:
            if self.spent:
                raise SourceError(
                    "this RecordBatchReader has been read, and it can be read only once; "
                    "pass a Table or a Dataset to evaluate it again"
                )
            self.spent = True
        return {self.name: self.make(columns)}

    @property
    def about(self) -> int | None:
        """About how many rows there are; None where the engine knows without reading them."""
        if self.rows is not None:
            return self.rows
        if self.files and all(file.endswith(".parquet") for file in self.files):
            return None
        return sum(Path(file).stat().st_size for file in self.files) // 20

    @property
    def is_large(self) -> bool:
        """Whether it is worth a look at the scores before a plan is chosen."""
        if self.rows is not None:
            return self.rows > 200_000
        return sum(Path(file).stat().st_size for file in self.files) > 2_000_000
