import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.view.region import Region

COLUMNS, ROWS = 24, 8


class Screen:
    """As much of a terminal as a region needs: enough rows below each other, and a cursor."""

    def __init__(self):
        self.rows = [""]
        self.row = self.column = 0
        self.has_cursor = True

    def write(self, text):
        for sequence, letter in re.findall(r"(\x1b\[\??\d*[a-zA-Z])|([^\x1b])", text):
            if sequence:
                self._obey(sequence)
            elif letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.row += 1
                self.rows += [""] * (self.row + 1 - len(self.rows))
            else:
                line = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = line[: self.column] + letter + line[self.column + 1 :]
                self.column += 1

    def _obey(self, sequence):
        match sequence[2:-1], sequence[-1]:
            case number, "A":
                self.row = max(0, self.row - int(number))
            case "2", "K":
                self.rows[self.row] = ""
            case "", "J":
                self.rows[self.row] = self.rows[self.row][: self.column]
                del self.rows[self.row + 1 :]
            case "", "H":
                self.row = self.column = 0
            case "?25", switch:
                self.has_cursor = switch == "h"
            case "?2026", _:
                pass
            case unknown:
                raise AssertionError(unknown)

    @property
    def shown(self):
        return [row.rstrip() for row in self.rows]


LINES = st.lists(st.text("ab ", max_size=6).map(str.rstrip), min_size=1, max_size=ROWS - 1)


@given(st.lists(LINES, min_size=1, max_size=6), LINES)
def test_the_screen_shows_the_last_lines_and_what_stood_before(frames, last):
    screen, region = Screen(), Region()
    screen.write("before\r\n")
    for lines in frames:
        screen.write(region.draw(lines, columns=COLUMNS, rows=ROWS))
        assert screen.shown == ["before", *lines]

    screen.write(region.close(last, columns=COLUMNS, rows=ROWS))
    assert screen.shown == ["before", *last, ""]
    assert screen.has_cursor


def test_what_has_not_changed_is_not_written():
    region = Region()
    region.draw(["one", "two"], columns=COLUMNS, rows=ROWS)

    assert region.draw(["one", "two"], columns=COLUMNS, rows=ROWS) == ""
    assert "one" not in region.draw(["one", "2"], columns=COLUMNS, rows=ROWS)


def test_a_block_too_high_for_the_terminal_shows_its_end():
    screen, region = Screen(), Region()
    screen.write(region.draw([str(n) for n in range(20)], columns=COLUMNS, rows=4))

    assert screen.shown == ["17", "18", "19"]


def test_a_terminal_that_became_narrower_starts_clean():
    screen, region = Screen(), Region()
    screen.write(region.draw(["a" * 20, "b"], columns=COLUMNS, rows=ROWS))
    screen.write(region.draw(["a", "b"], columns=10, rows=ROWS))

    assert screen.shown == ["a", "b"]


@contextmanager
def tmux(tmp_path, command):
    server = ["tmux", "-S", str(tmp_path / "s"), "-f", "/dev/null"]
    size = ["-x", str(COLUMNS), "-y", str(ROWS)]
    subprocess.run([*server, "new-session", "-d", *size, *command], check=True, timeout=100)
    try:
        yield lambda: subprocess.run(
            [*server, "capture-pane", "-p"], check=True, timeout=100, capture_output=True, text=True
        ).stdout.split("\n")
    finally:
        subprocess.run([*server, "kill-server"], check=True, timeout=100)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux as a real terminal")
def test_a_real_terminal_shows_the_same(tmp_path):
    region, frames = Region(), [["one", "two", "three"], ["one", "2"], ["uno", "2", "tres", "4"]]
    text = "before\r\n" + "".join(region.draw(f, columns=COLUMNS, rows=ROWS) for f in frames)
    text += region.close(["the", "end"], columns=COLUMNS, rows=ROWS)
    code = f"import sys; sys.stdout.write({text!r}); sys.stdout.flush(); sys.stdin.read()"

    with tmux(tmp_path, [sys.executable, "-c", code]) as capture:
        seen = []
        for _ in range(2000):
            seen = [line for line in capture() if line]
            if "end" in seen:
                break

    assert seen == ["before", "the", "end"]
