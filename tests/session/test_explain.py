"""Whatever lies at a path, explain says something of it or says why it cannot."""

import io
import os
import resource
from pathlib import Path

import pytest
from workbench import RUNS, Knowledge

from firedup.core.error import UsageError
from firedup.core.model import Explanation, Verdict
from firedup.session.explain import Looking, explain_path, explain_stream

TRACEBACK = b"""\
Traceback (most recent call last):
  File "serve.py", line 1, in <module>
ValueError: no
"""


def explain(knowledge: Knowledge, data: bytes) -> Explanation:
    return explain_stream(io.BytesIO(data), matcher=knowledge.matcher, year=2026)


def test_an_empty_log_says_nothing(knowledge: Knowledge, tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()

    found = explain_path(str(tmp_path / "empty.log"), matcher=knowledge.matcher)

    assert (found.verdict, found.cause, found.starts) == (Verdict.UNKNOWN, None, 0)


def test_binary_data_has_no_verdict_of_its_own(knowledge: Knowledge) -> None:
    found = explain(knowledge, bytes(range(256)) * 400 + os.urandom(100_000))

    assert found.verdict in (Verdict.LOADING, Verdict.UNKNOWN)


def test_an_error_within_binary_data_is_found(knowledge: Knowledge) -> None:
    data = b"\x00\xff\x1b[31m\x80" * 5000 + b"\n" + TRACEBACK + b"\xfe\x00" * 5000

    found = explain(knowledge, data)

    assert found.cause is not None
    assert found.cause.line == "ValueError: no"
    assert found.cause.line_number == 4


@pytest.mark.parametrize("quiet_lines", [0, 20_000])
def test_a_line_has_its_number_wherever_it_stands(knowledge: Knowledge, quiet_lines: int) -> None:
    data = b"warming\r\nup\n" * 300 + TRACEBACK + b"so it goes\n" * quiet_lines

    found = explain(knowledge, data)

    assert found.cause is not None
    assert found.cause.line_number == data[: found.cause.offset].count(b"\n") + 1 == 603


def test_one_huge_line_takes_little_memory(knowledge: Knowledge, tmp_path: Path) -> None:
    log = tmp_path / "huge.log"
    with log.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + TRACEBACK)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    found = explain_path(str(log), matcher=knowledge.matcher)

    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert found.cause is not None
    last_line = TRACEBACK.index(b"ValueError")
    assert (found.cause.line_number, found.cause.offset) == (4, (64 << 20) + 1 + last_line)
    assert grown_kib < 20 << 10


def test_a_directory_and_a_missing_file_are_a_user_s_mistakes(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        explain_path(str(tmp_path), matcher=knowledge.matcher)
    with pytest.raises(UsageError, match="there is no log"):
        explain_path(str(tmp_path / "none.log"), matcher=knowledge.matcher)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be read"):
        explain_path(str(tmp_path / "file" / "below.log"), matcher=knowledge.matcher)


def test_a_log_that_may_not_be_read_is_said(
    knowledge: Knowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "secret.log"
    log.touch()

    def refuse(path: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(
        Path, "open", refuse
    )  # root may read anything, so a real mode tells nothing

    with pytest.raises(UsageError, match="may not be read by this user"):
        explain_path(str(log), matcher=knowledge.matcher)


class Growing(io.BytesIO):
    """A log to which its server writes whenever somebody has met its end."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if not data:
            at = self.tell()
            super().write(b"ValueError: written later\n")
            self.seek(at)
        return data


def test_a_growing_log_is_read_to_where_its_end_was_first_met(knowledge: Knowledge) -> None:
    data = (RUNS / "sglang" / "f05_truncated_shard.log").read_bytes()

    found = explain_stream(Growing(data), matcher=knowledge.matcher, year=2026)

    assert found == explain(knowledge, data)


class Truncated(io.BytesIO):
    """A log that its rotator empties as soon as it has been read once."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.truncate(0)
        return super().seek(offset, whence)


def test_a_log_truncated_meanwhile_keeps_its_verdict_and_loses_line_numbers_alone(
    knowledge: Knowledge,
) -> None:
    data = (RUNS / "sglang" / "f05_truncated_shard.log").read_bytes()

    found = explain_stream(Truncated(data), matcher=knowledge.matcher, year=2026)
    whole = explain(knowledge, data)

    assert found.cause is not None
    assert whole.cause is not None
    assert (found.verdict, found.cause.offset) == (whole.verdict, whole.cause.offset)
    assert (found.cause.line, found.cause.line_number) == (whole.cause.line, None)


def test_the_lines_around_the_cause_are_shown_of_a_pipe_and_of_a_file(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    (tmp_path / "s.log").write_bytes(b"one\ntwo\nthree\n" + TRACEBACK + b"four\nfive\nsix\n")
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write((tmp_path / "s.log").read_bytes())

    of_file = explain_path(str(tmp_path / "s.log"), matcher=knowledge.matcher)
    with os.fdopen(read, "rb") as stream:
        of_pipe = explain_stream(stream, matcher=knowledge.matcher)

    for found in (of_file, of_pipe):
        assert found.cause is not None
        assert found.cause.before[-1] == '  File "serve.py", line 1, in <module>'
        assert found.cause.after == ("four", "five")


def test_as_much_is_looked_at_as_asked_for(knowledge: Knowledge) -> None:
    log = io.BytesIO(TRACEBACK + b"four\nfive\nsix\n")

    found = explain_stream(log, matcher=knowledge.matcher, looking=Looking(context=0, tail=2))

    assert found.cause is not None
    assert (found.cause.before, found.cause.after) == ((), ())
    assert found.tail == ("five", "six")


def test_an_export_with_the_newest_line_first_is_explained_from_its_end(
    knowledge: Knowledge,
) -> None:
    log = (RUNS / "sglang" / "f05_truncated_shard.log").read_bytes()
    lines = log.split(b"\n")[:-1]
    turned = b"".join(line + b"\n" for line in reversed(lines))

    found, same = explain(knowledge, turned), explain(knowledge, log)

    assert found.cause is not None
    assert same.cause is not None
    assert found.cause.line == same.cause.line
    assert found.cause.line_number == len(lines) + 1 - (same.cause.line_number or 0)
    assert found.cause.offset == turned.index(same.cause.line.encode())
    assert "the newest line" in found.notes[-1]
