"""The command within a shell: stdin, the home folder, completion, and lists that fit the screen."""

import io
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval import SourceError
from tests.support.commands import run as run_here
from tests.support.commands import start_programs
from tests.support.versions import needs

ROWS = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.4, 0.2, 0.8]})
EVALUATE = ["--label", "y", "--score", "p", "-m", "roc_auc", "--format", "csv"]


def run(*arguments: str, stdin: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [start_programs() / "python", "-m", "sqleval", *arguments], input=stdin,
        capture_output=True, check=False, env={**os.environ, **more},
    )  # fmt: skip


def parquet() -> bytes:
    file = io.BytesIO()
    ROWS.write_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize("content", [ROWS.write_csv().encode(), parquet()], ids=["csv", "parquet"])
def test_a_dash_is_stdin(content: bytes) -> None:
    done = run("evaluate", "-", *EVALUATE, stdin=content)
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(done.stdout)["value"].to_list() == [1.0]


@pytest.mark.parametrize(("content", "message"), [
    (b"", b"SOURCE is -, and stdin is empty"),
    (b"y,p\n", b"stdin has a header and no rows"),
    (b'{"y": 0, "p": 0.1}\n', b"stdin has a header and no rows"),
    (b"y,p\n0,0.1,7\n", b"cannot read stdin as CSV with commas, nor is it Parquet: found more"),
])  # fmt: skip
def test_an_unreadable_stdin_is_an_error(content: bytes, message: bytes) -> None:
    done = run("evaluate", "-", *EVALUATE, stdin=content)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: " + message)


@pytest.mark.parametrize(("command", "code", "message"), [
    (("inspect", "-", "--format", "csv"), 0, ""),
    (("split", "-", "--key", "id", "--time", "day"), 0, ""),
    (("drift", "-", "--score", "p", "--reference-where", "day < '2026-01-02'", "--current-where",
      "id > 2"), 0, ""),
    # A file holds one table, and a split and its rows are two.
    (("split", "check", "-", "-", "--key", "id"), 2, "stdin is empty"),
])  # fmt: skip
def test_every_command_with_rows_reads_stdin(
    command: tuple[str, ...], code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Types are inferred from all rows: most have a whole number here, but not all of them.
    rows = "".join(f"{i},{i % 2},0,2026-01-01\n" for i in range(150))
    content = f"id,y,p,day\n{rows}150,1,0.5,2026-01-02\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    done = run_here(*command, code=code)
    assert message in done.stderr


JOB = """\
import signal
import polars as pl
import pkg
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
rows = pl.LazyFrame({"y": [0, 1], "p": [0.1, 0.4]})
print(rows.sqleval.evaluate("roc_auc", label="y", score="p").collect()["value"].item())
"""


def test_a_module_of_another_package_is_not_the_command(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("import sqleval\n")
    (package / "job.py").write_text(JOB)
    for words in (["-m", "pkg.job", "x"], ["-mpkg.job"], ["-Xdev", "-m", "pkg.job", "-m"]):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == ("1.0\n", 0), done.stderr


@pytest.mark.parametrize("words", [["-m", "sqleval"], ["-Xdev", "-msqleval"], ["-m", "sqleval.x"]])
def test_the_command_as_a_module_starts_without_polars(words: list[str], tmp_path: Path) -> None:
    # The first import of another package sees that this one has not imported Polars.
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words, "--version"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "sqleval.common.interrupts" in done.stderr
    assert "polars" not in done.stderr


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for source in ("~/rows.parquet", ["~/rows.parquet"]):
        got = sqleval.scan(source, label="y", score="p").evaluate("roc_auc").collect()
        assert got["value"].item() == 1
    with pytest.raises(SourceError, match=r"no such file: '~no such user/r\.parquet'"):
        sqleval.scan(["~no such user/r.parquet"], label="y", score="p")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sqleval eval", {"evaluate"}),
        ("sqleval evaluate rows.csv -m roc_auc_p", {"roc_auc_pairs"}),
        ("sqleval curve roc_c", {"roc_curve"}),
        ("sqleval show matth", {"matthews_corrcoef"}),
        ("sqleval sql --dialect post", {"postgres"}),
    ],
)
def test_completion_knows_commands_metrics_curves_and_dialects(
    words: str, offered: set[str]
) -> None:
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    # Click names the variable after the program, which is called sqleval where it is installed.
    program = "import sys; sys.argv = ['sqleval']; from sqleval.__main__ import main; main()"
    done = subprocess.run(
        [start_programs() / "python", "-c", program], capture_output=True, text=True, check=False,
        env={**os.environ, **place, "_SQLEVAL_COMPLETE": "bash_complete"},
    )  # fmt: skip
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == offered, done.stderr


def test_the_list_has_a_line_for_each_metric_in_a_pipe() -> None:
    lines = run("list").stdout.decode().splitlines()
    # Other computations of a metric are no entries.
    for row in (row for row in sqleval.metrics() if not row["same_as"]):
        (line,) = (line for line in lines if line.split()[:1] == [row["name"]])
        assert len(line.rstrip()) <= 260
        # The text before the summary leaves no bracket open.
        shown = line.split(None, 1)[1].rstrip()
        assert row["summary"].startswith(shown)
        assert shown.count("(") == shown.count(")")
    headings = {line.strip() for line in lines if not line.startswith(" ")}
    assert {"binary", "binary: calibration", "multilabel", "regression", "ranking"} <= headings


def test_a_matrix_is_drawn(tmp_path: Path) -> None:
    done = run("confusion", "-", "--label", "y", "--score", "p", "--plot",
               str(tmp_path / "matrix.svg"), stdin=ROWS.write_csv().encode())  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert "TP 1" in (tmp_path / "matrix.svg").read_text(encoding="utf-8")


#: Run the command, with Ctrl-C while it imports a module.
STARTING = """
import builtins, os, signal, sys
importing = builtins.__import__
def interrupt(name, *rest):
    if name == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return importing(name, *rest)
builtins.__import__ = interrupt
sys.argv = ["sqleval", "list", "--format", "json"]
from sqleval.cli.main import main
main()
"""


@pytest.mark.parametrize("module", ["sqleval.errors", "click", "sqleval.cli.jobs", "polars"])
def test_an_interrupt_while_the_command_starts_is_one_line(module: str) -> None:
    code = STARTING.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"\nerror: interrupted\n"


@needs("DuckDB 1 reports no progress while it sorts", duckdb="2")
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_an_interrupt_gives_the_cursor_of_the_terminal_back() -> None:
    import pty  # not on Windows

    ours, terminal = pty.openpty()
    query = "SELECT i % 2 AS y, RANDOM() AS p FROM RANGE(1000000000) AS t(i)"
    command = [sys.executable, "-m", "sqleval", "evaluate", "--query", query, *EVALUATE]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal) as running:
        os.close(terminal)
        shown = b""
        while b"\x1b[?25l" not in shown:
            shown += os.read(ours, 1 << 16)
        running.send_signal(signal.SIGINT)
        with suppress(OSError):  # as Linux ends a terminal
            while part := os.read(ours, 1 << 16):
                shown += part
        os.close(ours)
    assert running.returncode == 3
    assert shown.rindex(b"\x1b[?25l") < shown.rindex(b"\x1b[?25h") < shown.rindex(b"error: ")


def test_the_library_leaves_interrupts_alone() -> None:
    code = (
        "import signal, sqleval, sqleval.cli.main as main\n"
        "main.run_command(['list', '--family', 'ranking', '--format', 'json'])\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    done = subprocess.run(
        [start_programs() / "python", "-c", code], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
