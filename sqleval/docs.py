"""Keeps the generated part of the README: ``python -m sqleval.docs [--check] README.md``."""

import sys
from pathlib import Path

from sqleval.listing import markdown

_START = "<!-- catalogue: python -m sqleval.docs -->\n"
_END = "<!-- /catalogue -->"


def updated(text: str) -> str:
    """Return the README's text with the catalogue as the SQL headers have it."""
    before, _, rest = text.partition(_START)
    _, _, after = rest.partition(_END)
    return f"{before}{_START}{markdown()}\n{_END}{after}"


def main(arguments: list[str]) -> int:
    """Write the README, or with ``--check`` say whether it is up to date."""
    check = "--check" in arguments
    path = Path(next((a for a in arguments if not a.startswith("-")), "README.md"))
    text = path.read_text(encoding="utf-8")
    fresh = updated(text)
    if check:
        if fresh != text:
            print(f"{path}: the catalogue is out of date; run python -m sqleval.docs")
        return int(fresh != text)
    path.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
