"""The screen: all that commands write to stdout and stderr goes through this module.

Data goes to stdout, messages to stderr, and what cannot be written changes nothing else:

- a message that stderr does not take is dropped;
- a closed pipe, as behind ``| head``, ends the output and keeps the exit code;
- data that a full disk does not take is an error, `LostOutput`;
- a character that the encoding of a stream lacks is written as an escape.
"""

import codecs
import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO

from sqleval.common.visible import show_controls
from sqleval.errors import EngineError


class LostOutput(EngineError):
    """Stdout took no data, as on a full disk."""


class _Stream(TextIOWrapper):
    """A standard stream, which leads to the null device from its first error on."""

    has_reader = True

    def write(self, s: str, /) -> int:
        """Write a text, as far as the stream takes it."""
        try:
            return super().write(s)
        except OSError as error:
            self._discard(error)
            return len(s)

    def flush(self) -> None:
        """Write what is buffered, as far as the stream takes it."""
        try:
            super().flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        """Let the stream lead to the null device: it still holds what could not be written."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)
        self.has_reader = False


class _Stdout(_Stream):
    def _discard(self, error: OSError) -> None:
        super()._discard(error)
        if not isinstance(error, BrokenPipeError):
            raise LostOutput(f"cannot write to stdout: {error.strerror}") from error


def prepare_streams() -> None:
    """Let the standard streams take any text, and be there: schedulers close some of them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, _open_null(number))
    sys.stdout, sys.stderr = _reopen(sys.stdout, _Stdout), _reopen(sys.stderr, _Stream)


def _open_null(number: int) -> TextIO:
    """Open the null device under the number of a standard stream.

    Else the next file that is opened would get the number, and whoever writes to the stream by its
    number would write into that file.
    """
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)


def _reopen(stream: Any, kind: type[_Stream]) -> _Stream:
    """Return a stream to the same place that survives errors and takes any text."""
    stream.flush()
    through = stream.write_through
    buffer: Any = os.fdopen(stream.fileno(), "wb", 0 if through else -1, closefd=False)
    return kind(
        buffer, stream.encoding, "backslashreplace",
        line_buffering=stream.line_buffering, write_through=through,
    )  # fmt: skip


def is_unicode() -> bool:
    """Return whether stdout takes every character."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")


def print_rendered(text: str) -> bool:
    """Write a text whose values were made visible before, and which may have styles.

    Returns
    -------
    bool
        Whether anybody reads it: false where a pipe was closed.

    Raises
    ------
    LostOutput
        If stdout does not take it.
    """
    sys.stdout.write(text)
    sys.stdout.flush()
    return getattr(sys.stdout, "has_reader", True)


def print_text(text: str) -> None:
    """Write a line, or several, for people to read.

    Raises
    ------
    LostOutput
        If stdout does not take it.
    """
    print_rendered(show_controls(text, keep="\n") + "\n")


def print_data(texts: Iterable[str]) -> None:
    """Write the parts of a result that programs read: as it is, except on a terminal.

    Raises
    ------
    LostOutput
        If stdout does not take it.
    """
    is_terminal, is_altered = sys.stdout.isatty(), False
    for text in texts:
        is_altered = is_altered or not (is_unicode() or _can_encode(text))
        sys.stdout.write(show_controls(text, keep="\n\t") if is_terminal else text)
    sys.stdout.flush()
    if is_altered:
        print_message(
            f"note: {sys.stdout.encoding} lacks some characters, which are written as escapes; "
            "--output FILE writes UTF-8, as does PYTHONIOENCODING=utf-8"
        )


def _can_encode(text: str) -> bool:
    """Return whether the encoding of stdout has all characters of a text."""
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


def print_message(text: str) -> None:
    """Write a message to stderr."""
    sys.stderr.write(show_controls(text, keep="\n") + "\n")
    sys.stderr.flush()
