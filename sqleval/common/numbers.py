"""Whether what a user passes is a number."""

from typing import TypeGuard


def is_real_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is an int or a float; True and False, which Python calls ints, are none.

    Examples
    --------
    >>> is_real_number(1), is_real_number(0.5), is_real_number(True), is_real_number("1")
    (True, True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool)
