import io
import threading

import pytest

from firedup.view.pace import Pace
from firedup.view.paper import Paper
from firedup.view.terminal import Terminal, can_draw
from tests.view import story


class Stream(io.StringIO):
    """A terminal in memory; `drawn` is set at the first picture."""

    def __init__(self):
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self):
        return True

    def flush(self):
        if "kimi-drafter" in self.getvalue():
            self.drawn.set()


def terminal(stream):
    return Terminal(stream, Paper(columns=100), size=lambda: (100, 40))


def test_the_last_picture_and_the_statement_stay():
    stream = Stream()
    with terminal(stream) as view:
        view.feed(story.capturing())
        assert stream.drawn.wait(20)
        view.close(story.crashed())

    last = stream.getvalue().rsplit("\x1b[?2026h", 1)[1]
    assert "✗ graph-capture" in last
    assert "cuda-out-of-memory-graph-capture" in last
    assert last.endswith("\r\n\x1b[J\x1b[?25h\x1b[?2026l")


def test_an_interrupted_view_gives_the_cursor_back():
    stream = Stream()
    try:
        with terminal(stream) as view:
            view.feed(story.capturing())
            assert stream.drawn.wait(20)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass

    last = stream.getvalue().rsplit("\x1b[?2026h", 1)[1]
    assert "graph-capture" in last
    assert "\x1b[?25h" in last


def test_a_terminal_that_is_gone_does_not_end_the_watch():
    stream = Stream()
    with terminal(stream) as view:
        view.feed(story.capturing())
        assert stream.drawn.wait(20)
        stream.close()
        view.feed(story.ready())
        view.close(story.ready())


def test_a_fault_in_the_drawing_thread_reaches_the_one_who_feeds():
    asked = threading.Event()

    def size():
        asked.set()
        raise ZeroDivisionError

    view = Terminal(Stream(), Paper(columns=100), size=size)
    view._fed = (story.capturing(), Pace(), 0.0)
    view._thread.start()
    assert asked.wait(20)
    view._thread.join()

    with pytest.raises(ZeroDivisionError):
        view.feed(story.capturing())


def test_a_picture_needs_a_terminal_with_a_cursor():
    assert can_draw(Stream(), {"TERM": "xterm-256color"})
    assert not can_draw(Stream(), {"TERM": "dumb"})
    assert not can_draw(Stream(), {})
    assert not can_draw(io.StringIO(), {"TERM": "xterm"})
