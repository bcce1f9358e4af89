"""Keeps the generated parts of the documents: ``python docs/generate.py [--check] FILE...``."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqleval.catalog import listing


def _keys() -> str:
    """Return the keys of a job file as a table."""
    from sqleval.jobs.file.model import Job

    rows = ["| key | what it is | default |", "| --- | --- | --- |"]
    schema = Job.model_json_schema()

    def add(properties: Mapping[str, Any], needed: Sequence[str], path: str) -> None:
        for name, found in properties.items():
            said = str(found.get("description", "")).replace("|", "\\|")
            options = [found, *found.get("anyOf", [])]
            chosen = [value for each in options for value in each.get("enum", [])]
            said += f" ({', '.join(chosen)})" if chosen else ""
            plain = found.get("default") not in (None, "PT0S", {}, [])
            default = f"`{found['default']}`" if plain else ""
            rows.append(f"| `{path}{name}` | {said} | {'needed' if name in needed else default} |")
            inner = [found, *found.get("anyOf", []), found.get("items", {})]
            for each in inner:
                below = schema["$defs"].get(str(each.get("$ref", "")).rpartition("/")[2])
                if below and "properties" in below and "env" not in below["properties"]:
                    add(below["properties"], below.get("required", []), f"{path}{name}.")

    add(schema["properties"], schema["required"], "")
    return "\n".join(rows)


def _methods() -> str:
    """Return the methods of splitting as a table."""
    from sqleval import catalog
    from sqleval.splits.methods import METHODS

    rows = ["| method | what it does | options | equals |", "| --- | --- | --- | --- |"]
    for name, method in METHODS.items():
        header = catalog.get(method.file).header
        options = ", ".join(f"`{option}`" for option in sorted(method.takes))
        again = f" ({method.repeats} times)" if method.repeats > 1 else ""
        rows.append(
            f"| `{name}` | {header['summary']}{again} | {options} | {header['reference']} |"
        )
    return "\n".join(rows)


#: What stands between ``<!-- NAME: python docs/generate.py -->`` and ``<!-- /NAME -->``.
_PARTS: Mapping[str, Callable[[], str]] = {
    "catalogue": listing.markdown,
    "formulas": listing.formulas,
    "keys": _keys,
    "methods": _methods,
}
_DOCUMENTS = ("README.md", "docs/textbook.md", "docs/guide/jobs.md", "docs/guide/splits.md")


def updated(text: str) -> str:
    """Return a document's text with its generated parts as the SQL headers have them."""
    for name, made in _PARTS.items():
        start, end = f"<!-- {name}: python docs/generate.py -->\n", f"<!-- /{name} -->"
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
            print(f"{path}: generated parts are out of date; run python docs/generate.py")
        elif fresh != text:
            path.write_text(fresh, encoding="utf-8")
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
