"""Defines the errors and warnings that users see."""

import re

# Polars 1 wraps an error of a lazy source in its own, whose text contains the original error.
_WRAPPED = re.compile(r"execution of a Python source, exception: (\w+Error): (.*)", re.DOTALL)


class SqlevalError(Exception):
    """Base of every error that sqleval raises on purpose.

    Attributes
    ----------
    statement : str or None
        The whole SQL statement, if an engine refused it.
    reason : str or None
        The engine's reason in one line, if its error is longer.
    """

    statement: str | None = None
    reason: str | None = None


class LoadError(SqlevalError, ValueError):
    """A file under ``sql/`` breaks the contract; the message names file and line."""


class RequestError(SqlevalError, ValueError):
    """The call is wrong: an unknown metric, parameter or column, or a missing role.

    Attributes
    ----------
    texts : str or None
        A column that holds texts and must hold numbers.
    """

    texts: str | None = None


class SourceError(SqlevalError, OSError):
    """The source cannot be read: no such file, an empty pattern, a broken file."""


class DataError(SqlevalError, ValueError):
    """The rows do not fit the metrics: missing values, a third class, values out of range."""


class EngineError(SqlevalError, RuntimeError):
    """The engine failed while it ran a statement (kept in ``statement``)."""


class StoreBusy(EngineError):
    """Another process is using the store; try again later."""


class MissingExtra(SqlevalError, ImportError):
    """An optional dependency is needed; the message names the libraries to install."""


class UnmatchedRows(UserWarning):
    """Rows lack a label, labels lack a row, or predictions are not a class of the label."""


class ManySlices(UserWarning):
    """A result has thousands of slices, for example because a key is a customer's number."""


class FewerPoints(UserWarning):
    """A curve with very many distinct scores has one point per score bin instead."""


class FewerThreads(UserWarning):
    """Fewer threads are used than requested, because the machine has fewer cores."""


def unwrap_error(error: Exception) -> Exception:
    """Return the error of a lazy source that Polars 1 has wrapped, or any other error unchanged."""
    match = _WRAPPED.search(str(error))
    classes: dict[str, type[SqlevalError]] = {
        each.__name__: each for each in (DataError, SourceError, EngineError)
    }
    return classes[match[1]](match[2]) if match and match[1] in classes else error


def join_lines(error: BaseException) -> str:
    """Return the lines of an object store's error as one line, without colours."""
    return " ".join(re.sub(r"\x1b\[\d*m", "", str(error)).split())


def get_first_line(error: BaseException) -> str:
    """Return the first line of the text of an error, or the name of its type if it has no text."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
