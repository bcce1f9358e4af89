"""What can go wrong, as seen by the user: one base class, few children."""

import re

# Polars 1 wraps what a lazy source raises in an error of its own, as text.
_WRAPPED = re.compile(r"execution of a Python source, exception: (\w+Error): (.*)", re.DOTALL)


class SqlevalError(Exception):
    """Base of every error that sqleval raises on purpose.

    Attributes
    ----------
    statement : str or None
        The whole SQL statement, when an engine refused it.
    """

    statement: str | None = None


class LoadError(SqlevalError, ValueError):
    """A file under ``sql/`` breaks the contract; the message names file and line."""


class RequestError(SqlevalError, ValueError):
    """The call is wrong: an unknown metric, parameter or column, or a role that is missing."""


class SourceError(SqlevalError, OSError):
    """The source cannot be read: no such file, an empty pattern, a broken file."""


class DataError(SqlevalError, ValueError):
    """The rows are not what the metrics need: missing values, a third class, a bad domain."""


class EngineError(SqlevalError, RuntimeError):
    """The engine failed while it ran a statement (kept in ``statement``)."""


class StoreBusy(EngineError):
    """A store is held by someone else; trying again helps."""


class MissingExtra(SqlevalError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""


class UnmatchedRows(UserWarning):
    """Rows of ``labels=`` or of the source found no partner in the join."""


def original(error: Exception) -> Exception:
    """Return the error that a lazy source raised, out of the one that Polars 1 makes of it."""
    found = _WRAPPED.search(str(error))
    known: dict[str, type[SqlevalError]] = {
        each.__name__: each for each in (DataError, SourceError, EngineError)
    }
    return known[found[1]](found[2]) if found and found[1] in known else error
