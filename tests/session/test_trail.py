"""Generations of a log and the files that hold them, from samples alone."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.event import LogChanged, Sample
from firedup.host.logfile import LogFile, LogFiles
from firedup.session.generation import list_generations
from firedup.session.telling import find_unrecorded, tell_log
from firedup.session.trail import Unseen, Volume, find_volumes, wanted_sizes
from firedup.store.event import LogRange

NS = 1_000_000_000
LOG = "/srv/server.log"


def sample(second: int, data: bytes, ino: int) -> Sample:
    """What the keeper notes of a log that holds `data`."""
    marks = {"log_head": crc32(data[:256]), "log_tail": crc32(data[-256:])}
    return replace(Sample(second * NS, second * NS, len(data)), log_dev=1, log_ino=ino, **marks)


def file(name: str, data: bytes, ino: int, sizes: frozenset[int], second: int = 0) -> LogFile:
    """What the agent tells of a file."""
    tails = {size: crc32(data[max(0, size - 256) : size]) for size in sizes if size <= len(data)}
    return LogFile(
        f"/srv/{name}",
        1,
        ino,
        len(data),
        second * NS,
        is_log=name == "server.log",
        head=crc32(data[:256]),
        tail=crc32(data[-256:]),
        tails={**tails, len(data): crc32(data[-256:])},
    )


def test_a_renamed_file_and_a_copy_are_found_and_a_stranger_is_not() -> None:
    one, two, three = b"a" * 300, b"b" * 400, b"c" * 50
    samples = [sample(1, one, 7), sample(2, two, 8), sample(3, three, 8)]
    generations = list_generations((), samples)
    sizes = wanted_sizes(generations)
    files = (
        file("server.log.2", one, 7, sizes),
        file("server.log.1", two + b"more", 9, sizes),
        file("server.log.old", b"x" * 500, 10, sizes),
        file("server.log", three, 8, sizes),
    )

    volumes = find_volumes(generations, LogFiles(files, 4 * NS, 4 * NS), LOG, 0, None)

    assert [volume.file and volume.file.path[5:] for volume in volumes] == [
        "server.log.2",
        "server.log.1",
        "server.log",
    ]
    assert [(v.end, v.lost_bytes) for v in volumes] == [(300, 0), (404, 0), (50, 0)]
    assert [v.generation.state for v in volumes] == ["opened", "rotated", "truncated"]


def test_an_inode_that_is_used_again_is_another_file() -> None:
    one, two = b"a" * 300, b"b" * 400
    generations = list_generations((), [sample(1, one, 7), sample(2, two, 7)])
    sizes = wanted_sizes(generations)
    files = (file("server.log", two, 7, sizes),)

    volumes = find_volumes(generations, LogFiles(files, 3 * NS, 3 * NS), LOG, 0, None)

    assert [(v.file is not None, v.lost_bytes) for v in volumes] == [(False, 300), (True, 0)]


def test_a_copy_that_lacks_the_last_bytes_leaves_a_gap_of_them() -> None:
    data = b"a" * 300
    samples = [sample(1, data, 7), sample(2, data + b"late", 7), sample(3, b"new", 7)]
    generations = list_generations((), samples)
    sizes = wanted_sizes(generations)
    files = (file("server.log.1", data, 9, sizes), file("server.log", b"new", 7, sizes))

    volumes = find_volumes(generations, LogFiles(files, 4 * NS, 4 * NS), LOG, 0, None)

    assert [(v.end, v.lost_bytes) for v in volumes] == [(300, 4), (3, 0)]


def test_a_short_file_that_was_truncated_and_grew_beyond_its_length_is_two_generations() -> None:
    one, two = b"short\n", b"short again, and longer\n"
    samples = [replace(sample(n, data, 7), log_turn=n) for n, data in ((1, one), (2, two))]
    generations = list_generations((), samples)
    sizes = wanted_sizes(generations)
    files = (file("server.log.1", one, 9, sizes), file("server.log", two, 7, sizes))

    volumes = find_volumes(generations, LogFiles(files, 3 * NS, 3 * NS), LOG, 0, None)

    assert [(v.file and v.file.ino, v.end, v.lost_bytes) for v in volumes] == [
        (9, 6, 0),
        (7, 24, 0),
    ]


def test_files_that_were_moved_away_before_any_sample_had_content_come_first() -> None:
    """Written in seconds 2 and 3; the keeper saw an empty log in 1, and this one in 4."""
    now = b"the third\n"
    generations = list_generations((), [sample(1, b"", 7), sample(4, now, 7)])
    files = (
        file("server.log.1", b"the second\n", 9, frozenset(), 3),
        file("server.log.2", b"the first\n", 8, frozenset(), 2),
        file("server.log.3", b"an earlier run's\n", 6, frozenset(), 0),
        file("server.log", now, 7, wanted_sizes(generations), 4),
    )
    found = LogFiles(files, 5 * NS, 5 * NS)

    volumes = find_volumes(generations, found, LOG, 0, None, Unseen(since=NS))
    emptied = find_volumes(
        list_generations((), [sample(1, b"", 7)]),
        LogFiles(files[:3], 5 * NS, 5 * NS),
        LOG,
        0,
        None,
        Unseen(NS, 5 * NS),
    )

    assert [v.file and v.file.ino for v in volumes] == [8, 9, 7]
    assert [v.generation.state for v in volumes] == ["opened", "rotated", "rotated"]
    assert [v.generation.number for v in volumes] == [0, 1, 2]
    told = list(tell_log(volumes))
    assert [(e.generation, e.state) for e in told if isinstance(e, LogChanged)] == [
        (1, "rotated"),
        (2, "rotated"),
    ]
    assert [e.generation for e in find_unrecorded(volumes, told, ())] == [0, 0, 1, 1, 2, 2]
    assert [v.file.ino for v in emptied if v.file is not None] == [8, 9]


def test_a_log_that_was_copied_truncated_and_then_renamed_is_two_generations() -> None:
    first, last = b"the first\n", b"the last, which is longer\n"
    samples = [sample(1, first, 7)]
    generations = list_generations((), samples)
    sizes = wanted_sizes(generations)
    files = (
        file("server.log.2", first, 8, sizes, 1),
        file("server.log.1", last, 7, sizes, 2),
    )
    found = LogFiles(files, 3 * NS, 3 * NS)

    volumes = find_volumes(generations, found, LOG, 0, None, Unseen(until=3 * NS))

    assert [v.file and v.file.ino for v in volumes] == [8, 7]


def test_a_copy_that_a_session_read_is_what_the_samples_saw_in_the_log() -> None:
    """The log was renamed, and its successor copied and truncated, before a session came back."""
    first, last = b"the first\n", b"the last, which is longer\n"
    samples = [sample(1, first, 7), sample(2, last, 8)]
    recorded = [
        LogChanged(0, "opened", 0, dev=1, ino=7),
        LogRange(NS, 0, 0, len(first)),
        LogChanged(3 * NS, "rotated", 1, dev=1, ino=9),
        LogRange(3 * NS, 1, 0, len(last)),
    ]
    sizes = wanted_sizes(list_generations(recorded, samples))
    files = (
        file("server.log.2", first, 7, sizes, 1),
        file("server.log.1", last, 9, sizes, 2),
        file("server.log", b"", 8, sizes, 2),
    )

    generations = list_generations(recorded, samples, files)
    volumes = find_volumes(generations, LogFiles(files, 3 * NS, 3 * NS), LOG, 0, None)

    assert [(v.file and v.file.ino, v.end, v.lost_bytes) for v in volumes] == [
        (7, len(first), 0),
        (9, len(last), 0),
    ]


def test_a_copy_that_was_recorded_once_is_known_again_by_how_it_ended() -> None:
    """The keeper never saw what was copied away; a session did, and records it by its end."""
    first, last = b"the first, which is longer\n", b"the last\n"
    samples = [sample(1, b"", 7), sample(3, last, 7)]

    def look(recorded: list[LogChanged | LogRange], *, is_over: bool) -> list[Volume]:
        sizes = wanted_sizes(list_generations(recorded, samples))
        files = (
            file("server.log.2" if is_over else "server.log.1", first, 8, sizes, 2),
            file("server.log.1" if is_over else "server.log", last, 7, sizes, 3),
        )
        generations = list_generations(recorded, samples, files)
        bare = Unseen() if recorded else Unseen(since=NS)
        return list(find_volumes(generations, LogFiles(files, 4 * NS, 4 * NS), LOG, 0, None, bare))

    seen = look([], is_over=False)
    opened: list[LogChanged | LogRange] = [LogChanged(0, "opened", 0, dev=1, ino=7)]
    later = look([*opened, *tell_log(seen)], is_over=True)

    assert [(v.file and v.file.ino, v.lost_bytes) for v in seen] == [(8, 0), (7, 0)]
    assert [(v.file and v.file.ino, v.lost_bytes) for v in later] == [(8, 0), (7, 0)]


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 400)), min_size=1, max_size=20)


@given(STEPS, st.integers(0, 19))
def test_what_was_told_once_is_never_told_again(steps: list[tuple[int, int]], cut: int) -> None:
    """A session that records the first part and one that comes later agree on every place."""
    data, ino, samples = b"", 1, []
    written: list[tuple[int, bytes]] = []
    for second, (move, size) in enumerate(steps, 1):
        if move == 1 and data:
            written.append((ino, data))
            ino, data = ino + 1, b""
        data += bytes([second]) * size
        samples.append(sample(second, data, ino))
    written.append((ino, data))

    def tell(recorded: list[LogChanged | LogRange], upto: int) -> list[LogChanged | LogRange]:
        generations = list_generations(recorded, samples[:upto])
        sizes = wanted_sizes(generations)
        there = [(n, d) for n, d in written if n <= (samples[upto - 1].log_ino or 0)]
        there[-1] = (there[-1][0], there[-1][1][: samples[upto - 1].log_size])
        files = [
            file("server.log" if n == there[-1][0] else f"server.log.{n}", d, n, sizes)
            for n, d in there
        ]
        volumes = find_volumes(generations, LogFiles(tuple(files), 0, 0), LOG, 0, None)
        known = [event for event in recorded if isinstance(event, LogRange)]
        return list(find_unrecorded(volumes, list(tell_log(volumes)), known))

    early = tell([], min(cut + 1, len(samples)))
    late = tell(early, len(samples))
    ranges = [event for event in early + late if isinstance(event, LogRange)]
    again = tell(early + late, len(samples))

    assert again == []
    assert not [e for e in early + late if isinstance(e, LogChanged) and e.state == "gap"]
    ends = dict.fromkeys(range(len(written)), 0)
    for event in ranges:
        assert event.offset == ends[event.generation]
        ends[event.generation] += event.length
    assert list(ends.values()) == [len(d) for _, d in written]


def test_a_recorded_number_that_no_log_can_have_makes_no_generations() -> None:
    damaged = [LogRange(2, number, 0, 10) for number in (10**12, -1)]

    generations = list_generations([LogRange(1, 1, 0, 10), *damaged], ())

    assert [one.number for one in generations] == [0, 1]
