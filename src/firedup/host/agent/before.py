"""What a host holds before a launch: GPUs in use, shared memory left behind, installed packages."""

import glob
import os
import stat as modes
import time

from firedup.host.agent.file import op_which
from firedup.host.agent.nvml import Nvml
from firedup.host.agent.system import read_bytes, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SHARED_FOLDER = "/dev/shm"  # noqa: S108 - looked at, not written
# How engines, PyTorch and NCCL name what they share; the rest is none of ours to judge.
_SHARED_NAMES = ("psm_", "torch_", "nccl-", "sem.mp-", "vllm", "sglang", "cuda.shm.", "__KMP_")
_YOUNG_S = 30.0  # whoever made it may be about to open it
_MOST_SEGMENTS = 4096
_MOST_METADATA = 262144
_GPU_LIBRARY, _GPU_VARIABLE = "libnvidia-ml.so.1", "FIREDUP_NVML"
_NVIDIA = "/proc/driver/nvidia/version"
_DIGEST_PIECES, _DIGEST_PIECE_BYTES = 48, 65536
_MOST_DIGESTED = 256
_GPU_NODES = ("/dev/nvidiactl", "/dev/nvidia0")


def op_before(args: "dict[str, Any]") -> "dict[str, Any]":
    """before {program?, path?, cwd?, packages?, digests?}: GPUs, shared memory, versions, files."""
    python = _find_python(args) if args.get("program") else None
    driver = (read_whole(_NVIDIA) or b"").decode("utf-8", "replace").split("\n")[0].split()
    return {
        "gpus": _list_gpus(),
        "segments": _list_left(),
        "python": python,
        "packages": _list_packages(python, args.get("packages") or []) if python else {},
        "digests": {path: _digest(path) for path in args.get("digests") or []},
        "kernel": os.uname().release,
        "driver": next((word for word in driver if word[:1].isdigit() and "." in word), None),
    }


def _list_gpus() -> "list[dict[str, Any]] | None":
    """Each GPU with its processes, None where there is none to be seen from here."""
    path = os.environ.get(_GPU_VARIABLE)
    if path is None and any(map(os.path.exists, _GPU_NODES)):
        path = _GPU_LIBRARY
    if not path:
        return None
    try:
        nvml = Nvml(path)
    except (OSError, AttributeError):
        return None
    found = nvml.devices()
    for facts in found:
        facts["users"] = [
            {"pid": pid, "used_bytes": used, **_describe_user(pid)}
            for pid, used in nvml.users(facts["index"])
        ]
    return found


def _describe_user(pid: int) -> "dict[str, Any]":
    """Name, parent and run of a process; empty where it is not of this name space."""
    status = (read_bytes(f"/proc/{pid}/status", 4096) or b"").decode("utf-8", "replace")
    fields = dict(line.split(":\t", 1) for line in status.split("\n") if ":\t" in line)
    if not fields:
        return {}
    command = (read_bytes(f"/proc/{pid}/cmdline", 4096) or b"").replace(b"\0", b" ")
    env = (read_whole(f"/proc/{pid}/environ") or b"").split(b"\0")
    run = next((e[12:] for e in env if e.startswith(b"FIREDUP_RUN=")), b"")
    return {
        "name": fields.get("Name", ""),
        "command": command.decode("utf-8", "replace").strip()[:200],
        "parent": int(fields.get("PPid", "0")),
        "run": run.decode("utf-8", "replace") or None,
    }


def _list_left() -> "list[dict[str, Any]]":
    """Shared memory of this user, named as engines do, that no process has mapped or open."""
    found = {}  # type: dict[str, dict[str, Any]]
    try:
        entries = list(os.scandir(_SHARED_FOLDER))[:_MOST_SEGMENTS]
    except OSError:
        return []
    newest = time.time() - _YOUNG_S
    for entry in entries:
        if not entry.name.startswith(_SHARED_NAMES):
            continue
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:  # gone since
            continue
        is_own = facts.st_uid == os.geteuid() and modes.S_ISREG(facts.st_mode)
        if is_own and facts.st_mtime < newest:
            age_s = time.time() - facts.st_mtime
            size = facts.st_blocks * 512
            found[entry.path] = {"path": entry.path, "bytes": size, "age_s": age_s}
    if found:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            _drop_held(pid, found)
    return sorted(found.values(), key=lambda item: -item["bytes"])


