import re
from xml.etree import ElementTree as ET

from firedup.view.paper import Paper
from tools.picture import PAPER, draw_pictures, render_svg

TEXT = "{http://www.w3.org/2000/svg}text"


def test_a_picture_shows_the_lines_and_asks_for_nothing_from_outside():
    paper = Paper(columns=96, has_colour=True)
    svg = render_svg([paper.paint("✗ a < b", "red", "bold") + "  tail", ""])
    root = ET.fromstring(svg)

    assert ["".join(text.itertext()) for text in root.iter(TEXT)] == ["✗ a < b  tail", ""]
    assert "fill:#ff6b6b;font-weight:bold" in svg
    assert re.findall(r"(?:https?:|url\()[^\"']*", svg) == ["http://www.w3.org/2000/svg"]


def test_the_pictures_are_real_views():
    pictures = {name: "\n".join(lines) for name, lines in draw_pictures()}

    assert "64/64 shards 100 %, and goes on" in pictures["loading"]
    assert "ready after" in pictures["ready"]
    assert "gpu-memory-already-used" in pictures["explain"]
    assert PAPER.has_colour
