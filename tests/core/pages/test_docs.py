"""Pages are up to date and linked, and the contract page is complete."""

import re
from pathlib import Path

import pytest

import sqleval
from docs import generate as docs
from sqleval.catalog import builtin, header, relations

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", docs.DOCUMENTS)
def test_a_page_is_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert docs.updated(text) == text


def test_the_reference_has_every_method() -> None:
    page = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    methods = [name for name in dir(sqleval.Predictions) if name[0] != "_"]
    called = [name for name in methods if callable(getattr(sqleval.Predictions, name))]
    assert [name for name in called if f"\n## Predictions.{name}\n" not in page] == []


def test_the_reference_names_every_metric_and_curve() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    for relation in builtin().relations("metric", "curve"):
        # Its definition and its formula; the definition is another metric's if both are the same.
        assert page.count(f"| `{relation.name}` |") == 2 - ("same_as" in relation.header)


PAGES = [ROOT / "README.md", ROOT / "sql" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file), target


def test_the_contract_page_lists_the_relations_of_the_compiler() -> None:
    page = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    columns, others = page[: page.index("`slice` may occur only")].split("| other relation |")
    names = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", columns, re.MULTILINE)))
    written = {"predictions": set(names)}
    for name, listed in re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", others, re.MULTILINE):
        written[name] = set(listed.split(", "))
    listed = {name: set(relations.list_contract_columns(name)) for name in relations.CONTRACT}
    assert written == listed


def test_the_contract_page_lists_the_columns_of_steps() -> None:
    page = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    steps = page[page.index("| step | a row per |") : page.index("## What a file returns")]
    listed = re.findall(r"^\| `(\w+)` \|[^|]*\| `([^`]+)` \|$", steps, re.MULTILINE)
    assert len(listed) == steps.count("\n| `")
    for name, columns in listed:
        assert ["slice", *columns.split(", ")] == list(builtin().get(name).columns)


def test_the_contract_page_lists_what_the_loader_knows() -> None:
    page = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    table = page[page.index("## The header") :]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == header.HEADER_KEYS
    for condition in header.CONDITIONS:
        assert f"`{condition}`" in page
