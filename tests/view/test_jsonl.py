import json
import re
from dataclasses import replace

from firedup.core.forecast import Eta, Forecast
from firedup.core.link import LinkState
from firedup.core.model import Evidence, Finding, Severity, Stage, State, Verdict
from firedup.core.stack import Stacks
from firedup.view.jsonl import JsonLines
from tests.view import story
from tests.view.test_record import documented, documented_events


def kinds(lines):
    return [json.loads(line)["event"] for line in lines]


def later(snapshot, seconds):
    return replace(
        snapshot,
        now_ns=snapshot.now_ns + int(seconds * 1e9),
        wall_ns=snapshot.wall_ns + int(seconds * 1e9),
        elapsed_s=snapshot.elapsed_s + seconds,
    )


def without_link(second):
    link = LinkState(2.0, "link-down", "broken pipe", 4.0, story.LAUNCHED_NS)
    return replace(later(story.stalled(), second), state=State.UNREACHED, link=link)


def test_a_link_that_goes_down_and_comes_back_is_told():
    view = JsonLines()
    view.feed(story.loading())
    down = json.loads(view.feed(without_link(1))[0])
    up = json.loads(view.feed(later(story.stalled(), 2))[0])

    assert down["event"] == up["event"] == "link"
    assert (down["state"], down["trouble"], down["down_s"]) == ("down", "link-down", 2.0)
    assert down["as_of"] == "2026-11-29T12:02:37.000Z"
    assert (up["state"], up["trouble"], up["down_s"]) == ("up", None, 2.0)


def test_only_what_changed_is_said():
    view = JsonLines()

    assert kinds(view.feed(story.loading())) == [
        *("stage", "stage-end", "stage", "stage-end", "stage"),
        *("progress", *["rank"] * 8),
    ]
    assert view.feed(later(story.loading(), 1)) == ()
    assert kinds(view.feed(later(story.loading(done=24), 2))) == ["progress"]


def test_each_stage_that_was_passed_is_said_once_and_in_order():
    view = JsonLines()
    lines = [
        *view.feed(story.loading(20)),
        *view.feed(story.capturing(340)),
        *view.feed(story.ready()),
        *view.feed(story.ready(590)),
    ]
    events = [json.loads(line) for line in lines]

    assert [
        (event["stage"], event["seconds"] if event["event"] == "stage-end" else "begins")
        for event in events
        if event["event"] in ("stage", "stage-end")
    ] == [
        *(("args", "begins"), ("args", 6.2), ("dist-init", "begins"), ("dist-init", 9.4)),
        *(("load-weights", "begins"), ("load-weights", 313.2)),
        *(("draft-load", "begins"), ("draft-load", 4.1)),
        *(("kv-cache", "begins"), ("kv-cache", 2.2), ("graph-capture", "begins")),
        *(("graph-capture", 244.0), ("warmup", "begins"), ("warmup", 3.4), ("ready", "begins")),
    ]


def test_progress_is_thinned_but_its_end_is_said():
    view = JsonLines()
    view.feed(story.loading())

    assert view.feed(later(story.loading(done=24), 0.3)) == ()
    assert kinds(view.feed(later(story.loading(done=64), 0.6))) == ["progress"]


def test_a_heartbeat_says_that_nothing_changed():
    view = JsonLines(heartbeat_s=15)
    view.feed(story.loading())

    assert view.feed(later(story.loading(), 14)) == ()
    (line,) = view.feed(later(story.loading(), 15))
    beat = json.loads(line)
    assert (beat["event"], beat["quiet_s"], beat["stage"]) == ("heartbeat", 4.0, "load-weights")
    assert view.feed(later(story.loading(), 29)) == ()


def test_the_verdict_comes_first_and_the_diagnosis_when_it_is_final():
    view = JsonLines()
    view.feed(story.capturing())
    early = replace(story.crashed(), is_final=False)

    assert kinds(view.feed(early))[-1] == "verdict"
    assert kinds(view.feed(later(story.crashed(), 2))) == ["diagnosis"]
    assert kinds(view.close(later(story.crashed(), 2))) == ["result"]


def test_a_verdict_that_is_taken_back_is_said():
    view = JsonLines()
    view.feed(replace(story.stalled(), is_final=False))
    (line, *_) = view.feed(story.loading())[-1:]

    assert json.loads(line)["verdict"] == Verdict.LOADING


def test_an_interrupted_watch_ends_with_a_result_too():
    view = JsonLines()
    view.feed(story.loading())

    last = json.loads(view.close(story.loading())[-1])
    assert (last["event"], last["verdict"]) == ("result", "loading")


def test_every_key_of_every_event_is_documented():
    view = JsonLines()
    lines = view.feed(story.loading()) + view.feed(later(story.loading(), 20))
    lines += view.feed(replace(later(story.loading(), 25), eta=Eta(ready=Forecast(12.0))))
    lines += view.feed(later(story.ready(), 500)) + view.feed(later(story.stalled(), 600))
    lines += view.feed(without_link(601)) + view.feed(later(story.stalled(), 602))
    told = replace(story.stalled().explanation, stacks=Stacks(1))
    lines += view.feed(replace(later(story.stalled(), 603), explanation=told))
    events = [json.loads(line) for line in lines]
    head = documented("event")
    own = documented_events("`firedup run`, `watch`, `attach` and `restart --json`")

    assert {event["event"] for event in events} == set(own)
    for event in events:
        keys = set(event) - head
        said = re.sub(r"\([^)]*\)", "", own[event["event"]])
        assert head <= set(event)
        assert keys - {"stage"} <= set(re.findall(r"`(\w+)`", said)), event["event"]
        assert set(re.findall(r"`(\w+)`", re.sub(r" in `checks`", "", said))) <= set(event)


def test_events_carry_the_hosts_time():
    *_, line = JsonLines().feed(replace(story.loading(20), ranks=(), progress=None))

    assert json.loads(line) == {
        "schema": 1,
        "event": "stage",
        "time": "2026-11-29T12:02:57.000Z",
        "clock": "host",
        "elapsed_s": 20,
        "stage": Stage.LOAD_WEIGHTS,
        "started": "2026-11-29T12:02:52.600Z",
        "started_clock": "host",
    }


def test_a_finding_whose_evidence_counts_on_is_one_event():
    view = JsonLines()
    told = []
    for second in range(3):
        evidence = (Evidence("sample", f"idle for {second} s"),)
        finding = Finding("no-progress", Severity.SEVERE, "Nothing moves.", evidence)
        at = story.capturing(440 + second)
        told += view.feed(replace(at, explanation=replace(at.explanation, findings=(finding,))))

    assert kinds(told).count("finding") == 1


def test_the_result_says_when_it_was_ready_and_when_it_ended():
    ready = json.loads(JsonLines().close(replace(story.ready(583), elapsed_s=825))[-1])
    crashed = json.loads(JsonLines().close(replace(story.crashed(424), elapsed_s=825))[-1])

    assert (ready["ready_after_s"], ready["ended_after_s"], ready["elapsed_s"]) == (583, None, 825)
    assert (crashed["ready_after_s"], crashed["ended_after_s"]) == (None, 424)
