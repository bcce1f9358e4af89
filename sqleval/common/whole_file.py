"""Writes a file whole or not at all, as others may be reading it."""

from collections.abc import Generator
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path
from shutil import copymode
from uuid import uuid4

from sqleval.errors import SourceError


@contextmanager
def draft_of(path: str) -> Generator[Path]:
    """Yield the file to write, which then takes the place of ``path``, or of what that links to.

    Raises
    ------
    SourceError
        If it cannot be written.
    """
    try:
        file = Path(realpath(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{uuid4().hex}.part")
        try:
            yield draft
            if file.exists():
                copymode(file, draft)
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise SourceError(f"cannot write {path!r}: {told}") from error
