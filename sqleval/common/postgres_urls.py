"""Checks URLs of PostgreSQL, none of which may hold a password."""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from sqleval.errors import RequestError

#: Parameters of PostgreSQL's URLs that hold a secret.
_SECRETS = ("password", "sslpassword")
_HOST = r"(\[[^\]]*\]|[^:,\[\]]*)(:\d*)?"
_HOSTS = re.compile(rf"{_HOST}(,{_HOST})*")


def split_postgres_url(url: str) -> SplitResult:
    """Return the parts of a PostgreSQL URL.

    Raises
    ------
    RequestError
        If it is malformed or holds a password; the message shows no part of it.

    Examples
    --------
    >>> split_postgres_url("postgresql://me@[::1]:5432/results").path
    '/results'
    """
    malformed = RequestError("a PostgreSQL URL must be postgresql://user@host:port/database")
    try:
        parts = urlsplit(url)
    except ValueError:
        # The library's message would show the text in brackets.
        raise malformed from None
    user, _, hosts = parts.netloc.rpartition("@")
    named = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if ":" in user or named & {*_SECRETS}:
        raise RequestError(
            "a PostgreSQL URL must not hold a password, which logs and lists of processes would "
            "show; set PGPASSWORD, or write it to ~/.pgpass"
        )
    # A password with an unescaped character, such as / or #, would end in another part.
    if "@" in parts.path + parts.query + parts.fragment or not _HOSTS.fullmatch(hosts):
        raise malformed
    return parts
