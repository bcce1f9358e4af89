"""Formats counts for messages."""


def format_row_count(count: int) -> str:
    """Return a number of rows as text for a message.

    Examples
    --------
    >>> format_row_count(1), format_row_count(1234)
    ('1 row', '1,234 rows')
    """
    return "1 row" if count == 1 else f"{count:,} rows"
