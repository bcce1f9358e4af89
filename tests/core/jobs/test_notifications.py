"""Notifications of runs, with a real server on this machine, real commands, and failures."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
import pytest
import yaml
from jsonschema import validate

from sqleval.jobs.file.model import Job
from sqleval.jobs.outputs import notifications
from tests.support.commands import run
from tests.support.lake import Lake, rows

#: A command that writes its input to a file in the job's folder.
KEEP = "import sys; open('messages.jsonl', 'a').write(sys.stdin.read() + chr(10))"
COMMAND = [sys.executable, "-IS", "-c", KEEP]
SECRET = "s3cret-token"


class Server:
    """A web server that keeps the requests, and answers with the next of some codes."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.received: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(length))
                server.received.append((self.path, dict(self.headers), body))
                self.send_response(server.codes.pop(0) if server.codes else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(notifications, "_MAX_WAIT", 0.01)
    made = Server()
    thread = Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


@pytest.fixture
def lake(lake: Lake) -> Lake:
    """Four evaluated days; the tests are about what the next run sends."""
    lake.backfill(metrics=["roc_auc"], by=None)
    return lake


def start(lake: Lake, *options: str, code: int = 0, **changes: Any) -> Any:
    """Run the job in this process, and return what it printed."""
    lake.job(**{"metrics": ["roc_auc"], "by": None, **changes})
    return run("run", str(lake.folder / "job.yml"), *(options or ("--backfill",)), code=code)


def read_messages(lake: Lake) -> list[dict[str, Any]]:
    path = lake.folder / "messages.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_webhook_is_sent_what_failed(lake: Lake, server: Server) -> None:
    (lake.folder / "history.duckdb").unlink()  # so that the run that sends evaluates as well
    notify = {"webhook": f"{server.url}/hook", "headers": {"X-Team": "models"}}
    done = start(lake, code=1, notify=notify, gates=["roc_auc >= 0.99", "roc_auc >= 0.5"])
    ((path, headers, message),) = server.received
    assert (path, headers["X-Team"], headers["Content-Type"]) == (
        "/hook", "models", "application/json",
    )  # fmt: skip
    assert f"notified the webhook {server.url}/hook" in done.stderr
    history = lake.history().sort("period")
    assert message.pop("run") == history["run"][0]
    failed = message.pop("failed")
    assert [each["period"] for each in failed] == history["period"].to_list()
    assert [each["value"] for each in failed] == history["value"].to_list()
    assert {(each["gate"], each["limit"], str(each["slice"])) for each in failed} == {
        ("roc_auc >= 0.99", 0.99, "{}")
    }
    assert message.pop("text").startswith("nightly: failed\n4 passed, 4 failed\nroc_auc >= 0.99")
    (incident,) = message.pop("incidents")
    assert incident.startswith("roc_auc >= 0.99 failed since 2026-01-01 (in 4 periods)")
    assert message == {
        "version": 1, "job": "nightly", "status": "failed", "exit_code": 1, "n_failed": 4,
        "failed_gates": ["roc_auc >= 0.99"],
        "periods": history["period"].to_list(), "gates": "4 passed, 4 failed", "errors": [],
    }  # fmt: skip


def test_a_command_reads_the_same_from_its_input(lake: Lake) -> None:
    done = start(lake, notify={"command": COMMAND, "on": "always"}, gates=["roc_auc >= 0.5"])
    (message,) = read_messages(lake)
    assert (message["status"], message["exit_code"], message["failed"]) == ("passed", 0, [])
    assert f"notified the command {sys.executable}" in done.stderr


def test_by_default_only_failures_are_sent(lake: Lake) -> None:
    start(lake, notify={"command": COMMAND}, gates=["roc_auc >= 0.5"])
    assert read_messages(lake) == []
    start(lake, code=1, notify={"command": COMMAND}, gates=["roc_auc >= 0.99"])
    assert [each["status"] for each in read_messages(lake)] == ["failed"]


def test_a_change_is_sent_once(lake: Lake) -> None:
    notify = {"command": COMMAND, "on": "change"}
    good, bad = ["roc_auc >= 0.5"], ["roc_auc >= 0.99"]
    start(lake, notify=notify, gates=good)  # passes, as if it had passed before
    for _ in range(2):
        start(lake, code=1, notify=notify, gates=bad)
    start(lake, code=1, notify=notify, gates=[*bad, "roc_auc >= 0.995"])
    for _ in range(2):
        start(lake, notify=notify, gates=good)
    sent = [(each["status"], each["n_failed"]) for each in read_messages(lake)]
    assert sent == [("failed", 4), ("failed", 8), ("passed", 0)]


def test_a_change_that_could_not_be_sent_is_sent_by_the_next_run(
    lake: Lake, server: Server
) -> None:
    notify = {"webhook": server.url, "on": "change"}
    server.codes = [404]
    for code in (3, 1, 1):
        start(lake, code=code, notify=notify, gates=["roc_auc >= 0.99"])
    assert len(server.received) == 2


def test_a_busy_server_is_tried_again(lake: Lake, server: Server) -> None:
    server.codes = [503, 429, 200]
    start(lake, notify={"webhook": server.url, "on": "always"})
    assert len(server.received) == 3


@pytest.mark.parametrize(
    ("codes", "attempts", "message"), [([500] * 9, 4, "500"), ([403], 1, "403"), ([302], 1, "302")]
)
def test_a_failed_notification_keeps_the_results(
    lake: Lake, server: Server, codes: list[int], attempts: int, message: str
) -> None:
    server.codes = codes
    notify = {"webhook": server.url, "on": "always"}
    done = start(lake, code=3, notify=notify, outputs={"json": "out.json"})
    assert len(server.received) == attempts
    assert (
        f"error: notification: the webhook {server.url}: the server answered {message}"
        in done.stderr
    )
    assert lake.history().height == 4
    assert json.loads((lake.folder / "out.json").read_text())["exit_code"] == 0


def test_each_target_is_notified_even_if_others_fail(lake: Lake) -> None:
    nowhere = {"webhook": "http://127.0.0.1:9/", "on": "always"}
    broken = {"command": [sys.executable, "-c", "import sys; sys.exit('no mail')"], "on": "always"}
    missing = {"command": ["./no-such-program"], "on": "always"}
    works = {"command": COMMAND, "on": "always"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notifications, "_MAX_WAIT", 0.01)
        done = start(lake, code=3, notify=[nowhere, broken, missing, works])
    assert len(read_messages(lake)) == 1
    for message in ("no answer: ", "exit code 1: no mail", "cannot be started"):
        assert message in done.stderr
    assert lake.history().height == 4


def test_a_command_that_hangs_is_ended(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_COMMAND_TIMEOUT", 0.2)
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    done = start(lake, code=3, notify={"command": command, "on": "always"})
    assert "it took more than 0.2 seconds" in done.stderr


def test_secrets_come_from_the_environment_and_are_never_shown(
    lake: Lake, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", f"{server.url}/{SECRET}")
    monkeypatch.setenv("TOKEN", SECRET)
    headers = {"Authorization": {"env": "TOKEN"}}
    notify = {"webhook": {"env": "HOOK"}, "headers": headers, "on": "always"}
    done = start(lake, notify=notify)
    ((path, sent, _),) = server.received
    assert (path, sent["Authorization"]) == (f"/{SECRET}", SECRET)
    runs = [done]
    server.codes = [403]
    runs.append(start(lake, code=3, notify=notify))
    for url in (f"ftp://{SECRET}", f"http://a b/{SECRET}", f"http://[{SECRET}", "http://"):
        monkeypatch.setenv("HOOK", url)
        runs.append(start(lake, code=3, notify=notify))
    monkeypatch.setenv("HOOK", server.url)
    runs.append(start(lake, "--explain", notify=notify))
    for each in runs:
        assert SECRET not in each.stdout + each.stderr
        assert "the webhook of HOOK" in each.stdout + each.stderr
    for value in (f"{SECRET}\nX: y", f"{SECRET}\u20ac", None):
        if value is None:
            monkeypatch.delenv("TOKEN")
        else:
            monkeypatch.setenv("TOKEN", value)
        checked = run("validate", str(lake.folder / "job.yml"), code=2)
        why = "TOKEN is not set" if value is None else "the header 'Authorization' cannot be sent"
        for done in (checked, start(lake, code=2, notify=notify)):
            assert why in done.stderr
            assert SECRET not in done.stderr


def test_a_run_that_cannot_start_is_notified(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    (lake.folder / "history.duckdb").write_text("no database")
    start(lake, code=3, notify={"command": COMMAND})
    (message,) = read_messages(lake)
    assert (message["status"], message["exit_code"], message["run"]) == ("error", 3, None)
    assert "history.duckdb" in message["errors"][0]
    assert "history.duckdb" in message["text"]
    monkeypatch.setattr("sqleval.jobs.running.run.check_places", lambda _: [][0])
    start(lake, code=3)
    assert read_messages(lake)[1]["errors"][0].startswith("unexpected IndexError: ")


def test_a_failed_output_is_notified(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    (lake.folder / "history.duckdb").unlink()  # only evaluated periods are exported
    monkeypatch.setitem(sys.modules, "openlineage.client.event_v2", None)
    done = start(lake, code=2, notify={"command": COMMAND}, outputs={"openlineage": "o.jsonl"})
    (message,) = read_messages(lake)
    assert (message["status"], message["exit_code"]) == ("error", 2)
    advice = "run pip install 'openlineage-python>=1.54'"
    assert advice in message["errors"][0]
    assert advice in done.stderr
    assert message["periods"] == lake.history()["period"].unique().sort().to_list()


def test_a_missing_source_is_notified_as_an_error(lake: Lake) -> None:
    start(lake, code=3, source="nowhere", notify={"command": COMMAND}, gates=["rows >= 1"])
    (message,) = read_messages(lake)
    assert message["status"] == "error"
    assert "nowhere" in message["errors"][0]


def test_a_dry_run_notifies_nobody(lake: Lake) -> None:
    for option in ("--dry-run", "--explain"):
        start(lake, option, notify={"command": COMMAND, "on": "always"})
    assert read_messages(lake) == []


def test_many_failures_are_cut(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.put(rows(days=1, each=600).with_columns(seg=pl.col("key") % 60))
    notify = {"command": COMMAND}
    start(made, code=1, notify=notify, by="seg", metrics=["log_loss"], gates=["log_loss > 1"])
    (message,) = read_messages(made)
    assert (message["n_failed"], len(message["failed"])) == (60, 50)


WRONG = {
    "no target": ({"on": "fail"}, "needs either a command or a webhook"),
    "two targets": ({"command": ["a"], "webhook": "http://a"}, "either a command or a webhook"),
    "a path": ({"webhook": "hook"}, "starts with https://"),
    "a password": ({"webhook": f"https://u:{SECRET}@h/"}, "write webhook: {env: NAME}"),
    "headers of a command": ({"command": ["a"], "headers": {"a": "b"}}, "headers need a webhook"),
    "a name of no header": ({"webhook": "http://a", "headers": {"a b": "c"}}, "no name of HTTP"),
    "two lines": ({"webhook": "http://a", "headers": {"a": f"{SECRET}\nb"}}, "has a line break"),
    "an unknown time": ({"command": ["a"], "on": "never"}, "'fail', 'change' or 'always'"),
    "an empty command": ({"command": []}, "at least 1 item"),
    "a text": ("http://a", "notify"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_notification_is_refused(lake: Lake, name: str) -> None:
    value, message = WRONG[name]
    path = lake.folder / "job.yml"
    path.write_text(yaml.safe_dump({**lake.spec, "notify": value}), encoding="utf-8")
    done = run("validate", str(path), code=2)
    assert message in done.stderr
    assert SECRET not in done.stderr


def test_the_schema_takes_one_notification_or_several(lake: Lake) -> None:
    one = {"command": ["a"], "on": "always"}
    for value in (one, [one, {"webhook": {"env": "HOOK"}}]):
        content = {**lake.spec, "notify": value}
        validate(content, Job.model_json_schema())
        assert len(Job.model_validate(content).notify) == len(value if value is not one else [1])


def test_a_server_that_answers_byte_by_byte_is_given_up(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timeout for each byte would wait for ever."""
    monkeypatch.setattr(notifications, "_TIMEOUT", 0.5)
    monkeypatch.setattr(notifications, "_ATTEMPTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                while connection.send(b"H") and not ended.wait(0.1):
                    pass

        ended = Event()
        Thread(target=trickle, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        before = time.monotonic()
        done = start(lake, code=3, notify={"webhook": url, "on": "always"})
        ended.set()
    assert "it cannot be sent: TimeoutError" in done.stderr
    assert time.monotonic() - before < 30


def test_others_are_notified_before_a_server_that_does_not_answer(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(notifications, "_run_command", lambda *_: order.append("command"))
    monkeypatch.setattr(
        "sqleval.jobs.outputs.exports.export_run", lambda _: order.append("export") or []
    )
    notify = {"command": ["mail"], "on": "always"}
    start(lake, notify=notify, outputs={"openlineage": "events.jsonl"})
    assert order == ["command", "export"]
