"""Prints the messages of jobs on stderr, as text or as JSON lines."""

import logging
import sys
from collections.abc import Callable

from sqleval.cli.screen import print_message


class _NoteHandler(logging.Handler):
    """Prints warnings of the library as notes on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message(f"note: {record.getMessage()}")


_NOTES = _NoteHandler(logging.WARNING)


def _print_message(kind: str, text: str) -> None:
    print_message(f"{kind}: {text}" if kind else text)


def create_text_log() -> Callable[[str, str], None]:
    """Print warnings as notes, and return the function that prints a message."""
    logging.getLogger("sqleval").addHandler(_NOTES)
    return _print_message


def create_json_log() -> Callable[[str, str], None]:
    """Log to stderr as JSON lines, and return the function that logs a message."""
    from pythonjsonlogger.json import JsonFormatter

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("sqleval")
    logger.removeHandler(_NOTES)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    levels = {"error": logging.ERROR, "note": logging.WARNING}
    return lambda kind, text: logger.log(levels.get(kind, logging.INFO), text)


def name_job(log: Callable[[str, str], None], path: str) -> Callable[[str, str], None]:
    """Return a function that logs messages with the name of their job file."""
    return lambda kind, text: log(kind, text if text.startswith(f"{path}:") else f"{path}: {text}")
