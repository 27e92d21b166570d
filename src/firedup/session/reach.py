"""How a server in a container, a pod or a unit is asked: where its port is from the host."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firedup.core.error import HostError
from firedup.core.event import Begun, Noted
from firedup.core.model import ServerSpec
from firedup.host.base import Host, LinkError, OperationError
from firedup.host.http import fetch_http
from firedup.host.kubernetes import Pod
from firedup.host.link import Agent, open_agent
from firedup.host.process import Listener, PortFacts, ProcessFacts, fetch_port, sample_tree
from firedup.host.standing import Standing
from firedup.probe.target import make_target
from firedup.profile.schema import EngineProfile
from firedup.session.prober import Prober
from firedup.session.watch import Watch

_ANYWHERE = (None, "", "0.0.0.0", "::")  # noqa: S104 - compared, not bound

INSIDE = 1  # the number of a container's main process as seen in there


def reach(spec: ServerSpec, standing: Standing) -> tuple[ServerSpec, str | None]:
    """`spec` with the address and port at which the host reaches the server.

    Beside it a note when there is none: then the port is None, and the log has to be believed.
    """
    if standing.is_on_host or spec.port is None:
        return spec, None
    if (found := standing.published.get(spec.port)) is not None:
        address, port = found
        bind = None if address in _ANYWHERE else address
        return replace(spec, bind=bind, port=port, derived_ports=()), None
    if standing.address:
        return replace(spec, bind=standing.address, derived_ports=()), None
    why = f"port {spec.port} is not published, so that it cannot be asked whether it is ready"
    return replace(spec, port=None, derived_ports=()), why


async def look_through(agent: Agent, port: int, address: str) -> PortFacts:
    """Who listens on `port`, also where only the network's rules lead to the server.

    Without a proxy in between nobody listens on the host. Then an answer at `address` counts as a
    listener without an owner.
    """
    facts = await fetch_port(agent, port)
    if facts.listeners:
        return facts
    try:
        await fetch_http(agent, port, "/", address=address, method="HEAD", max_bytes=0)
    except OperationError as error:
        if error.code in ("refused", "timeout", "os-error", "not-found", "denied"):
            return facts
    return replace(facts, listeners=(Listener(address, port, 0, ()),), is_complete=False)


def ask_through(
    watch: Watch,
    begun: Begun,
    profile: EngineProfile | None,
    process: ProcessFacts | None,
    pod: Pod | None,
    *,
    container: tuple[str, ...] = (),
    is_on_host: bool,
) -> None:
    """Let a prober ask the server that has `begun`.

    `process` is its main process where the host shows it, `container` its container as
    `make_target` takes it. `is_on_host` says that the port is its own there, with no proxy in
    between. A `pod` is asked from inside.
    """
    identity = (process.pid, process.start_ticks) if process is not None else None
    own = (INSIDE, None) if pod is not None else identity
    target = make_target(watch.agent, begun.spec, profile, process=own, container=container)

    async def find_own(agent: Agent) -> frozenset[int]:
        if identity is None:
            return frozenset()
        sample = await sample_tree(agent, identity[0], start_ticks=identity[1])
        return frozenset(process.pid for process in sample.processes)

    async def look(agent: Agent, port: int) -> PortFacts:
        return await look_through(agent, port, target.address)

    prober = watch.ask_through(target, identity if is_on_host else None, find_own)
    if pod is not None:
        watch.prober = PodProber(
            target, prober.feed, prober.sight, prober.now_ns, lambda: None, prober.family,
            prompt=prober.prompt, max_tokens=prober.max_tokens, deadline_s=prober.deadline_s,
            can_ask_again=False, pod=pod, host=watch.agent.host, begun=begun,
        )  # fmt: skip
    elif not is_on_host:
        prober.look = look


@dataclass(slots=True)
class PodProber(Prober):
    """Asks from inside a pod, by an agent of its own; where there can be none, it says so."""

    pod: Pod | None = None
    host: Host | None = None
    begun: Begun | None = None

    def use(self, agent: Agent) -> None:
        """The link to the host was renewed; the pod's agent comes with the next run."""

    async def run(self) -> None:
        """Ask until the first tokens came, then end."""
        if self.target.spec.port is None or self.pod is None or self.host is None:
            self.is_done = True
            return
        inside = Host(f"{self.host.name},{self.pod.word}", (*self.host.hops, self.pod))
        try:
            async with open_agent(inside) as agent:
                self.target = replace(self.target, agent=agent)
                await super(PodProber, self).run()
        except LinkError as error:
            self._give_up(error)
        except OperationError:
            raise
        except HostError as error:
            self._give_up(error)

    def _give_up(self, error: HostError) -> None:
        """Nothing can be asked: what the log says has to do."""
        text = f"health and tokens are not asked: no agent runs in the pod ({error.what})"
        self.feed(Noted(self.now_ns(), text))
        if self.begun is not None:
            spec = replace(self.begun.spec, port=None)
            self.feed(replace(self.begun, at_ns=self.begun.at_ns, spec=spec))
        self.is_done = True
