"""Tries random inputs at every entry; each gives a result or raises a `SqlevalError`.

A target makes an input from a random generator and tries it. The values of a result are checked
where they are known.
"""

import io
import math
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import polars as pl

import sqleval
from sqleval.catalog.catalogue import Catalogue, find_sql_folder
from sqleval.cli.main import run_command

PIECES = [
    '"', "'", "\\", "\n", "\r", "\t", "\x00", "$x", "$1", "?", "--", "/*", "*/", ";", "_sqleval_",
    "_sqleval_rows", "select", "NULL", "true", "label", "slice", "score", "{", "}", "{{", "%s", "%",
    "é", "e\u0301", "\u202e", "\U0001f600", "\ufeff", "ß", "İ", "*", "^.*$", ".", ",", "=", " ",
    "[a]", "#", "&", "\x1b[31m", "[bold]", "`", ":", "@", "(", ")", "-", "0", "1e5", "Σ", "\u2028",
]  # fmt: skip
ROWS = pl.DataFrame({
    "y": [0, 1, 0, 1, 1], "p": [0.1, 0.9, 0.8, 0.2, 0.7], "g": ["a", "a", "b", "b", None],
})  # fmt: skip


def make_text(rng: random.Random) -> str:
    """Return a text of odd pieces and characters, sometimes a very long one."""
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(PIECES) * rng.choice([100, 1_000, 10_000])
    if kind < 0.5:
        return "".join(rng.choices(PIECES, k=rng.randint(0, 6)))
    points = (rng.choice([rng.randrange(128), rng.randrange(0xD800)]) for _ in range(9))
    return "".join(map(chr, points))[: rng.randint(0, 9)]


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with some changed, cut off, repeated or inserted."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at : at + rng.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = data[at : at + rng.randrange(1, 40)]
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 8)))
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data)


def try_name(rng: random.Random, folder: Path) -> None:
    """Try a name as a column, a slice value and a model, through every verb."""
    name = make_text(rng)
    frame = ROWS.rename({rng.choice(["y", "p", "g"]): name})
    named = dict(zip(ROWS.columns, frame.columns, strict=True))
    frame = frame.with_columns(pl.lit(name).alias(named["g"])) if rng.random() < 0.3 else frame
    source: Any = frame
    if rng.random() < 0.6:
        source = folder / rng.choice(["rows.parquet", "rows.csv", "rows.arrow"])
        {"t": frame.write_parquet, "v": frame.write_csv, "w": frame.write_ipc}[source.suffix[-1]](
            source
        )
    elif rng.random() < 0.5:
        source = frame.lazy()
    quoted = '"' + named["g"].replace('"', '""') + '"'
    roles: dict[str, Any] = {"label": named["y"], "score": named["p"], "by": named["g"]}
    roles |= rng.choice([
        {}, {}, {"score": {name: named["p"]}}, {"by": {name: quoted}},
        {"where": f"{quoted} IS NOT NULL"}, {"over": named["g"], "by": ()},
    ])  # fmt: skip
    bound = sqleval.scan(source, **roles)
    whole = sqleval.scan(ROWS, label="y", score="p")
    verb = rng.randrange(5)
    if verb == 0:
        found = bound.evaluate("accuracy").collect()
        if "where" not in roles and "over" not in roles:
            assert found["n"].sum() == ROWS.height, found
    elif verb == 1:
        bound.curve("roc").collect()
    elif verb == 2:
        duckdb.extract_statements(bound.sql(["accuracy", "roc_auc"]))
    elif verb == 3:
        state = bound.state("accuracy").collect()
        assert sqleval.from_state(state).evaluate("accuracy").collect()["n"].sum() <= ROWS.height
    else:
        bound.confusion().collect()
    assert whole.evaluate("accuracy").collect()["value"].item() == 0.6


def run(arguments: list[str]) -> None:
    """Run a command; if it fails, it must say why in plain words."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command(arguments)
    output = out.getvalue() + err.getvalue()
    if "Traceback" in output or "(--debug shows where)" in output:
        raise AssertionError(output[-300:])
    if code:
        raise sqleval.SqlevalError(output)


def try_command(rng: random.Random, folder: Path) -> None:
    """Try random values of a command's options: it must report errors and end with 0, 1 or 2."""
    ROWS.write_parquet(folder / "rows.parquet")
    options = ["--label", "--score", "--by", "--where", "--metric", "--positive", "--storage",
               "--version", "--timestamp", "--weight", "--sets", "--over", "--role", "--counts",
               "--labels", "--on", "--qid", "--threshold"]  # fmt: skip
    verb = rng.choice(["evaluate", "sql", "curve", "confusion", "state", "inspect", "show"])
    given = {"--label": "y", "--score": "p"}
    given |= {rng.choice(options): make_text(rng) for _ in range(rng.randint(0, 2))}
    source = str(folder / "rows.parquet") if rng.random() < 0.8 else make_text(rng)
    arguments = [verb, *([source] if verb != "show" else [make_text(rng)])]
    arguments += ["roc"] if verb == "curve" else []
    if verb not in ("show", "inspect"):
        arguments += [part for pair in given.items() for part in pair]
    run(arguments)


def try_header(rng: random.Random, folder: Path) -> None:
    """Try a metric whose SQL file was changed."""
    path = rng.choice(sorted(find_sql_folder().glob("binary/*.sql")))
    text = path.read_bytes()
    end = text.index(b"*/") + 2
    changed = mutate(text[:end], rng) + text[end:] if rng.random() < 0.7 else mutate(text, rng)
    if rng.random() < 0.8:
        changed = changed.decode(errors="ignore").encode()
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / "changed.sql").write_bytes(changed)
    catalogue = Catalogue(find_sql_folder(), folder)
    sqleval.scan(ROWS, label="y", score="p", catalogue=catalogue).evaluate("changed").collect()


