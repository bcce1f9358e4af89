"""The site of the pages is built strictly, has a page for each metric, and loads nothing else."""

import json
import re
import shlex
import threading
import tomllib
import urllib.request
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest

from docs.build import build, create_server, link_sources, list_pages
from docs.metric_pages import FOLDER, write_command
from sqleval.catalog import builtin
from sqleval.cli.main import run_command
from tests.support.pages import ROOT, read_page

RELATIONS = builtin().relations("metric", "curve")


class Page(HTMLParser):
    """The anchors of a page, its links, and the files that it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        targets = {values[name] for name in ("href", "src", "data") if name in values}
        (self.links if tag == "a" else self.loads).update(targets)


def find_faults(site: Path) -> Iterator[tuple[str, str]]:
    """Yield each page with a link that leads nowhere, or a file that it loads from elsewhere."""
    # The server of a host shows the page 404 for any path: its links begin at the root.
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for target in page.links | page.loads:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loads and url.scheme != "data":
                    yield str(path.relative_to(site)), target
                continue
            file = (path.parent / unquote(url.path)).resolve() if url.path else path
            anchors = pages[file].anchors if file in pages else {url.fragment}
            if not file.is_file() or (url.fragment and unquote(url.fragment) not in anchors):
                yield str(path.relative_to(site)), target


def test_the_site_is_built_strictly(tmp_path: Path) -> None:
    assert build(tmp_path) == 0
    site = tmp_path / "html"
    pages = {f"{FOLDER}/{relation.name}.html" for relation in RELATIONS}
    assert {page for page in pages if not (site / page).is_file()} == set()
    found = {item["location"].partition("#")[0] for item in read_search(site)}
    assert pages - found == set()
    assert list(find_faults(site)) == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import) *['\"]?(?:https?:)?//[^)]+", styles) == []


def read_search(site: Path) -> list[dict[str, Any]]:
    """Return the index of the search."""
    return json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]


def test_the_site_is_served_on_this_machine_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.html").write_text("<h1>Here</h1>", encoding="utf-8")
    server = create_server(tmp_path)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        assert server.server_address[0] == "127.0.0.1"
        url = f"http://127.0.0.1:{server.server_port}/index.html"
        with urllib.request.urlopen(url) as page:
            assert page.read() == b"<h1>Here</h1>"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_wrong_link_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>', encoding="utf-8")
    page = '<a href="other.html#here"></a><a href="other.html#gone"></a><a href="gone.html"></a>'
    page += '<a href="https://example.com"></a><script src="https://example.com/x.js"></script>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    faults = {target for _, target in find_faults(tmp_path)}
    assert faults == {"other.html#gone", "gone.html", "https://example.com/x.js"}


def test_the_navigation_has_every_page_once() -> None:
    config = tomllib.loads((ROOT / "docs/zensical.toml").read_text(encoding="utf-8"))
    listed = Counter(list_leaves(config["project"]["nav"]))
    assert listed == Counter([*list_pages(), f"{FOLDER}/"])


def list_leaves(nav: Any) -> Iterator[str]:
    """Yield the paths of a navigation: texts, lists and tables of a TOML file."""
    if isinstance(nav, str):
        yield nav
    else:
        for each in cast(dict[str, Any], nav).values() if isinstance(nav, dict) else nav:
            yield from list_leaves(each)


def test_lists_in_lists_are_indented_by_four_spaces() -> None:
    # The code host reads fewer spaces, too; the site does not.
    for page in list_pages():
        text = re.sub(r"^```.*?^```$", "", read_page(page), flags=re.MULTILINE | re.DOTALL)
        assert re.findall(r"^ {1,3}(?:[-*+]|\d+\.) .*", text, re.MULTILINE) == [], page


def test_links_to_source_files_lead_to_pages() -> None:
    page = "docs/developers/example.md"
    text = "[a](../../sql/binary/f1.sql) [b](../../tests/support/pages.py) [c](lanes.md#x) [d](#y)"
    linked, sources = link_sources(page, text)
    assert linked == (
        "[a](../metrics/f1.md) [b](../../tests/support/pages.py.md) [c](lanes.md#x) [d](#y)"
    )
    assert sources == {"tests/support/pages.py"}


def split_command(name: str) -> list[str]:
    """Return the words of a metric's example."""
    return shlex.split(write_command(builtin().get(name)).replace("\\\n", ""))[1:]


def test_the_examples_of_all_metrics_have_values(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    # Metrics with the same input and options are evaluated together.
    requests: dict[tuple[str, ...], list[str]] = {}
    for relation in RELATIONS:
        if relation.kind == "metric":
            words = split_command(relation.name)
            at = words.index("--metric")
            requests.setdefault((*words[:at], *words[at + 2 :]), []).append(words[at + 1])
    for words, metrics in requests.items():
        named = [word for metric in metrics for word in ("--metric", metric)]
        assert run_command([*words, *named, "--format", "csv"]) == 0
        rows = pl.read_csv(StringIO(capfd.readouterr().out))
        assert len(rows) >= len(metrics)
        assert rows.filter(pl.col("value").is_null()).rows() == []
        if "--ci" in words:
            assert rows.filter(pl.col("low").is_null()).rows() == []


@pytest.mark.parametrize("name", [each.name for each in RELATIONS if each.kind == "curve"])
def test_the_example_of_a_curve_has_rows(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert run_command([*split_command(name), "--format", "csv"]) == 0
    assert len(pl.read_csv(StringIO(capfd.readouterr().out))) > 0
