"""The page about predictions: its numbers are those of `evaluate`, and it needs no network."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import (
    f1_score,
    hamming_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)

import sqleval
from sqleval import RequestError
from sqleval.report.page import write_report
from tests.support.commands import run
from tests.support.flights import ROWS


class Tables(HTMLParser):
    """The tables of a page by the heading above them, and the texts of its ``pre`` elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.statements: list[str] = []
        self.links: list[str] = []
        self._heading, self._open, self._is_sql = "", "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag == "h2":
            self._heading = ""
        if tag == "tr":
            # A row of SQL stands below the row whose numbers it gives.
            self._is_sql = ("class", "sql") in attrs
            if not self._is_sql:
                self.tables.setdefault(self._heading, []).append([])
        if tag in ("td", "th") and not self._is_sql:
            self.tables[self._heading][-1].append("")
        if tag == "pre":
            self.statements.append("")
        if tag in ("h2", "td", "th", "pre", "svg", "style"):
            self._open = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open or tag in ("svg", "pre", "td"):
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "h2":
            self._heading += data
        elif self._open in ("td", "th") and not self._is_sql:
            self.tables[self._heading][-1][-1] += data
        elif self._open == "pre":
            self.statements[-1] += data


TWO: dict[str, Any] = {"label": "delayed", "score": {"new": "p", "old": "q"}}
#: The name of a carrier, which a page is to show and not to run.
SCRIPT = "<script>alert(1)</script>"
#: Rows with one slice of fewer than 30; the interval of KS, a bootstrap, takes time by the row.
FEW = ROWS.head(300).with_columns(pl.col("carrier").replace("DL", SCRIPT))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("few") / "rows.parquet"
    FEW.write_parquet(path)
    return path


@pytest.fixture(scope="module")
def page(few: Path) -> Tables:
    """Return a page of all that a page has: two models, the default metrics, slices."""
    out = few.with_name("page.html")
    run("report", str(few), "--label", "delayed", "--score", "new=p", "--score", "old=q",
        "--by", "carrier", "-o", str(out))  # fmt: skip
    return Tables(out.read_text(encoding="utf-8"))


#: The measures that a threshold on the page is the best by, and their metrics.
BEST = {
    "best F1": "best_f_beta_threshold", "best Youden's J": "best_youden_j_threshold",
    "precision = recall": "break_even_threshold",
    "least cost at 1 : 1": "best_expected_cost_threshold",
}  # fmt: skip


def write_number(value: float | None) -> str:
    if value is not None and 0 < abs(value) < 1e-3:
        return f"{value:.3g}"
    return "" if value is None else f"{value:.4f}"


