import ast
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from firedup.host import bundle
from firedup.host.agent.boot import BOOT
from firedup.host.bundle import MODULES, check_modules, join_modules, load_bundle, read_modules

AGENT = Path(bundle.__file__).parent / "agent"
OLDEST = Path.home() / ".pyenv/versions/3.6.15/bin/python"


def test_every_module_of_the_agent_is_in_the_program() -> None:
    names = {path.stem for path in AGENT.glob("*.py")} - {"__init__"}

    assert names == set(MODULES)


def test_the_modules_of_the_agent_can_be_joined() -> None:
    check_modules(read_modules())


def test_the_program_imports_the_standard_library_alone() -> None:
    tree = ast.parse(load_bundle().text)
    imported = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imported |= {alias.name.split(".")[0] for alias in names}
            case ast.ImportFrom(module=str(module)):
                imported.add(module.split(".")[0])

    assert imported <= sys.stdlib_module_names


@pytest.mark.skipif(not OLDEST.exists(), reason="no Python 3.6 here")
def test_python_3_6_compiles_the_program() -> None:
    check = "import sys; compile(sys.stdin.buffer.read(), 'agent', 'exec'); print('fine')"
    done = subprocess.run(
        [OLDEST, "-c", check], input=load_bundle().text, capture_output=True, timeout=100
    )

    assert (done.stdout, done.stderr) == (b"fine\n", b"")


def test_the_version_is_a_checksum_of_the_text() -> None:
    program = load_bundle()

    assert program.version == f"{zlib.crc32(program.text):08x}"


def test_sibling_imports_are_dropped_and_others_stay() -> None:
    text = join_modules(
        {
            "one": "import os\n\nA = os.sep\n",
            "two": "from firedup.host.agent.one import (\n    A,\n)\n\nB = A\n",
        }
    )

    assert "firedup" not in text
    scope: dict[str, object] = {}
    exec(text, scope)
    assert scope["B"] == "/"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(): pass", "both define f"),
        ("from firedup.host.agent.one import f as g", "renamed"),
        ("import firedup.host.agent.one", "can be joined"),
        ("def g():\n    from firedup.host.agent.one import f\n", "inside a block"),
        ("A = 1\n\f\nB = 2\n", "form feed"),
        ('A = """\nfrom firedup.host.agent.one import f\n"""\n', "only looks like"),
        ("from firedup.host.agent.one import f; B = f\n", "only looks like"),
    ],
)
def test_what_cannot_be_joined_is_refused(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_modules({"one": "def f(): pass", "two": source})


def test_the_boot_line_has_no_newline_and_says_when_python_is_too_old() -> None:
    assert "\n" not in BOOT
    old = "import sys; sys.version_info = (3, 5, 2)\n"
    done = subprocess.run(
        [sys.executable, "-c", old + BOOT, "-", "0"], capture_output=True, text=True, timeout=100
    )

    assert done.returncode == 1
    assert "needs Python 3.6 or newer" in done.stderr


def run_program(modules: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = join_modules({"part": read_modules()["part"], **modules})
    return subprocess.run(
        [sys.executable, "-c", BOOT, "-", str(len(program))],
        input=program,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_a_module_runs_after_those_it_needs_and_is_named_in_tracebacks() -> None:
    done = run_program(
        {
            "main": f"from {bundle.PACKAGE}.two import B\nprint(A, B)\nraise ValueError(B)\n",
            "one": "A = 1\n",
            "two": f"from {bundle.PACKAGE}.one import A\n\nB = A + 1\n",
        }
    )

    assert done.stdout == "1 2\n"
    assert 'File "# ---- main", line 3' in done.stderr
    assert done.stderr.endswith("ValueError: 2\n")


def test_a_module_that_is_not_needed_is_not_run_and_one_that_is_runs_once() -> None:
    done = run_program(
        {
            "main": f"from {bundle.PACKAGE}.part import find\nfind('two.f')()\nfind('two.f')()\n",
            "one": "print('one')\n",
            "two": "print('two')\ndef f(): print('f')\n",
        }
    )

    assert done.stdout == "two\nf\nf\n"


def test_the_boot_line_reads_exactly_its_bytes() -> None:
    program = b"import os; print(os.read(0, 100))"
    done = subprocess.run(
        [sys.executable, "-c", BOOT, "-", str(len(program))],
        input=program + b"rest",
        capture_output=True,
        timeout=100,
    )

    assert done.stdout == b"b'rest'\n"
