"""Raises or warns about bad rows, as the audit columns of a result report them."""

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
    """Return a result without ``_problem`` and ``_notice``; raise or warn if they are not NULL.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows of a statement; all have the same audit.
    warn : bool
        Whether to warn. False if another statement over the same rows warns.

    Raises
    ------
    DataError
        If the rows have a problem.
    """
    if frame.height:
        report_audit(frame["_problem"][0], frame["_notice"][0] if warn else None)
    return frame.drop("_problem", "_notice")
