"""Writes files and folders atomically, because another process may be reading them."""

import errno
import os
import re
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from os.path import realpath
from pathlib import Path
from shutil import copymode, rmtree
from uuid import uuid4

from sqleval.errors import EngineError, SourceError, SqlevalError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

#: Errors of a full or broken disk, which are not the path's fault.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
#: The name of a temporary file that is locked while it is written.
_LOCKED = re.compile(r"\.[0-9a-f]{32}\.locked\.part")


@contextmanager
def replace_file(path: str, *, folders: bool = True, lock: bool = False) -> Generator[Path]:
    """Yield a temporary file to write; at the end it replaces the file at ``path``.

    After an error the old file stays as it was. A symbolic link is followed; the permissions of
    an existing file are kept. A device, such as ``/dev/stdout``, is written directly.

    Parameters
    ----------
    path : str
        The file.
    folders : bool
        Whether to make missing folders.
    lock : bool
        Whether the temporary file is locked, for `remove_drafts`.

    Raises
    ------
    SourceError
        If the file cannot be written.
    EngineError
        If the disk is full.
    """
    with _convert_errors(path):
        if path.startswith(("/dev/", "/proc/")):
            yield Path(path)
            return
        file = Path(realpath(path))
        if folders:
            file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{uuid4().hex}{'.locked' * lock}.part")
        try:
            with _lock_draft(draft) if lock else nullcontext():
                yield draft
                if file.exists():
                    copymode(file, draft)
                draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def create_file(path: str) -> Generator[Path]:
    """Yield a temporary file to write; at the end it becomes the file at ``path``.

    If another process has created the file by then, its file is kept. On a file system without
    hard links no file is created, so ``path`` may be missing afterwards.
    """
    file = Path(realpath(path))
    draft = file.with_name(f".{uuid4().hex}.part")
    try:
        yield draft
        # Unlike a rename, a hard link never replaces a file.
        with suppress(OSError):
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _lock_draft(draft: Path) -> Generator[None]:
    """Make a temporary file and lock it, so that other processes see that it is being written."""
    if fcntl is None:
        yield
        return
    with draft.open("xb") as file:
        # On a file system without locks, no process can lock the file to remove it either.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove_drafts(folder: Path) -> None:
    """Remove the locked temporary files that processes left in a folder when they were killed."""
    if fcntl is None:
        return
    for draft in [path for path in folder.glob(".*.part") if _LOCKED.fullmatch(path.name)]:
        # An error means that a process is writing the file, or has just finished.
        with suppress(OSError), draft.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


@contextmanager
def make_folder(path: str) -> Generator[Path]:
    """Yield a temporary folder to fill; at the end it becomes the folder at ``path``.

    Raises
    ------
    SourceError
        If the folder exists and is not empty, or cannot be written.
    EngineError
        If the disk is full.
    """
    with _convert_errors(path):
        folder = Path(realpath(path))
        if folder.is_dir() and any(folder.iterdir()):
            raise SourceError(f"the folder {path!r} is not empty")
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = folder.with_name(f".{uuid4().hex}.part")
        draft.mkdir()
        try:
            yield draft
            if folder.is_dir():
                folder.rmdir()
            draft.replace(folder)
        finally:
            rmtree(draft, ignore_errors=True)


@contextmanager
def _convert_errors(path: str) -> Generator[None]:
    """Raise errors of the file system as sqleval's."""
    try:
        yield
    except SqlevalError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raised = EngineError if getattr(error, "errno", None) in _DISK else SourceError
        raise raised(f"cannot write {path!r}: {reason}") from error


def write_text(path: str, text: str, *, folders: bool = True, lock: bool = False) -> None:
    """Write a text file (UTF-8) atomically; see `replace_file`.

    Raises
    ------
    SourceError
        If the file cannot be written.
    """
    with replace_file(path, folders=folders, lock=lock) as draft:
        draft.write_text(text, encoding="utf-8")
