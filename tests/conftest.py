"""Gives every test the same settings, and a home of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# The test servers of SSH are fixtures that tests of several folders share.
pytest_plugins = ("tests.ssh_server",)

# Examples may be slow on a busy machine, so there is no deadline; in CI they are always the same.
hypothesis.settings.register_profile("firedup", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "firedup")

# What a developer's terminal may have set and what would change the output under test.
TERMINAL_VARIABLES = (
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "TTY_COMPATIBLE",
)

GONE_S = 10.0  # so long a process may take to end that was told to

# The folder of compiled patterns that all tests of a run share, the workers of pytest-xdist too.
CACHE = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Let the catalogue be compiled once in a run, and never into the developer's own cache.

    A shell that starts the tests in the background has them ignore Ctrl-C, and all that they start
    would inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # a worker has inherited the folder
        config.stash[CACHE] = Path(tempfile.mkdtemp(prefix="firedup-cache-"))
        os.environ["XDG_CACHE_HOME"] = str(config.stash[CACHE])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what `pytest_configure` made."""
    if CACHE in config.stash:
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was skipped and why, a line for each reason: a skip is no pass."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")
    terminalreporter.write_line(f"skipped in all: {len(skipped)}")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep run folders, the index and the user's configuration out of the tests and vice versa."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in TERMINAL_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _no_process_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold a test to the processes that it has started: none outlives it.

    Python complains when it forgets one that was not waited for, and fails whatever test runs by
    then, so that those which end of their own accord are waited for here.
    """
    started: list[subprocess.Popen[Any]] = []
    start = subprocess.Popen.__init__

    def note(process: subprocess.Popen[Any], *args: Any, **kwargs: Any) -> None:
        start(process, *args, **kwargs)
        started.append(process)

    monkeypatch.setattr(subprocess.Popen, "__init__", note)
    yield
    left = [process for process in started if process.returncode is None and not _has_gone(process)]
    assert not left, f"started and left running: {[process.args for process in left]}"


def _has_gone(process: subprocess.Popen[Any]) -> bool:
    """Whether a process ends soon; it is killed if not, and waited for in either case."""
    try:
        process.wait(GONE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    return True
