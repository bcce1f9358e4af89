"""Writes the text of all commands to stdout and stderr.

Data goes to stdout, messages to stderr. Failures to write are handled here:

- a message that stderr refuses is dropped;
- a closed pipe, as behind ``| head``, ends the output and keeps the exit code;
- data that does not fit on a full disk is an error, `LostOutput`;
- a character outside the encoding of a stream is written as an escape.
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
    """Stdout refused data, as on a full disk."""


class _Stream(TextIOWrapper):
    """A standard stream that leads to the null device after its first error."""

    has_reader = True

    def write(self, s: str, /) -> int:
        """Write a text; after an error, to the null device."""
        try:
            return super().write(s)
        except OSError as error:
            self._discard(error)
            return len(s)

    def flush(self) -> None:
        """Write the buffer; after an error, to the null device."""
        try:
            super().flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        """Redirect the stream to the null device, because its buffer is not empty."""
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
    """Let the standard streams take any text, and reopen those that a scheduler closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, _open_null(number))
    sys.stdout, sys.stderr = _reopen(sys.stdout, _Stdout), _reopen(sys.stderr, _Stream)


def _open_null(number: int) -> TextIO:
    """Open the null device under the number of a standard stream.

    Otherwise the next opened file would get the number, and text for the stream would be written
    into that file.
    """
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)


def _reopen(stream: Any, kind: type[_Stream]) -> _Stream:
    """Return a stream to the same file that survives errors and takes any text."""
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
    """Write a text that may have styles, and whose control characters are already visible.

    Returns
    -------
    bool
        Whether stdout still has a reader: false if the pipe was closed.

    Raises
    ------
    LostOutput
        If stdout refuses it.
    """
    sys.stdout.write(text)
    sys.stdout.flush()
    return getattr(sys.stdout, "has_reader", True)


def print_text(text: str) -> None:
    """Write a line, or several, for people to read.

    Raises
    ------
    LostOutput
        If stdout refuses it.
    """
    print_rendered(show_controls(text, keep="\n") + "\n")


def print_data(texts: Iterable[str]) -> None:
    """Write the parts of a result for programs; on a terminal, control characters are visible.

    Raises
    ------
    LostOutput
        If stdout refuses it.
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
