"""Makes control characters visible, which a screen would obey, hide or reorder."""

import unicodedata
from html import escape

#: Categories of control, format and surrogate characters, and of separators of lines.
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def show_controls(text: str, keep: str = "") -> str:
    r"""Return a text in which control characters are written as escapes.

    An escape sequence would colour the terminal, move its cursor or query it. A right-to-left mark
    reorders a line, and a zero-width space makes two names look alike. XML allows neither control
    characters nor U+FFFE and U+FFFF.

    Parameters
    ----------
    text : str
        Any text.
    keep : str
        Characters that stay, such as ``"\n"`` in a text of several lines.

    Examples
    --------
    >>> print(show_controls("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if char not in keep and _is_hidden(char) else char
        for char in text
    )


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN or ord(char) & 0xFFFE == 0xFFFE


def escape_html(text: str, keep: str = "") -> str:
    """Return a text escaped for HTML and XML, so that no part of it is markup."""
    return escape(show_controls(text, keep))
