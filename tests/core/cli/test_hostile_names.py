"""No value and no name acts as markup or as a control sequence, wherever it is shown."""

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

import sqleval
from sqleval.common.visible import show_controls
from tests.support.commands import Done, run
from tests.support.hostile_names import HOSTILE
from tests.support.tried import check_tried

#: The elements of the pages; any other element comes from a name.
ELEMENTS = {
    "a", "b", "body", "br", "clippath", "code", "defs", "details", "div", "g", "h1", "h2", "head",
    "html", "line", "lineargradient", "meta", "p", "path", "pre", "rect", "stop", "style",
    "summary", "svg", "table", "td", "text", "th", "title", "tr", "tspan",
}  # fmt: skip
DAYS = ("2026-01-01", "2026-01-02")
JOB = """
name: nightly
source: rows.parquet
label: y
score: p
slices: [[], [g]]
period: {column: day}
metrics: [roc_auc]
gates: ["roc_auc >= 0.9999"]
history: history.duckdb
report: page.html
outputs: {json: out.json, junit: out.xml, prometheus: out.prom}
notify: [{command: ["sh", "-c", "cat > notified.json"]}]
"""
ROLES = ("--label", "y", "--score", "p")
RUN = ("run", "job.yml", "--as-of", "2026-01-03", "--backfill")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows whose slices, classes and columns have hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    count = 8 * len(HOSTILE)
    rows = pl.DataFrame(
        {
            "i": range(count),
            "g": [HOSTILE[i // 8] for i in range(count)],
            "h": [HOSTILE[(i // 8 + (i % 2)) % len(HOSTILE)] for i in range(count)],
            "y": [i % 2 for i in range(count)],
            "p": [(i * 37 % 101) / 101 for i in range(count)],
            "day": [DAYS[i // 4 % 2] for i in range(count)],
        }
    )
    rows.write_parquet(folder / "rows.parquet")
    (folder / "job.yml").write_text(JOB, encoding="utf-8")
    rows.select("y", "p", *(pl.col("p").alias(name) for name in HOSTILE)).write_parquet(
        folder / "columns.parquet"
    )
    return folder


@pytest.fixture(autouse=True)
def _in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def check_screen(done: Done, names: list[str] | None = None) -> None:
    """Check that a terminal shows each of these names, and gets no control sequence."""
    for text in (done.stdout, done.stderr):
        odd = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs")}
        assert odd <= {"\n"}
    shown = "".join((done.stdout + done.stderr).split())
    for name in HOSTILE if names is None else names:
        assert "".join(show_controls(name).split()) in shown, name


class Page(HTMLParser):
    """Collect the elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def check_page(path: Path, names: list[str] | None = None) -> None:
    page = Page(path.read_text(encoding="utf-8"))
    assert page.elements <= ELEMENTS
    assert not {char for char in page.text if unicodedata.category(char) in ("Cc", "Cf")} - {"\n"}
    shown = "".join(page.text.split())
    for name in HOSTILE if names is None else names:
        assert "".join(show_controls(name).split()) in shown, name


def test_the_page_counts_the_names() -> None:
    what = "names that a screen, a page or a parser would take for something else"
    check_tried(what, len(HOSTILE))


def test_slices_on_the_screen_and_in_files() -> None:
    command = ("evaluate", "rows.parquet", *ROLES, "--by", "g", "-m", "roc_auc")
    check_screen(run(*command))
    found = json.loads(run(*command, "--format", "json").stdout)
    assert {row["g"] for row in found} == {*HOSTILE}
    csv = run(*command, "--format", "csv").stdout
    assert {*pl.read_csv(StringIO(csv))["g"]} == {*HOSTILE}
    for name, read in (("o.csv", pl.read_csv), ("o.parquet", pl.read_parquet)):
        run(*command, "--output", name)
        assert {*read(name)["g"]} == {*HOSTILE}
    run(*command, "--output", "o.json")
    assert json.loads(Path("o.json").read_text("utf-8")) == found
    run(*command, "--output", "o.txt")
    check_screen(Done(0, Path("o.txt").read_text("utf-8"), ""))


@pytest.mark.parametrize("command", [
    ["confusion", "--label", "g", "--prediction", "h", "--task", "multiclass"],
    ["evaluate", "--label", "g", "--prediction", "h", "--task", "multiclass", "-m",
     "f1(average='none')"],
    ["compare", *ROLES[:2], "--score", "a=p", "--score", "b=y", "--by", "g", "-m", "roc_auc"],
    ["drift", "--score", "p", "--by", "g", "-m", "ks", "--reference-where", "i % 3 = 0",
     "--current-where", "i % 3 > 0"],
    ["split", "--key", "i", "--stratify", "g"],
])  # fmt: skip
def test_other_commands_on_the_screen(command: list[str]) -> None:
    verb, *options = command
    check_screen(run(verb, "rows.parquet", *options), [] if verb == "split" else None)


def test_states_on_the_screen() -> None:
    run("state", "build", "rows.parquet", *ROLES, "--by", "g", "--output", "state.parquet")
    check_screen(run("state", "evaluate", "state.parquet", "--by", "g", "-m", "roc_auc"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_column(name: str) -> None:
    given = ("columns.parquet", "--label", "y", "--score", f"m={name}", "-m", "roc_auc")
    check_screen(run("evaluate", *given), [])
    check_screen(run("sql", *given[:-2], "-m", "accuracy", "--steps"), [])
    with_key = ("columns.parquet", *ROLES, "-m", "roc_auc")
    check_screen(
        run("evaluate", *with_key, "--where", f'"{name.replace(chr(34), chr(34) * 2)}" > 2'), []
    )


def test_columns_of_an_inspection() -> None:
    done = run("inspect", "columns.parquet", "--label", "y")
    check_screen(done, [])
    shown = "".join(done.stdout.split())
    # It lists the first ones.
    for name in HOSTILE[:15]:
        assert "".join(show_controls(name).split()) in shown, name
    found = json.loads(run("inspect", "columns.parquet", "--format", "json").stdout)
    assert {*HOSTILE} <= {row["column"] for row in found}


def test_an_unknown_column_is_named() -> None:
    for name in [*HOSTILE, "\udcff"]:
        done = run("evaluate", "rows.parquet", "--label", f"x{name}", "--score", "p", code=2)
        check_screen(done, [])
        assert ("is not UTF-8" if name == "\udcff" else "no such column") in done.stderr


@pytest.mark.parametrize("name", [*HOSTILE[:-1], "\udcff"])
def test_a_model(name: str) -> None:
    name = name.replace("=", "-")
    given = (*ROLES[:2], "--score", f"{name}=p", "--score", "b=y", "-m", "roc_auc")
    if name == "\udcff":
        check_screen(run("evaluate", "rows.parquet", *given, code=2), [])
        return
    check_screen(run("evaluate", "rows.parquet", *given), [name])
    check_screen(run("compare", "rows.parquet", *given), [name])


def test_the_report() -> None:
    models = [name.replace("=", "-") for name in HOSTILE[:12]]
    scores = [word for name in models for word in ("--score", f"{name}=p")]
    run("report", "rows.parquet", "--label", "y", *scores, "--by", "g", "--min-rows", "1",
        "-m", "accuracy", "-o", "page.html")  # fmt: skip
    check_page(Path("page.html"), models)
    run("report", "rows.parquet", *ROLES, "--by", "g", "--min-rows", "1", "-o", "page.html")
    check_page(Path("page.html"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_chart(name: str, folder: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 4, "p": [0.1, 0.9, 0.4, 0.6] * 2, "g": [name, "b"] * 4})
    rows = pl.concat([rows, rows.with_columns(g=pl.lit(name))])
    bound = sqleval.scan(rows, label="y", score={name: "p"}, by="g")
    for curve, output in (("roc", "x.svg"), ("roc", "x.png"), ("roc", "x.html")):
        bound.plot(curve, str(folder / output))
    root = ET.parse(folder / "x.svg").getroot()
    assert {each.tag.rpartition("}")[2].lower() for each in root.iter()} <= ELEMENTS
    page = (folder / "x.html").read_text("utf-8")
    assert "<" not in name or name not in page


def check_job(done: Done) -> None:
    """Check the outputs, files and notifications of a job."""
    check_screen(done)
    check_page(Path("page.html"))
    for verdicts in (json.loads(Path("out.json").read_text("utf-8"))["verdicts"],):
        assert {*HOSTILE} <= {row["slice"].get("g") for row in verdicts}
    notified = json.loads(Path("notified.json").read_text("utf-8"))
    assert {row["slice"].get("g") for row in notified["failed"]} <= {*HOSTILE, None}
    assert all(text == show_controls(text) for text in notified["incidents"])
    names = [case.attrib["name"] for case in ET.parse("out.xml").iter("testcase")]
    shown = "\n".join(names)
    for name in HOSTILE:
        assert show_controls(name) in shown, name
    families = text_string_to_metric_families(Path("out.prom").read_bytes().decode())
    (value,) = (each for each in families if each.name == "sqleval_value")
    assert {sample.labels["g"] for sample in value.samples} == {*HOSTILE, ""}


def test_a_job_and_its_history() -> None:
    check_job(run(*RUN, code=1))
    check_screen(run("history", "history.duckdb", "--metric", "roc_auc"))
    found = json.loads(run("history", "history.duckdb", "--format", "json").stdout)
    assert {row["g"] for row in found} == {*HOSTILE, None}
    for name in HOSTILE:
        chosen = ("--slice", f"g={name}", "--metric", "roc_auc")
        check_screen(run("history", "history.duckdb", *chosen), [name])
        check_screen(run("history", "history.duckdb", *chosen, "--chart"), [])
    check_screen(run(*RUN, "--explain"), [])


@pytest.mark.parametrize("name", [*HOSTILE, "\\ud800"])
def test_the_name_of_a_job(name: str) -> None:
    text = JOB.replace("name: nightly", f"name: {json.dumps(name)}")
    Path("other.yml").write_text(text, encoding="utf-8")
    done = run("run", "other.yml", code=2)
    check_screen(done, [])
    assert re.search(r"other\.yml:2: .*name", done.stderr)
