"""The job file: wrong keys and values, secrets, its schema, and the text of gates."""

import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from sqleval import RequestError
from sqleval.jobs.file import model
from sqleval.jobs.file.gate_text import Check, parse_check
from sqleval.jobs.file.reading import read_job
from tests.support.lake import SMALLEST

#: A change of the smallest job, its line, and the message.
WRONG = {
    "an unknown key": ("scores: p\n", 11, "no key 'scores'; did you mean 'score'?"),
    "a key twice": ("label: z\n", 11, "the key 'label' occurs twice"),
    "no YAML": ("by: [\n", 12, "not YAML"),
    "no such grain": ("period: {column: day, grain: dayly}\n", 6, "period.grain"),
    "no such zone": ("period: {column: day, timezone: Europe/Pari}\n", 6, "unknown time zone"),
    "a secret": (
        "history: postgresql://me:secret@host/db\n", 9, "a job file must not contain a password",
    ),
    "a span": ("labels: {source: l, on: k, maturity: 7 days}\n", 11, "write 36h, 7d, 2w or 1y"),
    "minutes": ("labels: {source: l, on: k, maturity: 1:30}\n", 11, "'1:30' is not a span of time"),
    "a number of days": ("labels: {source: l, on: k, maturity: 7}\n", 11, "7 is not a span"),
    "a long time": ("keep: 5000y\n", 11, "'5000y' is longer than 1000y"),
    "a time too short": ("keep: 0d\n", 1, "keep must be longer than 0"),
    "a time before the labels": (
        "keep: 7d\nlabels: {source: l, on: k, maturity: 1w}\n", 1, "longer than labels.maturity",
    ),
    "a clock": ("threshold: 1:30\n", 11, "valid number"),
    "true as a number": ("threshold: true\n", 11, "threshold: true is not a number"),
    "a month": ("baseline: {from: 2013-13-01, to: 2013-14}\n", 11, "'2013-13-01' is not a period"),
    "a day": ("baseline: {from: 2013-02-01, to: 2013-02-30}\n", 11, "'2013-02-30' is not a per"),
    "a time": ("baseline: {from: 1:30, to: 2013}\n", 11, "'1:30' is not a period"),
    "SQLite": ("history: h.sqlite\n", 9, "cannot open the history 'h.sqlite'; write a DuckDB file"),
    "a scheme": ("history: s4://bucket/h\n", 9, "(schemes: s3, s3a, gs, gcs, az,"),
    "no check": ('gates: ["roc_auc > high"]\n', 10, "is not a limit"),
    "a merged check": (
        "gates: [&a {check: roc_auc > 0}, {<<: *a, check: roc_auc}]\n", 10, "the check 'roc_auc'",
    ),
    "a gate's key": ("gates: [{check: roc_auc > 0, rows: 3}]\n", 10, "no key 'gates.0.rows'"),
    "a key of a gate misspelt": (
        "gates: [{check: roc_auc > 0, severty: warn}]\n", 10,
        "no key 'gates.0.severty'; did you mean 'severity'? (keys: check, name, by, min_rows, on, "
        "in_a_row, severity, undefined, windows, false_alarms)",
    ),
    "a key of a period misspelt": (
        "period: {column: day, timezones: UTC}\n", 6,
        "no key 'period.timezones'; did you mean 'timezone'? (keys: column, format, grain, "
        "timezone)",
    ),
    "another name of a key": (
        "baseline: {first: 2013-01-01, to: 2013}\n", 11,
        "no key 'baseline.first' (keys: from, to)",
    ),
    "a key of a variable misspelt": (
        "history: {url: h.duckdb, options: {env: {envi: X}}}\n", 9,
        "no key 'history.options.env.envi'; did you mean 'env'? (keys: env)",
    ),
    "no baseline": ("gates: [log_loss <= baseline]\n", 1, "needs a baseline"),
    "a bound without ci": ("gates: [{check: roc_auc > 0, on: low}]\n", 1, "needs ci"),
    "slices of a gate": ("gates: [{check: roc_auc > 0, by: [x]}]\n", 1, "the job's slices are"),
    "by and slices": ("slices: [[seg]]\n", 1, "keep one"),
    "keys of no text": ("by: [1]\n", 5, "by.0: Input should be a valid string (given: 1)"),
    "a label of no text": ("positive: [1]\n", 11, "positive: Input should be a valid number"),
    "no metrics": ("metrics: []\n", 8, "at least 1 item"),
    "a name": ("name: a b\n", 1, "name"),
    "ci": ("ci: 95\n", 11, "less than 1 (given: 95)"),
}  # fmt: skip
#: Changes that come after a line with the same key; other changes replace that line.
BESIDE = ("a key twice", "no YAML")


