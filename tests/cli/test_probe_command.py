"""`firedup probe`, `compare`, `run --then probe`: what is refused before it is measured."""

from __future__ import annotations

import pytest
from typist import Shell

RUN = ("run", "--then", "probe")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("probe", "127.0.0.1:9"), "nobody answers at http://127.0.0.1:9"),
        (("probe", "nobody"), "there is no run nobody"),
        (("probe", "127.0.0.1:9", "--concurrency", "1,x"), "is no list of numbers"),
        (("probe", "127.0.0.1:9", "--concurrency", "8²"), "is no list of numbers"),
        (("probe", "127.0.0.1:9", "--concurrency", "1", "--rate", "2"), "in two ways"),
        (("probe", "127.0.0.1:9", "--category", "poems"), "poems"),
        (("probe", "127.0.0.1:9", "--api-key-env", "NO_SUCH"), "no variable NO_SUCH"),
        (("probe", "http://me:secret@127.0.0.1:9"), "holds a name or a password"),
        (("compare", "one", "two"), "no measurement of 'one' is kept"),
        ((*RUN, "--no-wait", "--", "x"), "waits until the server is ready"),
        ((*RUN, "--baseline", "plain", "--", "x"), "no measurement of 'plain' is kept"),
        ((*RUN, "--concurrency", "0", "--", "x"), "is no list of numbers"),
        (("run", "--baseline", "plain", "--", "x"), "Add --then probe."),
    ],
)
def test_what_cannot_be_measured_is_said_at_once(
    shell: Shell, words: tuple[str, ...], message: str
) -> None:
    done = shell.run(*words)

    assert done.status == 2
    assert message in done.err
    assert "secret" not in done.err
    assert "Traceback" not in done.err
