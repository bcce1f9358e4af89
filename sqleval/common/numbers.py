"""Checks numbers that a user passes, and converts NumPy's to Python's."""

from typing import Any, TypeGuard


def is_real_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is an int or a float; True and False are not numbers here.

    Examples
    --------
    >>> is_real_number(1), is_real_number(0.5), is_real_number(True), is_real_number("1")
    (True, True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def convert_scalar(value: Any) -> Any:
    """Convert a scalar of NumPy to Python's type, whose text is valid SQL; keep other values.

    Examples
    --------
    >>> import numpy as np
    >>> convert_scalar(np.int64(3)), convert_scalar(np.float32(0.5)), convert_scalar("a")
    (3, 0.5, 'a')
    """
    is_numpy = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if is_numpy else value
