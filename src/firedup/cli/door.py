"""Runs one command and turns whatever ends it into a message and an exit status."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from firedup.cli.group import commands
from firedup.cli.overview import COMPLETE
from firedup.core.error import FiredupError

INTERRUPTED, TERMINATED, BROKEN_PIPE, FAULT = 130, 143, 141, 70


class Terminated(BaseException):
    """SIGTERM came; not an Exception, so that nothing on the way takes it for a failure."""


def run_command(words: Sequence[str]) -> int:
    """Run `firedup WORDS` to its end. Never raises and never shows a traceback."""
    if COMPLETE in os.environ:
        commands.main(list(words), "firedup", complete_var=COMPLETE)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    before = signal.signal(signal.SIGTERM, _on_term)
    try:
        status = _invoke(words)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has gone: `firedup logs … | head`
        _silence_output()
        return BROKEN_PIPE
    finally:
        signal.signal(signal.SIGTERM, before)
    return status


def _invoke(words: Sequence[str]) -> int:
    try:
        with commands.make_context("firedup", list(words)) as context:
            status = commands.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        from firedup.cli.complaint import render_complaint

        return _say(render_complaint(error), error.exit_code)
    except FiredupError as error:
        return _say_error(error)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Terminated:
        return TERMINATED
    except BrokenPipeError:
        raise
    except BaseExceptionGroup as group:
        return _unpack(group)
    except Exception as error:  # noqa: BLE001 - the last door: anything else is our fault
        return _say_fault(error)
    return status if isinstance(status, int) else 0


def _unpack(group: BaseExceptionGroup) -> int:
    """A task group wraps what ended it; the first thing that has a meaning counts."""
    for kind in (BrokenPipeError, FiredupError, KeyboardInterrupt, Terminated):
        found = group.subgroup(kind)
        while isinstance(found, BaseExceptionGroup):
            inner = found.exceptions[0]
            if isinstance(inner, FiredupError):
                return _say_error(inner)
            if isinstance(inner, BrokenPipeError):
                raise inner
            if isinstance(inner, KeyboardInterrupt):
                return INTERRUPTED
            if isinstance(inner, Terminated):
                return TERMINATED
            found = inner
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup) and len(fault.exceptions) == 1:
        fault = fault.exceptions[0]
    return _say_fault(fault)


def _say_error(error: FiredupError) -> int:
    from firedup.cli.complaint import render_error

    return _say(render_error(error), error.exit_status)


def _say_fault(error: BaseException) -> int:
    from firedup.cli.fault import report_fault

    return _say(report_fault(error, os.environ), FAULT)


def _say(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_output()
    try:
        sys.stderr.write(f"firedup: {message}\n")
        sys.stderr.flush()
    except (BrokenPipeError, UnicodeEncodeError):
        pass
    return status


def _silence_output() -> None:
    """Lets the interpreter's own last flush go nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _on_term(*_: object) -> None:
    raise Terminated
