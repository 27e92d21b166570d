"""Arms Python processes of a run so that a signal has them write down their own stacks."""

import os
import stat as modes
import time

from firedup.host.agent.proc import is_alive
from firedup.host.agent.system import arming_folder, write_atomically
from firedup.host.agent.task import read_status

# A real-time signal, because the named ones have users: PyTorch's own crash handler speaks to its
# threads by SIGUSR2 (c10/util/signal_handler.cpp), vLLM has told of dead workers by SIGUSR1,
# gunicorn and schedulers use both, and SGLang ends its tree by SIGQUIT. None of them catches or
# sends a real-time signal. 50 lies in the middle of those, away from what C libraries (32 to 34),
# .NET (34) and valgrind (64) take for themselves.
ARM_SIGNAL = 50
_STACKS = "stacks"
_STEP_S = 0.01
_QUIET_STEPS = 10  # without a byte more: faulthandler writes all threads in one go
_STACKS_BYTES = 65536
_KEPT_BYTES = 1 << 20  # of earlier stacks that stay in a file

_CUSTOMIZE = '''\
"""Written by firedup (--arm-stacks): on signal {signal} this process writes down its stacks.

They go to a file of the run's folder. The sitecustomize that Python would have found without this
one runs as ever, and whatever goes wrong in here is let go.
"""

import os
import sys


def _chain(folder):
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


def _arm(folder):
    import _signal
    import atexit
    import faulthandler

    now = dict()

    def begin():
        path = os.path.join(folder, "%d.txt" % os.getpid())
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        now.update(pid=os.getpid(), path=path, file=os.open(path, flags, 0o600))
        faulthandler.register({signal}, file=now["file"], all_threads=True, chain=False)

    def begin_again():  # in a child that was forked: a file of its own, or no stacks at all
        before = now.pop("file", None)
        try:
            begin()
        except Exception:
            faulthandler.unregister({signal})
        if before is not None:
            os.close(before)

    def leave():
        try:
            if now["pid"] == os.getpid() and not os.fstat(now["file"]).st_size:
                os.unlink(now["path"])
        except Exception:
            pass

    if _signal.getsignal({signal}) == _signal.SIG_DFL:
        begin()
        atexit.register(leave)
        os.register_at_fork(after_in_child=begin_again)


_own = os.path.dirname(os.path.abspath(__file__))
try:
    _chain(_own)
finally:
    try:
        _arm(os.path.join(os.path.dirname(_own), "{stacks}"))
    except Exception:
        pass
'''


def arm_run(run_id: str) -> None:
    """Writes into the run's folder what arms its server's processes."""
    folder = arming_folder(run_id)
    for path in (folder, os.path.join(os.path.dirname(folder), _STACKS)):
        os.mkdir(path, 0o700)
    text = _CUSTOMIZE.format(signal=ARM_SIGNAL, stacks=_STACKS)
    write_atomically(os.path.join(folder, "sitecustomize.py"), text.encode("ascii"))


def ask_by_signal(pid: int, starttime: int, until_s: float) -> "tuple[str, str]":
    """(what faulthandler wrote, "") or ("", why there is nothing), no later than `until_s`.

    The process gets the signal only while it catches it and has the file open that was made for
    its stacks: without a handler the signal would end it, and another handler is not ours to call.
    """
    status = read_status(pid)
    if status.get("State", "").startswith(("T", "t")):
        return "", "it is stopped, and so answers no signal"
    if not _catches(status):
        return (
            "",
            f"it is not armed: it does not catch signal {ARM_SIGNAL} (no Python, or -I, -E, -S)",
        )
    inner = status.get("NSpid", str(pid)).split()[-1]
    file = _open_stacks(pid, f"{inner}.txt")
    if file is None:
        return "", f"it is not armed: it catches signal {ARM_SIGNAL} with another handler"
    try:
        begin = os.fstat(file).st_size
        if time.monotonic() >= until_s:
            return "", "no time was left to ask it by a signal"
        # The last look before the signal: exec would have taken the handler away.
        if not is_alive(pid, starttime) or not _catches(read_status(pid)):
            return "", "it ended, or became another program"
        os.kill(pid, ARM_SIGNAL)
        return _read_answer(file, begin, until_s)
    except OSError as error:
        return "", f"it could not be asked by signal {ARM_SIGNAL}: {error.strerror}"
    finally:
        os.close(file)


def _catches(status: "dict[str, str]") -> bool:
    return bool(int(status.get("SigCgt", "0"), 16) >> (ARM_SIGNAL - 1) & 1)


def _open_stacks(pid: int, name: str) -> "int | None":
    """The file that the process itself holds open for its stacks; None where it holds none."""
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return None
    for number in numbers:
        try:
            link = os.readlink(f"{folder}/{number}")
            if not link.endswith(f"/{_STACKS}/{name}"):
                continue
            file = os.open(f"{folder}/{number}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        found = os.fstat(file)
        if modes.S_ISREG(found.st_mode):
            if found.st_size > _KEPT_BYTES:
                os.ftruncate(file, 0)
            return file
        os.close(file)
    return None


def _read_answer(file: int, begin: int, until_s: float) -> "tuple[str, str]":
    """What comes into the file after `begin`, once nothing more comes."""
    size, quiet = begin, 0
    while quiet < _QUIET_STEPS:
        if time.monotonic() >= until_s:
            break
        time.sleep(_STEP_S)
        now = os.fstat(file).st_size
        quiet = quiet + 1 if now == size and now > begin else 0
        size = now
    if size == begin:
        return "", f"it caught signal {ARM_SIGNAL}, but wrote nothing in time"
    text = os.pread(file, _STACKS_BYTES, begin).decode("utf-8", "replace")
    return text, ""