def write_p_value(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def test_the_numbers_are_those_of_evaluate(few: Path, page: Tables) -> None:
    assert page.links == []
    known = sqleval.scan(few, **TWO).evaluate(ci=0.95).collect()
    rows = {(row[0], row[2]): row for row in page.tables["Numbers"][1:]}
    assert len(rows) == known.height
    for row in known.iter_rows(named=True):
        shown = rows[row["metric"], row["model"]]
        assert shown[3:6] == [write_number(row[name]) for name in ("value", "low", "high")]
        assert shown[7:] == [f"{row['n']:,}", f"{row['n_dropped']:,}", row["note"] or ""]
        other = rows[row["metric"], "new"]
        if row["model"] == "old":
            assert float(shown[6]) == pytest.approx(float(shown[3]) - float(other[3]), abs=2e-4)
    assert [rows[name, "new"][1] for name in ("roc_auc", "log_loss", "prevalence")] == [
        "higher", "lower", ""
    ]  # fmt: skip
    answer = sqleval.scan(few, **TWO).compare("roc_auc").collect().row(0, named=True)
    (tested,) = page.tables["Is a model better than new?"][1:]
    assert tested[:2] == ["old", answer["verdict"] + (answer["note"] or "")]
    ends = [write_number(answer[name]) for name in ("low", "high")]
    assert tested[3:] == [*ends, write_p_value(answer["p_value"]), f"{answer['n']:,}"]
    (slices,) = (table for name, table in page.tables.items() if name.startswith("Slices"))
    *keys, metric, _, _, _ = slices[0]
    sliced = sqleval.scan(few, by="carrier", **TWO).evaluate(metric, ci=0.95, worst_first=True)
    expected = sliced.collect().filter(pl.col("n") >= 30, pl.col("value").is_not_null())
    assert slices[1:] == [
        [*(row[key] for key in keys),
         *(write_number(row[name]) for name in ("value", "low", "high")), f"{row['n']:,}"]
        for row in expected.iter_rows(named=True)
    ]  # fmt: skip
    best = sqleval.scan(few, **TWO).evaluate(list(BEST.values())).collect()
    assert {(name, model): threshold for model, threshold, name, *_ in page.tables["Thresholds"][1:]
            if name} == {
        (name, model): write_number(best.filter(metric=metric, model=model)["value"].item())
        for name, metric in BEST.items() for model in ("new", "old")
    }  # fmt: skip
    values = [float(row[2]) for row in slices[1:]]
    assert values == sorted(values)
    sizes = FEW.group_by("carrier").len()["len"]
    assert sizes.min() < 30  # type: ignore[operator]
    assert len(values) == 2 * sizes.filter(sizes >= 30).len()
    assert all(int(row[-1]) >= 30 for row in slices[1:])
    assert ["rows", "", str(FEW.height), ""] in page.tables["Data"]


def test_every_statement_gives_the_number_beside_it(page: Tables) -> None:
    # Rows of several models, and of thresholds that are equal, have one statement.
    statements = dict.fromkeys(sql for sql in page.statements if '"metric"' in sql)
    found = pl.concat(
        pl.DataFrame(duckdb.sql(sql)).select("model", "metric", "value")
        for sql in statements
        if '"carrier"' not in sql
    )
    shown = {(row[0], row[2]): float(row[3]) for row in page.tables["Numbers"][1:]}
    assert len(shown) == 24
    for (metric, model), value in shown.items():
        same = found.filter(metric=metric, model=model)["value"]
        assert same[0] == pytest.approx(value, abs=5e-5)
    for model, threshold, _, precision, recall, fpr, f1, _ in page.tables["Thresholds"][1:]:
        part = found.filter(model=model).filter(
            pl.col("metric")
            .str.extract(r"threshold=([\d.e-]+)")
            .cast(pl.Float64)
            .fill_null(0.5)  # the default, which a name leaves out
            .round(4)
            == float(threshold)
        )
        rates = {name.partition("(")[0]: value for name, value in part.drop("model").iter_rows()}
        expected = {"precision": precision, "recall": recall, "false_positive_rate": fpr, "f1": f1}
        for name, text in expected.items():
            assert rates[name] is None or f"{rates[name]:.4f}" == text


@pytest.mark.parametrize(
    ("frame", "roles", "absent"),
    [
        (ROWS.head(200), {"label": "delayed", "prediction": "delayed"}, "Thresholds"),
        (ROWS.head(200), {"label": "p", "prediction": "q"}, "Curves"),
        (ROWS.head(200).with_columns(c="delay_class"),
         {"label": "delay_class", "prediction": "c", "by": ["carrier"]}, "Curves"),
        (ROWS.head(200).with_columns(delayed=1), {"label": "delayed", "score": "p"}, "Slices"),
    ],
    ids=["decisions", "numbers", "classes", "one class"],
)  # fmt: skip
def test_every_task_has_a_page(
    frame: pl.DataFrame, roles: dict[str, Any], absent: str, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    write_report(frame, str(out), **roles)
    text = out.read_text(encoding="utf-8")
    assert "<h2>Numbers</h2>" in text
    assert f"<h2>{absent}" not in text


CLASSES = ["cat", "dog", "eel"]


@pytest.fixture(scope="module")
def animals() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 120)
    logits = rng.normal(size=(120, 3)) + 1.2 * np.eye(3)[label]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    frame = pl.DataFrame({name: shares[:, i] for i, name in enumerate(CLASSES)})
    frame = frame.with_columns(
        y=np.array(CLASSES)[label], guess=np.array(CLASSES)[shares.argmax(1)]
    )
    return frame.with_columns(cat=pl.when(pl.int_range(120) != 5).then("cat"))


def test_several_classes_have_a_table_and_pictures_and_no_advice_that_was_followed(
    animals: pl.DataFrame, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    roles: dict[str, Any] = {"label": "y", "score": {name: name for name in CLASSES},
        "nulls": "drop", "task": "multiclass"}  # fmt: skip
    write_report(animals, str(out), **roles)
    text = out.read_text(encoding="utf-8")
    tables = Tables(text).tables
    kept = animals.drop_nulls()
    expected = precision_recall_fscore_support(kept["y"], kept["guess"], labels=CLASSES)
    predicted = [kept.filter(guess=name).height for name in CLASSES]
    assert tables["Classes"][1:] == [
        [name, *(f"{each:.4f}" for each in numbers), str(n), str(count)]
        for name, *numbers, n, count in zip(CLASSES, *expected, predicted, strict=True)
    ]
    # The confusion matrix, ROC and calibration by class.
    assert text.count("<svg") == 3
    assert all(f">{name}<" in text.partition("<h2>Pictures")[2] for name in CLASSES)
    data = {(row[0], row[1]): row[2:] for row in tables["Data"][1:]}
    assert data["NULL", "cat"] == ["1 of 120 rows", ""]
    assert all(not row[3] for row in tables["Data"][1:])
    assert not [check for check, _ in data if check == "roc_auc"]
    decided = {"label": "y", "prediction": {"a": "guess", "b": "y"}, "task": "multiclass"}
    write_report(animals, str(out), metrics="accuracy", **decided)
    text = out.read_text(encoding="utf-8")
    assert [row[:2] for row in Tables(text).tables["Classes"][1:]] == [
        [model, name] for model in "ab" for name in CLASSES
    ]  # fmt: skip
    assert text.count("<svg") == 1


def test_many_labels_have_averages_a_table_by_label_and_curves(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    labels = rng.random((90, 3)) < [0.3, 0.5, 0.2]
    scores = np.clip(0.3 * labels + 0.7 * rng.random((90, 3)), 0, 1)
    columns = {name: labels[:, i] for i, name in enumerate(CLASSES)}
    columns |= {f"p_{name}": scores[:, i] for i, name in enumerate(CLASSES)}
    rows, out = pl.DataFrame(columns), tmp_path / "page.html"
    rows.write_parquet(tmp_path / "rows.parquet")
    named = [("--label", f"{name}={name}", "--score", f"{name}=p_{name}") for name in CLASSES]
    run("report", str(tmp_path / "rows.parquet"), *(word for each in named for word in each),
        "-o", str(out))  # fmt: skip
    text = out.read_text(encoding="utf-8")
    assert "<h1>Predictions of cat, dog, eel</h1>" in text
    tables = Tables(text).tables
    decided = scores >= 0.5
    *numbers, support = precision_recall_fscore_support(labels, decided)
    assert tables["Labels"] == [
        ["label", "precision", "recall", "F1", "rows", "predicted"],
        *(
            [name, *(f"{each[i]:.4f}" for each in numbers), str(support[i]),
             str(decided[:, i].sum())]
            for i, name in enumerate(CLASSES)
        ),
    ]  # fmt: skip
    shown = {row[0]: row[2] for row in tables["Numbers"][1:]}
    for average in ("macro", "micro", "samples"):
        want = f1_score(labels, decided, average=average, zero_division=0)
        assert shown[f"f1(average='{average}')"] == f"{want:.4f}"
    assert shown["hamming_loss"] == f"{hamming_loss(labels, decided):.4f}"
    assert shown["roc_auc(average='macro')"] == f"{roc_auc_score(labels, scores):.4f}"
    pictures = text.partition("<h2>Pictures")[2]
    assert pictures.count("<svg") == 2
    areas = roc_auc_score(labels, scores, average=None)
    assert all(
        f"{name}: AUC {area:.3f}" in pictures for name, area in zip(CLASSES, areas, strict=True)
    )
    assert "Thresholds" not in tables


def test_predictions_of_numbers_are_checked(tmp_path: Path) -> None:
    y = np.arange(40) / 7
    frame = pl.DataFrame({"y": y, "a": y, "b": 1.5}).with_columns(
        b=pl.when(pl.int_range(40) > 2).then("b")
    )
    out = tmp_path / "page.html"
    roles: dict[str, Any] = {"label": "y", "prediction": {"a": "a", "b": "b"}, "nulls": "drop"}
    write_report(frame, str(out), task="regression", **roles)
    data = {(row[0], row[1]): row for row in Tables(out.read_text()).tables["Data"][1:]}
    assert data["NULL", "b"][2:] == ["3 of 40 rows", ""]
    assert data["equals the label", "a"][2] == "in 100 % of the rows"


def test_the_sql_of_a_metric_stands_in_a_row_below(page: Tables, few: Path) -> None:
    text = few.with_name("page.html").read_text(encoding="utf-8")
    assert "tr:has(details[open]) + tr.sql { display: table-row }" in text
    rows = re.findall(r"<tr(?: class=\"(\w+)\")?>", text.partition("<h2>Numbers")[2])
    below = rows[1 : 1 + 2 * (len(page.tables["Numbers"]) - 1)]
    assert below == ["", "sql"] * (len(below) // 2)


@pytest.mark.parametrize(("absent", "words"), [("scipy.special", "scipy"), ("altair", "altair")])
def test_what_is_not_installed_is_left_out_and_named_at_the_end(
    absent: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    out = tmp_path / "page.html"
    write_report(FEW, str(out), metrics=["roc_auc", "log_loss"], **TWO)
    text = out.read_text(encoding="utf-8")
    end = text.partition("<h2>Not on this page</h2>")[2]
    assert words in end
    assert "pip install" in end
    assert len(Tables(text).tables["Numbers"]) == 5
    assert ("<svg" in text) == (absent != "altair")
    is_tested = "the test needs a library" not in text
    assert is_tested == (absent == "altair")


def test_names_are_text_on_the_page(few: Path, page: Tables) -> None:
    (slices,) = (table for name, table in page.tables.items() if name.startswith("Slices"))
    assert SCRIPT in {row[0] for row in slices}
    text = few.with_name("page.html").read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_models_are_compared_on_the_same_rows_and_adjusted_for_their_number(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=60)
    frame = pl.DataFrame({"y": y} | {
        name: y + sd * rng.normal(size=60) for name, sd in (("a", 1.0), ("b", 1.6), ("c", 1.4))
    }) * 1e-4  # fmt: skip
    frame = frame.with_columns(c=pl.when(pl.int_range(60) > 4).then("c"))
    out = tmp_path / "page.html"
    models = {"score": None, "prediction": {"a": "a", "b": "b", "c": "c"}}
    write_report(frame, str(out), metrics="mae", label="y", nulls="drop", **models)
    text = out.read_text(encoding="utf-8")
    tables = Tables(text).tables
    differences = {row[2]: row[6] for row in tables["Numbers"][1:]}
    losses = {name: (frame[name] - frame["y"]).abs() for name in "abc"}
    known = losses["b"].mean() - losses["a"].mean()  # type: ignore[operator]
    assert differences == {"a": "", "b": f"{known:+.3g}", "c": ""}  # of c on other rows
    pairs = [stats.ttest_rel(losses[name][5:], losses["a"][5:]) for name in "bc"]
    first, second = sorted(pair.pvalue for pair in pairs)
    adjusted = [2 * first if pair.pvalue == first else max(second, 2 * first) for pair in pairs]
    rows = tables["Is a model better than a?"][1:]
    assert [row[0] for row in rows] == ["b", "c"]
    assert [row[5:] for row in rows] == [
        [f"{pair.pvalue:.4f}", f"{p:.4f}", "55"] for pair, p in zip(pairs, adjusted, strict=True)
    ]
    for words in ("paired t-test of row losses", "2 comparisons", "Holm", "Level: 5 %"):
        assert words in text


def test_a_metric_without_a_quick_test_says_so_and_classes_have_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": ["x", "y", "z"] * 10, "a": ["x", "y", "y"] * 10, "b": ["x"] * 30})
    out = tmp_path / "page.html"
    roles: dict[str, Any] = {"label": "y", "prediction": {"a": "a", "b": "b"}, "task": "multiclass"}
    write_report(frame, str(out), metrics="recall(average=None)", **roles)
    text = out.read_text(encoding="utf-8")
    assert "Not tested: recall(average=None): a comparison needs one value per slice" in text
    assert [(row[0][-1], row[2], row[6]) for row in Tables(text).tables["Numbers"][1:]] == [
        ("x", "a", ""), ("y", "a", ""), ("z", "a", ""),
        ("x", "b", "+0.0000"), ("y", "b", "-1.0000"), ("z", "b", "+0.0000"),
    ]  # fmt: skip
    write_report(frame, str(out), metrics="f1_macro", **roles)
    assert "is the bootstrap" in out.read_text(encoding="utf-8")


def test_the_data_are_those_that_meet_the_condition(tmp_path: Path) -> None:
    frame = ROWS.head(150).with_columns(
        state=pl.when(pl.int_range(150) < 100).then(pl.lit("ok")).otherwise(pl.lit("new")),
        p=pl.when(pl.int_range(150) < 100).then("p"),
    )
    out = tmp_path / "page.html"
    # Of numbers, which have no curves to draw.
    roles: dict[str, Any] = {"label": "q", "prediction": "p", "where": "state = 'ok'"}
    write_report(frame, str(out), metrics="mae", **roles)
    rows = Tables(out.read_text(encoding="utf-8")).tables["Data"]
    assert ["rows", "", "100", ""] in rows
    assert "NULL" not in [row[0] for row in rows]


def test_the_page_says_what_its_numbers_depend_on(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    frame = ROWS.head(150).with_columns(
        late=pl.when(pl.col("delayed") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")),
        state=pl.lit("ok"),
    )
    where = "state <> '<b>'"
    roles: dict[str, Any] = {"label": "late", "positive": "yes", "where": where}
    thresholds: list[tuple[Any, Any, str]] = [
        ({"new": "p", "old": "q"}, {"new": 0.3, "old": 0.6}, "new = 0.3, old = 0.6"),
        ("p", 0.25, "0.25"),
        ("p", None, "0.5, the default"),
    ]
    for score, threshold, shown in thresholds:
        write_report(frame, str(out), metrics="roc_auc", score=score, threshold=threshold, **roles)
        options = dict(Tables(out.read_text(encoding="utf-8")).tables["Options"][1:])
        assert options["threshold"] == shown
        assert (options["positive"], options["where"]) == ("yes", where)
    write_report(frame, str(out), metrics="mean", value="p > 0.4")
    assert ["value", "p > 0.4"] in Tables(out.read_text(encoding="utf-8")).tables["Options"]


def test_a_best_threshold_may_be_infinite(tmp_path: Path) -> None:
    # Positives are a tenth, and scores say nothing: it costs least to predict none.
    frame = pl.DataFrame(
        {"y": [int(i % 10 == 0) for i in range(300)], "p": [i * 37 % 100 / 100 for i in range(300)]}
    )
    out = tmp_path / "page.html"
    write_report(frame, str(out), metrics="roc_auc", label="y", score="p")
    rows = Tables(out.read_text(encoding="utf-8")).tables["Thresholds"]
    infinite = {row[1]: row[2:6] for row in rows if row[0] == "inf"}
    assert infinite["least cost at 1 : 1"] == ["", "0.0000", "0.0000", "0.0000"]
    assert ["0.1000", ""] in [row[:2] for row in rows]
    recalls = ["recall(threshold=inf)", "recall(threshold=-inf)"]
    lazy = sqleval.scan(frame, label="y", score="p").evaluate(recalls)
    assert lazy.collect().select("metric", "value").rows() == [(recalls[0], 0), (recalls[1], 1)]


def test_a_page_without_a_label_has_the_name_of_its_source(tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("tp,fp,fn,tn\n9,2,3,8\n")
    out = tmp_path / "page.html"
    cases: list[dict[str, Any]] = [{}, {"label": None}]
    for roles in cases:
        write_report(str(counts), str(out), metrics="accuracy", **roles)
        assert f"<title>Predictions of {counts}</title>" in out.read_text(encoding="utf-8")


def test_a_page_of_no_rows_says_so(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    write_report(ROWS.clear(), str(out), metrics="roc_auc", **TWO, by="carrier")
    text = out.read_text(encoding="utf-8")
    assert "nothing to draw" in text
    assert "Thresholds" not in Tables(text).tables


def test_what_a_page_cannot_have_is_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "page.html")
    with pytest.raises(RequestError, match="a report has no sets="):
        write_report(ROWS, out, label="delayed", score="p", by="carrier", sets="cube")
    with pytest.raises(RequestError, match="can be read once; pass a table or a file"):
        write_report(ROWS.to_arrow().to_reader(), out, label="delayed", score="p")
    with pytest.raises(RequestError, match="min_rows=-1 must be a whole number"):
        write_report(FEW, out, metrics="prevalence", min_rows=-1, label="delayed", by="carrier",
                     prediction="delayed")  # fmt: skip
    assert not Path(out).exists()


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    """Of numbers, which have no curves to draw; the command of `page` gives models of scores."""
    ROWS.write_parquet(source := tmp_path / "rows.parquet")
    out = tmp_path / "page.html"
    done = run("report", str(source), "--label", "q", "--prediction", "new=p",
               "--prediction", "old=q", "--by", "day=dayname(flight_date)", "-m", "mae",
               "-o", str(out))  # fmt: skip
    assert done.stderr == f"wrote {out}\n"
    text = out.read_text(encoding="utf-8")
    assert re.search(r'min-width: 6ch">Friday</td><td[^>]*>(new|old)</td>', text)
    tables = Tables(text).tables
    assert ["rows", "", f"{ROWS.height:,}", ""] in tables["Data"]
    # Only the metric that is named, of both models.
    assert [row[:3:2] for row in tables["Numbers"][1:]] == [["mae", "new"], ["mae", "old"]]


def test_a_regression_is_answered_by_its_first_metric_with_a_fast_test(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    label = rng.normal(0, 5, 200)
    rows = pl.DataFrame(
        {"y": label, "a": label + rng.normal(0, 1, 200), "b": label + rng.normal(0, 3, 200)}
    )
    write_report(rows, str(tmp_path / "r.html"), label="y", prediction={"a": "a", "b": "b"})
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    # R2, the first metric, has the bootstrap.
    assert "b is worse than a by" in text
    assert "answer by mae" in text
    assert text.count("<svg") == 5
