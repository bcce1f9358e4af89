"""The errors and warnings that users see."""

import re

# Polars 1 turns an error of a lazy source into an error of its own, whose text holds the first.
_WRAPPED = re.compile(r"execution of a Python source, exception: (\w+Error): (.*)", re.DOTALL)


class SqlevalError(Exception):
    """Base of every error that sqleval raises on purpose.

    Attributes
    ----------
    statement : str or None
        The whole SQL statement, when an engine refused it.
    reason : str or None
        What the engine said, in a line, where its own error says more.
    """

    statement: str | None = None
    reason: str | None = None


class LoadError(SqlevalError, ValueError):
    """A file under ``sql/`` breaks the contract; the message names file and line."""


class RequestError(SqlevalError, ValueError):
    """The call is wrong: an unknown metric, parameter or column, or a role that is missing.

    Attributes
    ----------
    texts : str or None
        A column of texts that must hold numbers.
    """

    texts: str | None = None


class SourceError(SqlevalError, OSError):
    """The source cannot be read: no such file, an empty pattern, a broken file."""


class DataError(SqlevalError, ValueError):
    """The rows are not what the metrics need: missing values, a third class, a bad domain."""


class EngineError(SqlevalError, RuntimeError):
    """The engine failed while it ran a statement (kept in ``statement``)."""


class StoreBusy(EngineError):
    """Another process is using the store; try again later."""


class MissingExtra(SqlevalError, ImportError):
    """An optional dependency is needed; the message names the libraries to install."""


class UnmatchedRows(UserWarning):
    """Rows without a label, labels without a row, or predictions that are no class of the label."""


class ManySlices(UserWarning):
    """A result has thousands of slices, as a key such as a customer's number gives."""


class FewerPoints(UserWarning):
    """A curve with very many distinct scores has one point per score bin instead."""


class FewerThreads(UserWarning):
    """More threads were asked for than the machine has cores, and as many as cores are used."""


def unwrap_error(error: Exception) -> Exception:
    """Return the error of a lazy source that Polars 1 has wrapped; any other error as it is."""
    match = _WRAPPED.search(str(error))
    classes: dict[str, type[SqlevalError]] = {
        each.__name__: each for each in (DataError, SourceError, EngineError)
    }
    return classes[match[1]](match[2]) if match and match[1] in classes else error


def join_lines(error: BaseException) -> str:
    """Return the lines of an error of an object store as one, without their colours."""
    return " ".join(re.sub(r"\x1b\[\d*m", "", str(error)).split())


def get_first_line(error: BaseException) -> str:
    """Return the first line of the text of an error, or the name of its type if it has no text."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
