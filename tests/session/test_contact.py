"""Files that do not answer are told one by one, although they are on the same mount."""

from dataclasses import replace

from firedup.core.event import Event, Noted
from firedup.host.base import SilenceError
from firedup.host.file import Silence
from firedup.host.link import Agent
from firedup.session.clock import HostClock
from firedup.session.contact import Contact

LOG = Silence("local", "/nfs/server.log", 5.0)


def silent(path: str) -> SilenceError:
    return SilenceError(f"the file {path} does not answer", where="local", path=path)


async def contact_of(agent: Agent, fed: list[Event]) -> Contact:
    return Contact(agent, await HostClock.read(agent), fed.append)


async def test_two_silent_files_that_are_asked_by_turns_are_told_once_each(agent: Agent) -> None:
    fed: list[Event] = []
    contact = await contact_of(agent, fed)
    for _ in range(3):
        for path in ("/nfs/server.log", "/nfs/samples.jsonl"):
            contact.file_silent(silent(path))

    texts = [event.text for event in fed if isinstance(event, Noted)]
    assert [text.split()[2] for text in texts] == ["/nfs/server.log", "/nfs/samples.jsonl"]


async def test_a_file_that_answers_again_leaves_the_silence_of_another(agent: Agent) -> None:
    contact = await contact_of(agent, [])
    contact.heed(LOG)
    contact.file_silent(silent("/nfs/samples.jsonl"))

    contact.heed(replace(LOG, is_over=True))

    state = contact.state()
    assert state is not None
    assert "/nfs/samples.jsonl" in state.detail
    contact.hears("/nfs/samples.jsonl")
    assert contact.state() is None
