"""Holds the files that the engine may touch: all, or only those that a command names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from glob import escape


@dataclass
class Confinement:
    """The paths that the engine may read and write.

    Attributes
    ----------
    paths : list of str or None
        Files, and folders that end in a slash. None allows every path.
    on_change : list of callable
        Called when paths are added, or a confinement begins or ends.
    """

    paths: list[str] | None = None
    on_change: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    def set(self, paths: list[str] | None) -> None:
        """Start a confinement to paths; None ends it."""
        self.paths = paths
        for each in self.on_change:
            each()

    def allow(self, paths: Iterable[str]) -> None:
        """Add paths to the confinement, if there is one.

        Each path is also added as an escaped pattern: this package passes files to DuckDB as
        such patterns, and DuckDB compares the pattern.
        """
        paths = [each for path in paths for each in dict.fromkeys((path, escape(path)))]
        if self.paths is not None and (new := [p for p in paths if p not in self.paths]):
            self.set([*self.paths, *new])

    def allow_folders(self, files: Iterable[str]) -> None:
        """Add the folders of files, and the folders to which links lead."""
        folders = sorted({os.path.dirname(file) for file in files})  # noqa: PTH120
        self.allow(
            f"{find(folder)}/" for find in (os.path.abspath, os.path.realpath) for folder in folders
        )


#: The confinement of this process.
confinement = Confinement()
