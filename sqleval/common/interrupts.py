"""Handles Ctrl-C while the command starts or ends, when no statement runs."""

import os
import signal


def _exit(*_: object) -> None:
    # Code 3 and the text of an interrupted command. An exception would be raised inside an
    # import or a destructor, which print a traceback or replace it by an error of their own.
    os.write(2, b"\nerror: interrupted\n")  # on a line below the ^C of the terminal
    os._exit(3)


def exit_on_interrupt() -> None:
    """Let Ctrl-C end the process with one line, unless the process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)
