"""Waits for a statement: reports its progress, and cancels it when the user interrupts."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
#: The seconds between two checks for an interrupt while a statement runs.
_PULSE = 0.1
#: The seconds after which an unchanged percentage is reported again, because a bar appears after a
#: second and the function may stop the statement.
_REPEAT = 1.0
_progress: Callable[[float], object] | None = None
#: Functions called at each check; they raise to cancel the statement.
on_pulse: list[Callable[[], object]] = []


def watch(progress: Callable[[float], object] | None) -> None:
    """Call a function with the percentage of a statement that is done; None stops the calls."""
    global _progress
    _progress = progress


def is_watched() -> bool:
    """Whether a function is called with the progress of statements."""
    return _progress is not None


#: The pair of sockets through which Python passes signal numbers, after `notice_interrupts`.
_signals: tuple[socket.socket, socket.socket] | None = None
#: Whether `listen_for_interrupts` has wrapped the handler of another library.
_is_wrapped = False
#: Whether a statement has raised for a Ctrl-C that Python's own handler has not seen yet.
_has_raised = False
#: The number of Ctrl-Cs that Python's own handler has seen.
_handled = 0


def notice_interrupts() -> None:
    """Notice Ctrl-C whatever handler is set, now or later; call it in the main thread.

    While the main thread waits for Polars, no handler of Python runs, and any call of
    `signal.signal` replaces the handler that Polars sets: IPython does so before each cell. But
    Python also writes the number of a signal to a socket, if no other library has asked for that.
    """
    global _signals
    if threading.current_thread() is not threading.main_thread():
        return
    if _signals is None:
        _signals = socket.socketpair()
        for end in _signals:
            end.setblocking(False)
    ours = _signals[1].fileno()
    before = signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
    if before not in (-1, ours):
        signal.set_wakeup_fd(before)


def _forget_signals() -> None:
    """Forget the parent's sockets in a fork, or the parent would read the fork's signals."""
    global _signals
    if _signals is not None:
        _signals = None
        signal.set_wakeup_fd(-1)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_signals)


def listen_for_interrupts() -> None:
    """Notice Ctrl-C where a library, such as PySpark, has a handler that must not run twice."""
    global _is_wrapped
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    if _is_wrapped or not is_main or not callable(handler):
        return
    notice_interrupts()

    def handle(number: int, frame: FrameType | None) -> object:
        global _has_raised, _handled
        _handled += 1
        if _has_raised:
            _has_raised = False
            return None
        return handler(number, frame)

    signal.signal(signal.SIGINT, handle)
    _is_wrapped = True


def _read_interrupt() -> bool:
    """Whether Ctrl-C was noticed since the last call."""
    try:
        return _signals is not None and signal.SIGINT in _signals[0].recv(4096)
    except BlockingIOError:
        return False


def _take_second_interrupt() -> Generator[None]:
    """Take the second `KeyboardInterrupt` of a Ctrl-C, when this generator is deleted.

    Polars raises the first one. Python would raise the second one as soon as the main thread is
    back from Polars. Just before that, Polars deletes the error of the statement in the main
    thread, and with it the local variables of `wait_for`, of which this generator is one.
    """
    with suppress(KeyboardInterrupt):
        try:
            yield
        finally:
            time.sleep(0)  # Python looks for signals after a call.


@cache
def _open_pool(process: int) -> ThreadPoolExecutor:
    """Return the pool of threads of a process, one for each running statement; forks have others.

    The threads stay for later statements. When a thread ends, DuckDB returns its memory to the
    system, and allocating it again takes a fifth of the time of a small statement.
    """
    # Statements may wait for others: with a limit, all threads could be waiting.
    return ThreadPoolExecutor(sys.maxsize, thread_name_prefix=f"sqleval-{process}")


def wait_for(
    work: Callable[[], T], cancel: Callable[[], object], read_percent: Callable[[], float]
) -> T:
    """Run ``work`` in another thread and return its result.

    Parameters
    ----------
    work : callable
        Runs the statement.
    cancel : callable
        Stops the statement, so that ``work`` ends soon. It is called until ``work`` ends, if the
        user interrupts, or if a function of `on_pulse` or `watch` raises.
    read_percent : callable
        Returns the percentage of the statement that is done; negative if it is unknown.
    """
    global _has_raised
    if not threading.main_thread().is_alive():
        # After the main thread, the pool takes no work, and no interrupt can come.
        return work()
    highest, reported_at = -1.0, 0.0
    notice_interrupts()
    _read_interrupt()  # Discard an earlier Ctrl-C.
    handled = _handled
    running = _open_pool(os.getpid()).submit(work)
    try:
        while not wait([running], timeout=_PULSE).done:
            if _read_interrupt():
                _has_raised = _is_wrapped and _handled == handled
                raise KeyboardInterrupt
            for check in on_pulse:
                check()
            if _progress is None:
                continue
            before, highest, now = highest, max(highest, read_percent()), time.monotonic()
            if highest > before or (highest >= 0 and now - reported_at >= _REPEAT):
                reported_at = now
                _progress(highest)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            second = _take_second_interrupt()
            next(second)
        # A statement that is still being planned cannot be cancelled yet, so repeat it. A second
        # Ctrl-C must not leave the statement running.
        while not running.done():
            try:
                cancel()
                wait([running], timeout=1)
            except KeyboardInterrupt:
                continue
        raise
    if _progress is not None and highest >= 0:
        _progress(100.0)
    return running.result()
