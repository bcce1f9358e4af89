"""Numbers that a user passes: whether a value is one, and those of NumPy as Python's own."""

from typing import Any, TypeGuard


def is_real_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is an int or a float; True and False, ints in Python, do not count.

    Examples
    --------
    >>> is_real_number(1), is_real_number(0.5), is_real_number(True), is_real_number("1")
    (True, True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def convert_scalar(value: Any) -> Any:
    """Return a scalar of NumPy as Python's own, whose text is SQL; any other value as it is.

    Examples
    --------
    >>> import numpy as np
    >>> convert_scalar(np.int64(3)), convert_scalar(np.float32(0.5)), convert_scalar("a")
    (3, 0.5, 'a')
    """
    is_numpy = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if is_numpy else value