JOB = """name: nightly
source: rows.parquet
label: y
score: p
by: [g]
period: {column: day, grain: day}
metrics: [roc_auc, "f_beta(beta=2)"]
where: p < 2
gates: ["roc_auc <= 1"]
history: history.duckdb
"""
VALUES = [
    "!!python/object/apply:os.system ['true']", "&a [*a, *a]", "*nowhere", "1" * 5_000, "1e999",
    "-.inf", ".nan", "0x7fffffffffffffffffff", "2026-13-45", "{}", "[]", "null", "!!binary xx",
    "'\\0'", "true", "-1", "{a: {b: {c: [1]}}}", "? x", "|\n  a", "!!set {a, b}", "12:30:45",
    "<<: x", "{<<: {a: 1}}", "~/x", "../..", "${HOME}", "s3://", "!!timestamp 1", "&x {y: *x}",
]  # fmt: skip


def try_job(rng: random.Random, folder: Path) -> None:
    """Try a job file whose text or values were changed."""
    from datetime import date

    ROWS.with_columns(day=date(2026, 1, 1)).write_parquet(folder / "rows.parquet")
    text, kind = JOB, rng.random()
    if kind < 0.4:
        text = mutate(JOB.encode(), rng).decode(errors="replace")
    elif kind < 0.9:
        lines = JOB.splitlines()
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(lines))
            value = rng.choice([*VALUES, make_text(rng)])
            lines[at] = f"{lines[at].partition(':')[0]}: {value}"
        text = "\n".join(lines)
    elif kind < 0.95:
        levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 9))
        text = f"l0: &l0 [x, x, x]\n{levels}{JOB}"
    else:
        text = rng.choice(["[" * 5_000, "{a: " * 3_000, "- " * 3_000, "a: " + "x" * 10**6])
    path = folder / "job.yml"
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
    run(["run", str(path), "--as-of", "2026-01-02"])


def try_bytes(rng: random.Random, folder: Path) -> None:
    """Try a file with some bytes changed, by the reader of its format and as a LazyFrame."""
    content = io.BytesIO()
    rows = pl.concat([ROWS] * rng.choice([1, 200]))
    kind = rng.choice(["parquet", "csv", "arrow", "jsonl"])
    writers: dict[str, Callable[[Any], object]] = {
        "parquet": lambda file: rows.write_parquet(file, row_group_size=300),
        "csv": rows.write_csv, "arrow": rows.write_ipc, "jsonl": rows.write_ndjson,
    }  # fmt: skip
    writers[kind](content)
    path = folder / f"rows.{kind}"
    path.write_bytes(mutate(content.getvalue(), rng))
    source: Any = path
    roles: dict[str, Any] = {"label": "y", "score": "p", "nulls": rng.choice(["error", "drop"])}
    if kind == "parquet" and rng.random() < 0.3:
        try:
            source = pl.scan_parquet(path)
            source.collect_schema()
        except Exception as error:  # errors of Polars' reader are not tested
            raise sqleval.SourceError(str(error)) from error
    roles["by"] = rng.choice([(), "g"])
    found = sqleval.scan(source, **roles).evaluate("roc_auc").collect()
    assert all(0 <= value <= 1 for value in found["value"].drop_nulls()), found


def try_source(rng: random.Random, folder: Path) -> None:
    """Try a text as a source that does not exist, with options of tables and stores."""
    parts = [
        "delta+", "iceberg+", "lance+", "s3://", "file://", "~", "#", "?", "*", "**", "[", "]", "/",
        "//", "a", ".parquet", ".csv", ".metadata.json", ".lance", "\x00", "..", "month=1", "%2F",
        "://", "foo://", "@", ":", " ",
    ]  # fmt: skip
    text = "".join(rng.choices(parts, k=rng.randint(1, 5)))
    if text.startswith(("/", "**", "..", "~")):
        text = f"x{text}"  # do not read all files of this machine
    values: list[Any] = ["", "x", "0", 0, -1, 10**30, math.nan, "2026-01-01", make_text(rng), None]
    options = rng.choice(["version", "timestamp"])
    storage: Any = {rng.choice(["endpoint", "region", "anonymous", "nosuch"]): make_text(rng)}
    storage |= {"endpoint": "http://127.0.0.1:9"} if "s3://" in text else {}
    sqleval.scan(
        text, label="y", score="p", **{options: rng.choice(values)},
        storage=storage if rng.random() < 0.3 or "s3://" in text else None,
    ).evaluate("roc_auc").collect()  # fmt: skip


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    "name": try_name, "command": try_command, "header": try_header, "job": try_job,
    "bytes": try_bytes, "source": try_source,
}  # fmt: skip


def try_inputs(target: str, seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Try random inputs; yield the outcome and the text of its error.

    A finding has an outcome that begins with an exclamation mark.
    """
    for i in range(count):
        # Use an empty folder, because a random source such as * would match the whole checkout.
        with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                TARGETS[target](random.Random(f"{target} {seed} {i}"), Path(folder))
            except sqleval.SqlevalError as error:
                text, outcome = str(error), "refused"
                if "Traceback" in text:
                    outcome = "! traceback"
            except Exception as error:  # any other error is a finding
                text, outcome = f"input {i}: {error}", f"! {type(error).__name__}"
            else:
                text, outcome = "", "right"
        yield outcome, text[:400]
