"""Tries a built wheel alone: all files are in it, and its commands work without the source tree.

usage: python -m tools.try_wheel WHEEL BIN, where BIN is the folder of programs of an environment
that holds the wheel and its run-time requirements only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.tracked import list_files

# A server that dies while it loads: enough to need the catalogue and every part of the pipeline.
LOG = """\
Load weight begin. avail mem=79.10 GB
Traceback (most recent call last):
  File "server.py", line 7, in load
    raise RuntimeError("the weights do not fit")
RuntimeError: the weights do not fit
"""


def find_missing(wheel: Path, root: Path) -> list[str]:
    """The files below src/firedup that the wheel lacks: code, catalogue, models, py.typed."""
    source = root / "src"
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    wanted = (path for path in list_files(root) if path.is_relative_to(source / "firedup"))
    return [name for path in wanted if (name := str(path.relative_to(source))) not in packed]


def run(argv: list[str], folder: Path) -> str:
    """Run one command of the wheel in `folder`; its output, or the end of the whole check."""
    result = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{argv} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def main(wheel: Path, programs: Path) -> None:
    """Check the contents, then run --version, --help and explain."""
    if missing := find_missing(wheel, Path.cwd()):
        sys.exit(f"{wheel} lacks: {', '.join(missing)}")
    firedup = str(programs.absolute() / "firedup")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "server.log").write_text(LOG, encoding="utf-8")
        version = run([firedup, "--version"], folder)
        if wheel.name.split("-")[1] not in version:
            sys.exit(f"{wheel} calls itself {version!r}")
        if "explain" not in run([firedup, "--help"], folder):
            sys.exit("--help does not name the commands")
        explained = json.loads(run([firedup, "explain", "--json", "server.log"], folder))
        if explained["verdict"] != "crashed" or explained["cause"] is None:
            sys.exit(f"explain takes a crash for something else: {explained}")
    print(f"{wheel} works alone: {version.strip()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
