"""Keeps the generated parts of the documents: ``python -m sqleval.docs [--check] FILE...``."""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from sqleval import listing

#: What stands between ``<!-- NAME: python -m sqleval.docs -->`` and ``<!-- /NAME -->``.
_PARTS: Mapping[str, Callable[[], str]] = {
    "catalogue": listing.markdown,
    "formulas": listing.formulas,
}
_DOCUMENTS = ("README.md", "docs/textbook.md")


def updated(text: str) -> str:
    """Return a document's text with its generated parts as the SQL headers have them."""
    for name, made in _PARTS.items():
        start, end = f"<!-- {name}: python -m sqleval.docs -->\n", f"<!-- /{name} -->"
        pattern = re.escape(start) + ".*?" + re.escape(end)
        if re.search(pattern, text, re.DOTALL):
            fresh = f"{start}{made()}\n{end}"
            text = re.sub(pattern, lambda _, fresh=fresh: fresh, text, flags=re.DOTALL)
    return text


def main(arguments: list[str]) -> int:
    """Write the documents, or with ``--check`` say whether they are up to date."""
    check = "--check" in arguments
    stale = 0
    for name in [a for a in arguments if not a.startswith("-")] or _DOCUMENTS:
        path = Path(name)
        text = path.read_text(encoding="utf-8")
        fresh = updated(text)
        if fresh != text and check:
            stale += 1
            print(f"{path}: generated parts are out of date; run python -m sqleval.docs")
        elif fresh != text:
            path.write_text(fresh, encoding="utf-8")
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
