"""Raises or warns by the audit that a statement returns with its rows."""

import warnings

import polars as pl

from sqleval.errors import DataError, UnmatchedRows


def report_audit(problem: str | None, notice: str | None) -> None:
    """Raise the problem of an audit as `DataError`, or warn with its notice."""
    if problem is not None:
        raise DataError(problem)
    if notice is not None:
        warnings.warn(notice, UnmatchedRows, stacklevel=3)


def remove_audit(frame: pl.DataFrame, *, warn: bool = True) -> pl.DataFrame:
    """Return a result without ``_problem`` and ``_notice``; raise or warn if they say something.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows of a statement; all have the same audit.
    warn : bool
        Whether to warn; not where another statement over the same rows does.

    Raises
    ------
    DataError
        If the rows have a problem.
    """
    if frame.height:
        report_audit(frame["_problem"][0], frame["_notice"][0] if warn else None)
    return frame.drop("_problem", "_notice")
