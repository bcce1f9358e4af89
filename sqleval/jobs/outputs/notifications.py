"""Sends notifications of a run: starts a command or calls a webhook, with the outcome as JSON."""

import json
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from sqleval.common.whole_file import write_text
from sqleval.errors import RequestError, SourceError
from sqleval.jobs.file.fields import Environment
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Notification
from sqleval.jobs.outputs.results import describe_counts, describe_incidents, replace_infinities
from sqleval.jobs.places import find_record
from sqleval.jobs.running.result import Run

#: Attempts to send a webhook, longest wait between two (seconds), and timeout of each (seconds).
_ATTEMPTS, _MAX_WAIT, _TIMEOUT = 4, 8.0, 10.0
#: The timeout of a command in seconds.
_COMMAND_TIMEOUT = 60.0
#: The largest number of failed verdicts and of errors in a message; the JSON file has all.
_MOST = 50
#: HTTP statuses after which another attempt may succeed.
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_STATUSES = {0: "passed", 1: "failed"}


def build_message(job: Job, code: int, errors: list[str], run: Run | None = None) -> dict[str, Any]:
    """Return the content of a notification about a run.

    Parameters
    ----------
    job : Job
        The job.
    code : int
        The exit code of the run.
    errors : list of str
        The errors.
    run : Run or None
        The run; None if it failed as a whole.
    """
    status = _STATUSES.get(code, "error")
    message: dict[str, Any] = {
        "version": 1,
        "job": job.name,
        "run": None if run is None else run.id,
        "status": status,
        "exit_code": code,
        "text": f"{job.name}: {status}",
        "periods": [],
        "gates": "",
        "failed_gates": [],
        "failed": [],
        "n_failed": 0,
        "incidents": [],
        "errors": errors[:_MOST],
    }
    if run is not None:
        failed = run.verdicts.filter(status="failed").sort("period", "gate", "slice")
        message |= {
            "periods": run.list_periods("evaluate", "add", "missing"),
            "gates": describe_counts(run.verdicts) if run.verdicts.height else "",
            "failed_gates": failed["gate"].unique().sort().to_list(),
            "failed": [
                {**replace_infinities(row), "slice": json.loads(row["slice"])}
                for row in failed.tail(_MOST).to_dicts()
            ],
            "n_failed": failed.height,
            "incidents": describe_incidents(run.incidents.filter("in_run")),
        }
    details = [message["gates"], *message["incidents"][:3], *errors[:3]]
    message["text"] = "\n".join([message["text"], *filter(None, details)])
    return message


def notify(job: Job, message: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Send the notifications of a job that are due.

    Parameters
    ----------
    job : Job
        The job.
    message : mapping
        From `build_message`.

    Returns
    -------
    tuple of list of str
        The targets that were notified, and the errors of the other targets.
    """
    outcome = _describe_outcome(message)
    record = find_record(job)
    # The next run sends a change again that could not be sent.
    has_changed = outcome != _read_record(record)
    targets: list[str] = []
    errors: list[str] = []
    is_change_sent = True
    for each in job.notify:
        is_due = {"fail": message["exit_code"] != 0, "change": has_changed, "always": True}
        if not is_due[each.on]:
            continue
        try:
            _send(each, job, json.dumps(message, default=str, allow_nan=False))
            targets.append(each.target)
        except (SourceError, RequestError) as error:
            is_change_sent = is_change_sent and each.on != "change"
            errors.append(f"notification: {each.target}: {error}")
    if has_changed and is_change_sent and any(each.on == "change" for each in job.notify):
        try:
            write_text(str(record), json.dumps(outcome, indent=1) + "\n", lock=True)
        except SourceError as error:
            errors.append(f"notification: {error}")
    return targets, errors


def _describe_outcome(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome, which ``on: change`` compares with the outcome of the run before."""
    return {"status": message["status"], "gates": message["failed_gates"]}


def _read_record(path: Path) -> dict[str, Any]:
    """Return the outcome of the last run; without one, nothing has failed."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {"status": "passed", "gates": []}


def _send(target: Notification, job: Job, text: str) -> None:
    if target.command is not None:
        _run_command(target.command, job, text)
    else:
        _send_webhook(target, text)


def _run_command(command: list[str], job: Job, text: str) -> None:
    """Run a command in the folder of the job, once: a command that failed may have acted."""
    try:
        done = subprocess.run(
            command, input=text, cwd=job.folder, capture_output=True, text=True, check=False,
            timeout=_COMMAND_TIMEOUT, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SourceError(f"it took more than {_COMMAND_TIMEOUT:g} seconds") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"it cannot be started: {error}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise SourceError(f"exit code {done.returncode}" + (f": {last}" if last else ""))


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the headers with secrets to another server."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        """Return None, so that the redirect is an error."""


def _is_temporary(error: BaseException) -> bool:
    if isinstance(error, HTTPError):
        return error.code in _BUSY
    return isinstance(error, OSError | HTTPException)


def _post(opener: OpenerDirector, request: Request) -> None:
    """Send a request; the timeout is for the whole answer, also if it comes byte by byte."""
    answer: Future[None] = Future()

    def send() -> None:
        try:
            with opener.open(request, timeout=_TIMEOUT):
                answer.set_result(None)
        except HTTPError as error:
            error.close()
            answer.set_exception(error)
        except (OSError, HTTPException, ValueError) as error:
            answer.set_exception(error)

    Thread(target=send, daemon=True).start()
    answer.result(timeout=_TIMEOUT)


def _send_webhook(target: Notification, text: str) -> None:
    """Send the message by POST; errors show no part of a URL or header, which may be secret."""
    url = _read(target.webhook)
    if not url.startswith(("http://", "https://")):
        raise RequestError("its URL must start with https:// or http://")
    headers = {name: _read(value) for name, value in target.headers.items()}
    opener = build_opener(_NoRedirects)
    retrying = Retrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.5, max=_MAX_WAIT),
        retry=retry_if_exception(_is_temporary),
        reraise=True,
    )
    try:
        request = Request(
            url, data=text.encode(), headers={"Content-Type": "application/json", **headers}
        )
        for attempt in retrying:
            with attempt:
                _post(opener, request)
    except HTTPError as error:
        raise SourceError(f"the server answered {error.code} {error.reason}") from None
    except URLError as error:
        raise SourceError(f"no answer: {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise SourceError(f"it cannot be sent: {type(error).__name__}") from None


def _read(value: str | Environment | None) -> str:
    return value.read() if isinstance(value, Environment) else value or ""
