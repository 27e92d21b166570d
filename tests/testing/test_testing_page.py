"""The page on firedup.testing: its example passes, and it names every module."""

import re
from pathlib import Path

import firedup.testing

PAGE = Path(__file__).parents[2] / "docs/reference/testing.md"


def test_the_example_of_the_page_passes(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}

    exec(compile(example, str(PAGE), "exec"), names)
    test = names["test_a_crash_while_loading_has_its_cause"]

    assert callable(test)
    test(tmp_path)


def test_the_page_names_every_module():
    text = PAGE.read_text(encoding="utf-8")
    folder = Path(str(firedup.testing.__file__)).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}

    told = set(re.findall(r"^\| `firedup\.testing\.(\w+)`", text, re.MULTILINE))

    # `answer` is the inside of `engine`.
    assert told == modules - {"answer"}
