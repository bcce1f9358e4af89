"""Imports NumPy and SciPy, from the extra ``stats``, when a name of theirs is first used.

The functions of `scipy.special` are enough for most modules of this package: they take arrays, and
import in a third of the time of `scipy.stats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sqleval.common.imports import import_optional


def load_library(name: Literal["numpy", "special", "stats"]) -> Any:
    """Return NumPy, `scipy.special` or `scipy.stats`.

    Raises
    ------
    MissingExtra
        If the library cannot be imported; the message names the extra ``stats``.
    """
    if name == "numpy":
        return import_optional("numpy", "stats", "statistical tests")
    if name == "special":
        return import_optional("scipy.special", "stats", "statistical tests")
    return import_optional("scipy.stats", "stats", "statistical tests")


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    special: Any
    __all__ = ["Array", "ArrayLike", "Flags", "load_library", "np", "special"]
else:

    class _LazyLibrary:
        """A library that is imported when one of its names is first used."""

        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, name: str) -> Any:
            attribute = getattr(load_library(self.name), name)
            # Keep it, because a history uses the same names some hundred thousand times.
            setattr(self, name, attribute)
            return attribute

    np = _LazyLibrary("numpy")
    special = _LazyLibrary("special")
