"""The command `compare`, and its sentences."""

import csv
import json
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from sqleval.comparison.compare import COLUMNS
from sqleval.comparison.verdict import summarize
from tests.support.commands import run

from .data import LONG, ROWS, compare

TWO = {"a": "a", "b": "b"}
SCORES = ["--label", "y", "--score", "a=a", "--score", "b=b"]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rows") / "wide.parquet"
    ROWS.write_parquet(path)
    return str(path)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rows") / "long.parquet"
    LONG.write_parquet(path)
    return str(path)


def test_formats(wide: str, tmp_path: Path) -> None:
    call = ["compare", wide, *SCORES, "-m", "roc_auc", "-m", "log_loss", "--by", "g"]
    expected = compare(ROWS, ["roc_auc", "log_loss"], {"score": {"a": "a", "b": "b"}, "by": "g"})
    rows = json.loads(run(*call, "--format", "json").stdout)
    assert list(rows[0]) == ["g", *COLUMNS]
    assert [row["p_value"] for row in rows] == pytest.approx(expected["p_value"].to_list())
    assert [row["verdict"] for row in rows] == expected["verdict"].to_list()
    lines = list(csv.DictReader(StringIO(run(*call, "--format", "csv").stdout)))
    assert [line["metric"] for line in lines] == expected["metric"].to_list()
    done = run(*call)
    assert "better" in done.stdout or "no evidence" in done.stdout or "worse" in done.stdout
    sentences = summarize(expected, ["g"])
    assert done.stdout.splitlines()[-len(sentences) :] == sentences
    assert done.stderr == ""
    output = tmp_path / "result.csv"
    done = run(*call, "--output", str(output))
    assert done.stdout == ""
    assert len(output.read_text().splitlines()) == 1 + len(rows)


def test_infinite_ends_are_json(wide: str) -> None:
    call = ["compare", wide, *SCORES, "-m", "roc_auc", "--alternative", "greater"]
    (row,) = json.loads(run(*call, "--format", "json").stdout)
    assert row["high"] == "inf"


def test_every_option(wide: str, long: str) -> None:
    call = ["compare", wide, *SCORES, "--format", "json", "--replicates", "100", "-m"]
    (row,) = json.loads(run(*call, "f1", "--cluster", "user", "--seed", "3", "--ci", "0.8").stdout)
    assert row["method"] == "paired jackknife, 79 blocks of clusters"
    (row,) = json.loads(
        run(
            *call, "accuracy", "--test", "mcnemar_exact", "--baseline", "b", "--adjust", "none"
        ).stdout
    )
    assert (row["model"], row["baseline"], row["method"]) == ("a", "b", "McNemar, exact")
    (row,) = json.loads(run(*call, "roc_auc", "--margin", "0.5").stdout)
    assert "is equivalent to" in row["verdict"]
    (row,) = json.loads(run(*call, "roc_auc", "--unpaired").stdout)
    assert row["n"] == 800
    (row,) = json.loads(run(*call, "roc_auc", "--over", "fold", "--test", "corrected_t").stdout)
    assert "folds" in row["method"]
    table = ["compare", long, "--label", "y", "--score", "p", "--format", "json", "-m", "roc_auc"]
    rows = json.loads(run(*table, "--model", "m", "--key", "k").stdout)
    assert [row["model"] for row in rows] == ["b", "c"]


@pytest.mark.parametrize(("arguments", "message"), [
    (["--test", "t"], "test='t'"),
    (["--baseline", "z"], "models: a, b"),
    (["-m", "roc"], "did you mean"),
    (["--margin", "-1"], "margin=-1.0"),
    (["--replicates", "3"], "replicates=3"),
    (["--model", "g"], "model= and key= go together"),
    (["--cluster", "z"], "cluster='z'"),
    (["--score", "a=c"], "--score names 'a' twice"),
])  # fmt: skip
def test_errors_are_one_line(wide: str, arguments: list[str], message: str) -> None:
    done = run("compare", wide, *SCORES, *arguments, code=2)
    assert message in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


def test_values_of_several_answers_are_compared_by_question(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    scores = {model: rng.integers(1, 6, 60) for model in ("small", "large")}
    rows = [
        {"id": f"q{i // 3}", "attempt": i % 3, "model": model, "judge": {"score": int(values[i])}}
        for model, values in scores.items()
        for i in range(60)
    ]
    path = tmp_path / "judge.json"
    path.write_text(json.dumps(rows))
    expected = stats.ttest_rel(scores["small"], scores["large"])
    call = ["compare", str(path), "--value", "judge.score", "-m", "mean", "--format", "json"]
    for models in ("--model", "--long"):
        name = "model" if models == "--model" else "model=model"
        for key in ("id,attempt", "concat(id, attempt)"):
            (row,) = json.loads(run(*call, models, name, "--key", key).stdout)
            assert (row["n"], row["model"], row["baseline"]) == (60, "small", "large")
            assert row["p_value"] == pytest.approx(expected.pvalue)
    done = run(*call, "--model", "model", "--key", "id", code=2)
    assert "may have several columns: key=['id', 'attempt'] (--key id,attempt)" in done.stderr
    done = run(*call, "--long", "model", "--key", "id,attempt", code=2)
    assert "(--long model=COLUMN)" in done.stderr


def test_sentences_name_the_models() -> None:
    scan = {"by": "g", "sets": "overall"}
    found = compare(ROWS, "roc_auc", scan)
    sentences = summarize(found, ["g", "by"], has_sets=True)
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        "roc_auc of b",
        "roc_auc of c",
    ]
    for sentence, model in zip(sentences, "bc", strict=True):
        part = found.filter(model=model)
        assert part.filter(by="overall")["verdict"].item() in sentence
    none = compare(ROWS.head(6), "f1", scan | {"score": {"a": "a", "b": "a"}})
    (sentence,) = summarize(none, ["g", "by"], has_sets=True)
    assert sentence.startswith("f1: no test; no test for ")


def test_a_slice_key_may_be_called_by(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.with_columns(by=pl.col("g").fill_null("overall")).write_parquet(path)
    done = run("compare", str(path), *SCORES, "--by", "by", "-m", "roc_auc")
    expected = summarize(compare(ROWS, "roc_auc", {"score": TWO, "by": "g"}), ["g"])
    assert done.stdout.splitlines()[-1] == expected[0].replace("NULL", "overall")
