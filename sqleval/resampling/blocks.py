"""Hashes clusters, such as the rows of a user, into blocks that are drawn whole."""

from __future__ import annotations

from sqleval.common.columns import Column
from sqleval.common.counts import format_row_count

#: The number of blocks into which clusters are hashed.
BLOCKS = 1_000


def write_block(blocks: int) -> str:
    """Return the SQL of the block that a cluster is hashed into, from 1 on."""
    # The first seven digits of the MD5 of its text. Each is read by itself, because engines differ
    # in how they read hexadecimal numbers.
    text = "MD5(CAST(cluster AS VARCHAR))"
    digits = " + ".join(
        f"(STRPOS('0123456789abcdef', SUBSTRING({text}, {i + 1}, 1)) - 1) * {16 ** (6 - i)}"
        for i in range(7)
    )
    return f"({digits}) % {blocks} + 1"


def describe_missing(cluster: Column, missing: int, *, of_queries: bool) -> str:
    """Return the message on rows, or queries, without a cluster."""
    if of_queries:
        queries = "1 query" if missing == 1 else f"{missing:,} queries"
        return (
            f"cluster={cluster.name!r} is NULL in some rows, or not the same in all rows, of "
            f"{queries}; whole clusters are drawn, so that every query needs one"
        )
    return (
        f"cluster={cluster.name!r} is NULL in {format_row_count(missing)}; whole clusters are "
        "drawn, so that every row needs one"
    )
