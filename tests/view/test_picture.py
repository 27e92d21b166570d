import re
from xml.etree import ElementTree as ET

from firedup.view.paper import Paper
from tools.picture import PAPER, draw_pictures, find_stale, render_svg

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


def test_a_picture_that_is_old_or_missing_is_found(tmp_path):
    for name, lines in draw_pictures():
        (tmp_path / f"{name}.svg").write_text(render_svg(lines), encoding="utf-8")
    whole = find_stale(tmp_path)
    (tmp_path / "ready.svg").write_text("old", encoding="utf-8")
    (tmp_path / "explain.svg").unlink()

    assert whole == []
    assert sorted(path.name for path in find_stale(tmp_path)) == ["explain.svg", "ready.svg"]
