"""Writes a file whole or not at all: another process may be reading it."""

from collections.abc import Generator
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path
from shutil import copymode
from uuid import uuid4

from sqleval.errors import SourceError


@contextmanager
def replace_file(path: str, *, folders: bool = True) -> Generator[Path]:
    """Yield a temporary file to write; at the end it replaces the file at ``path``.

    After an error the old file stays as it was. A symbolic link is followed; the permissions of
    an existing file are kept. A device, such as ``/dev/stdout``, is written as it is.

    Parameters
    ----------
    path : str
        The file.
    folders : bool
        Whether to make missing folders.

    Raises
    ------
    SourceError
        If the file cannot be written.
    """
    try:
        if path.startswith(("/dev/", "/proc/")):
            yield Path(path)
            return
        file = Path(realpath(path))
        if folders:
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
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"cannot write {path!r}: {reason}") from error


def write_text(path: str, text: str, *, folders: bool = True) -> None:
    """Write a text file (UTF-8), whole or not at all; see `replace_file`.

    Raises
    ------
    SourceError
        If the file cannot be written.
    """
    with replace_file(path, folders=folders) as draft:
        draft.write_text(text, encoding="utf-8")