def written(folder: Path, name: str) -> Path:
    text = WRONG[name][0]
    lines = SMALLEST.splitlines(keepends=True)
    key = text.partition(":")[0] + ":"
    at = next((i for i, line in enumerate(lines) if line.startswith(key)), None)
    if at is None or name in BESIDE:
        lines.append(text)
    else:
        lines[at] = text
    path = folder / "job.yml"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_job_file_names_file_and_line(name: str, tmp_path: Path) -> None:
    _, line, message = WRONG[name]
    path = written(tmp_path, name)
    with pytest.raises(RequestError) as refused:
        read_job(path)
    assert f"{path}:{line}: " in str(refused.value)
    assert message in str(refused.value)
    assert "secret" not in str(refused.value)
    assert all(each.count(str(path)) == 1 for each in str(refused.value).splitlines())


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.yml"
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(RequestError, match="'history' is needed"):
        read_job(path)
    path.write_text("y,p\n1,0.5\n", encoding="utf-8")
    with pytest.raises(RequestError, match=r"empty\.yml:1: a job file has keys, such as source: "):
        read_job(path)


def test_yaml_1_1_words_and_dates_stay_text(tmp_path: Path) -> None:
    more = (
        "labels: {source: labels, on: key, maturity: 36h}\nbaseline: {from: 2013-07-01, to: 2013}\n"
    )
    path = tmp_path / "job.yml"
    path.write_text(SMALLEST + more + "positive: yes\nthreshold: 010\n", encoding="utf-8")
    job = read_job(path)
    assert job.labels is not None
    assert (job.labels.on, job.labels.maturity) == ("key", timedelta(hours=36))
    assert job.baseline is not None
    assert job.baseline.first == "2013-07-01"
    assert (job.positive, job.threshold) == ("yes", 10)  # 010 is no octal number
    assert job.resolve_path("a/../b") == str(tmp_path / "b")
    assert job.key_sets == [["seg"]]


def test_a_secret_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISTORY_PASSWORD", "word")
    assert model.Environment(env="HISTORY_PASSWORD").read() == "word"
    monkeypatch.delenv("HISTORY_PASSWORD")
    with pytest.raises(RequestError, match="HISTORY_PASSWORD is not set"):
        model.Environment(env="HISTORY_PASSWORD").read()


def test_the_schema_knows_every_key_and_refuses_others() -> None:
    schema = model.Job.model_json_schema()
    names = {field.alias or name for name, field in model.Job.model_fields.items()}
    assert set(schema["properties"]) == names
    assert schema["additionalProperties"] is False
    given = yaml.safe_load(SMALLEST)
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(schema)))
    full = {"history": {"url": "postgresql://h/d", "password": {"env": "X"}},
            "gates": [{"check": "ks > 0", "min_rows": 3}, "ks > 0"],
            "labels": {"source": ["a"], "on": "k", "maturity": "7d"}}  # fmt: skip
    for right in (given, given | full):
        validator.validate(right)
        model.Job.model_validate(right)
    for wrong in ({"history": 3}, {"gates": [4]}, {"scores": "p"}, {"period": {}}):
        assert list(validator.iter_errors(given | wrong)), wrong
    with pytest.raises(ValidationError, match="3 validation errors for Job\nsource\n"):
        model.Job.model_validate({"name": "x"})


CHECKS = {
    "roc_auc >= 0.75": Check("roc_auc", ">=", None, 0.75),
    "log_loss <= baseline + 0.01": Check("log_loss", "<=", "baseline", 0.01),
    "roc_auc > previous 7 - .02": Check("roc_auc", ">", 7, -0.02),
    "roc_auc>=baseline": Check("roc_auc", ">=", "baseline", 0.0),
    "drop(roc_auc, previous 7) < 0.02": Check("roc_auc", ">", 7, -0.02),
    "drop(roc_auc, baseline) <= 2e-2": Check("roc_auc", ">=", "baseline", -0.02),
    "rise(log_loss, previous 1) < 0.1": Check("log_loss", "<", 1, 0.1),
    "f_beta(beta=2) >= -1": Check("f_beta(beta=2)", ">=", None, -1.0),
    "drop(f_beta(beta=2, threshold=0.3), previous 3) < 0.1": Check(
        "f_beta(beta=2, threshold=0.3)", ">", 3, -0.1
    ),
}


@pytest.mark.parametrize("text", CHECKS)
def test_a_check_is_read(text: str) -> None:
    read, expected = parse_check(text), CHECKS[text]
    assert read[:3] == expected[:3]
    assert read.offset == pytest.approx(expected.offset)


@pytest.mark.parametrize(
    "text",
    [
        "", "roc_auc", "roc_auc = 0.5", "roc_auc == 0.5", "roc_auc >= ", ">= 0.5", "roc_auc >= x",
        "roc_auc >= baseline 0.1", "roc_auc >= previous 0", "roc_auc >= previous 9999999",
        "roc_auc >= previous",
        "drop(roc_auc) < 0.1", "drop(roc_auc, last 7) < 1", "drop(roc_auc, previous 7) < baseline",
        "roc_auc >= 0.5 >= 0.4", "roc_auc >= baseline + - 0.1",
    ],
)  # fmt: skip
def test_wrong_checks_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match=r"write|compared"):
        parse_check(text)
