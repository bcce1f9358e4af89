"""Builds the documentation site: ``python -m docs.build [--serve] [FOLDER]``, in ``site``.

The pages are staged as the repository has them, with those of the metrics; then Zensical builds
them strictly. ``site/html/index.html`` opens without a server, except its search; ``--serve`` shows
the site on this machine.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from docs.generate import ROOT
from docs.metric_pages import FOLDER, find_page, write_pages

#: The languages of source files, by the end of their names.
_LANGUAGES = {".py": "python", ".sql": "sql", ".sh": "sh"}
#: Pages whose first column names metrics, which have pages of their own.
_INDEXES = ("docs/reference/metrics.md", "docs/reference/engines.md")


def list_pages() -> list[str]:
    """Return the Markdown pages of the repository."""
    pages = [ROOT / "README.md", ROOT / "data/README.md", ROOT / "sql/README.md"]
    pages += sorted((ROOT / "docs").rglob("*.md"))
    return [page.relative_to(ROOT).as_posix() for page in pages]


def link_sources(page: str, text: str) -> tuple[str, set[str]]:
    """Return a page whose links to source files lead to pages, and the files without a page."""
    folder = (ROOT / page).parent
    sources: set[str] = set()

    def replace(match: re.Match[str]) -> str:
        file = (folder / match[1]).resolve()
        if not file.is_file() or file.suffix in (".md", ".svg"):
            return match[0]
        source = file.relative_to(ROOT).as_posix()
        target = find_page(file)
        if target is None:
            sources.add(source)
            target = f"{source}.md"
        return f"]({os.path.relpath(ROOT / target, folder)})"

    return re.sub(r"\]\(([^)#:\s]+)\)", replace, text), sources


def write_source(source: str) -> str:
    """Return a page that shows a source file; the search leaves it out."""
    text = (ROOT / source).read_text(encoding="utf-8").rstrip()
    language = _LANGUAGES.get(Path(source).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {source}\n\n````{language}\n{text}\n````\n"


def link_metrics(page: str, text: str, metrics: dict[str, str]) -> str:
    """Return a page whose first column leads to the pages of the metrics."""

    def replace(match: re.Match[str]) -> str:
        path = f"{FOLDER}/{match[2]}.md"
        link = os.path.relpath(ROOT / path, (ROOT / page).parent)
        return f"| [{match[1]}]({link}) |" if path in metrics else match[0]

    return re.sub(r"^\| (`(\w+)`) \|", replace, text, flags=re.MULTILINE)


def stage(folder: Path) -> None:
    """Write the pages into a folder, as the repository has them, and copy the pictures."""
    metrics = write_pages()
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in list_pages()} | metrics
    staged: dict[str, str] = {}
    sources: set[str] = set()
    for page, text in texts.items():
        linked = link_metrics(page, text, metrics) if page in _INDEXES else text
        staged[page], found = link_sources(page, linked)
        sources |= found
    staged |= {f"{source}.md": write_source(source) for source in sources}
    for page, text in staged.items():
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in ("pictures", "assets"):
        shutil.copytree(ROOT / "docs" / name, folder / "docs" / name)


def build(folder: Path) -> int:
    """Build the site strictly in ``folder/html``; return the exit code of Zensical."""
    for name in ("pages", "html", ".cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    stage(folder / "pages")
    config = folder / "zensical.toml"
    shutil.copyfile(ROOT / "docs/zensical.toml", config)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(config)]
    return subprocess.run(command, check=False).returncode


def create_server(folder: Path) -> ThreadingHTTPServer:
    """Return a server of a folder's files, on this machine only."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    return ThreadingHTTPServer(("127.0.0.1", 0), handler)


def serve(folder: Path) -> None:
    """Show the site of a folder until Ctrl-C."""
    with create_server(folder) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"open http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        server.serve_forever()


def main(arguments: list[str]) -> int:
    """Build the site in a folder, and serve it or say which file to open."""
    folders = [each for each in arguments if each != "--serve"]
    folder = Path(folders[0] if folders else ROOT / "site").resolve()
    code = build(folder)
    if code == 0 and "--serve" in arguments:
        serve(folder / "html")
    elif code == 0:
        print(f"open {folder / 'html' / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
