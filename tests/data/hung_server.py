"""A server of four ranks, of which the third never comes to where the others wait for it."""

import ctypes
import subprocess
import sys
import time
from pathlib import Path

# Compiled under the name of the file in which real ranks wait.
PLACE = "torch/distributed/distributed_c10d.py"
COLLECTIVE = """
import threading
def all_reduce():
    threading.Event().wait()
"""


def read_shard():
    time.sleep(3600)


def forward(rank, all_reduce):
    if rank == 2:
        read_shard()
    all_reduce()


def be_rank(rank):
    known = {}
    exec(compile(COLLECTIVE, PLACE, "exec"), known)
    ctypes.CDLL(None).prctl(15, b"sglang::scheduler_TP%d" % rank, 0, 0, 0)
    forward(rank, known["all_reduce"])


def has_arrived(rank):
    """Whether its process sleeps, after it gave itself its name."""
    head, _, facts = Path(f"/proc/{rank.pid}/stat").read_text().rpartition(")")
    return "(sglang::" in head and facts.split()[0] == "S"


def main():
    words = [__file__, *sys.argv[1:]]
    ranks = [
        subprocess.Popen(
            [f"sglang::scheduler_TP{rank}", *words, str(rank)], executable=sys.executable
        )
        for rank in range(4)
    ]
    while not all(map(has_arrived, ranks)):
        time.sleep(0.02)
    sys.stdout.write("[2026-01-01 00:00:00 TP0] Load weight begin. avail mem=78.50 GB\n")
    sys.stdout.flush()
    time.sleep(3600)


if sys.argv[-1].isdigit():
    be_rank(int(sys.argv[-1]))
else:
    main()
