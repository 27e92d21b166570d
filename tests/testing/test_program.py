"""Programs made for tests start in any folder, also in one whose path holds blanks."""

import subprocess
import sys
from pathlib import Path

from firedup.testing.program import first_lines


def test_an_interpreter_whose_path_holds_a_blank_runs_the_script(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    python = folder / "python3"
    python.symlink_to(sys.executable)
    script = folder / "tool"
    script.write_text(first_lines(str(python)) + "import sys\nprint(sys.argv[1:])\n")
    script.chmod(0o755)

    done = subprocess.run([str(script), "a b", "c"], capture_output=True, text=True, check=True)

    assert done.stdout == "['a b', 'c']\n"