def _drop_held(pid: str, found: "dict[str, dict[str, Any]]") -> None:
    maps = read_whole(f"/proc/{pid}/maps") or b""
    if b"/dev/shm/" in maps:
        for line in maps.split(b"\n"):
            if b"/dev/shm/" in line:
                found.pop(os.fsdecode(line[line.index(b"/dev/shm/") :]), None)
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        try:
            found.pop(os.readlink(f"/proc/{pid}/fd/{name}"), None)
        except OSError:
            pass


def _find_python(args: "dict[str, Any]") -> "str | None":
    """The Python that would run the program: itself, or the one that its first line names."""
    path = op_which(args)["found"]
    if path is None:
        return None
    if os.path.basename(path).startswith("python"):
        return str(path)
    head = (read_bytes(path, 4096) or b"").split(b"\n")
    if not head[0].startswith(b"#!"):
        return None
    words = os.fsdecode(head[0][2:]).split()
    if os.path.basename(words[0]) == "env" and len(words) > 1:
        found = op_which(dict(args, program=words[-1]))["found"]
        return str(found) if found else None
    if os.path.basename(words[0]) == "sh" and len(head) > 1:  # an installer's, for a long path
        words = [
            word for word in os.fsdecode(head[1]).replace("'", " ").split() if "python" in word
        ]
    is_python = bool(words) and os.path.basename(words[0]).startswith("python")
    return words[0] if is_python and os.access(words[0], os.X_OK) else None


def _list_packages(python: str, wanted: "list[str]") -> "dict[str, dict[str, Any]]":
    """Version and requirements of the packages in that Python's folders, without running it."""
    folders = []  # type: list[str]
    for prefix in (os.path.dirname(os.path.dirname(python)), _home_of(python)):
        if prefix:
            folders += glob.glob(os.path.join(prefix, "lib*", "python3*", "site-packages"))
            folders += glob.glob(os.path.join(prefix, "lib*", "python3*", "dist-packages"))
    found = {}  # type: dict[str, dict[str, Any]]
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            base, _, ending = name.rpartition(".")
            key = base.split("-")[0].lower().replace("_", "-").replace(".", "-")
            if ending == "dist-info" and key in wanted and key not in found:
                found[key] = _read_metadata(os.path.join(folder, name, "METADATA"), base)
    return found


def _home_of(python: str) -> "str | None":
    """The Python below a virtual environment that lets its packages through."""
    config = os.path.join(os.path.dirname(os.path.dirname(python)), "pyvenv.cfg")
    text = (read_bytes(config, 4096) or b"").decode("utf-8", "replace")
    fields = dict(line.split("=", 1) for line in text.split("\n") if "=" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    if fields.get("include-system-site-packages", "false").lower() != "true":
        return None
    return os.path.dirname(fields["home"]) if "home" in fields else None


def _read_metadata(path: str, base: str) -> "dict[str, Any]":
    text = (read_bytes(path, _MOST_METADATA) or b"").decode("utf-8", "replace")
    head = text.split("\n\n")[0].split("\n")
    version = next((line[9:].strip() for line in head if line.startswith("Version: ")), None)
    needs = [line[15:].strip() for line in head if line.startswith("Requires-Dist: ")]
    return {"version": version or base.rsplit("-", 1)[-1], "requires": needs}


def _digest(path: str) -> "str | None":
    """Tells checkpoints apart by their small files and by pieces of the large ones.

    A second training changes all weights, so that pieces show it; reading all would take minutes.
    """
    import hashlib

    names = [path]
    if os.path.isdir(path):
        names = sorted(os.path.join(path, name) for name in os.listdir(path))[:_MOST_DIGESTED]
    whole = hashlib.sha256()
    try:
        for name in filter(os.path.isfile, names):
            with open(name, "rb", 0) as file:
                size = os.fstat(file.fileno()).st_size
                whole.update(f"{os.path.basename(name)} {size} ".encode("utf-8", "replace"))
                step = max(_DIGEST_PIECE_BYTES, size // _DIGEST_PIECES)
                for offset in range(0, size, step):
                    whole.update(os.pread(file.fileno(), _DIGEST_PIECE_BYTES, offset))
    except OSError:
        return None
    return whole.hexdigest()[:16]
