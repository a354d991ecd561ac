"""`open`: the whole of Lousa on one exit stack, and `Runtime`, what a program holds while it is open.

    servers → connections → schema → layers → router and its relay → recall → consolidation

Each part starts after what it needs and is closed in reverse, so the relay has handed over what it holds before the
connections go, and the connections are gone before the last process out stops the servers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

from ..agents import extracting, llm
from ..agents.extracting import Extracted, Extraction
from ..agents.ownership import Life
from ..agents.pipeline import Pipeline
from ..agents.progress import Listener
from ..agents.promoting import Promoter
from ..agents.remembering import Remembering
from ..agents.services import Services
from ..consolidation.contract import Report
from ..consolidation.promote import Promote
from ..consolidation.run import Consolidation
from ..consolidation.schedule import Schedule
from ..infra.clock import Clock, SystemClock
from ..infra.connections import Connections
from ..infra.embedded.supervisor import EmbeddedServers
from ..infra.errors import BadInput, SettingsError
from ..infra.identity import PERSON, Principal
from ..infra.migrate import migrate
from ..infra.settings import Settings, load
from ..memory_layers import embedding
from ..memory_layers.ageing import named
from ..memory_layers.context.stores import context_layer
from ..memory_layers.conversation.board import Board
from ..memory_layers.conversation.feed import Feed
from ..memory_layers.conversation.operations import Operations
from ..memory_layers.execution import ledger
from ..memory_layers.execution.artifacts import Artifacts
from ..memory_layers.execution.effects import Effects
from ..memory_layers.execution.executions import Execution, Executions
from ..memory_layers.execution.transcript import Transcript
from ..memory_layers.knowledge.outside import OutsideKnowledgeLayer
from ..memory_layers.knowledge.stores import knowledge_layer
from ..memory_layers.policy import table
from ..memory_layers.pressure import Marks
from ..memory_layers.rebuild.graph import Adoption
from ..memory_layers.recall import Recaller
from ..memory_layers.router import Router
from ..memory_layers.validators import Validator, Validators
from . import execution as executing
from .execution import Result
from .load import load as load_file

_UNSET: Any = object()


class Runtime:
    """An open Lousa. Everything it does belongs to a tenant: the settings', unless the call names another."""

    def __init__(self, settings: Settings, services: Services, consolidation: Consolidation) -> None:
        self.settings = settings
        self.services = services
        self.consolidation = consolidation
        self._pipelines: dict[str, Pipeline] = {}

    async def run(
        self,
        pipeline: Pipeline,
        goal: object,
        *,
        session: str = "default",
        tenant: str | None = None,
        source: str | None = None,
        progress: Listener | None = None,
    ) -> Result:
        """Run a pipeline towards a goal, which is JSON, in a new execution.

        `source` is the file it was loaded from, so that another process can resume it. `progress` is told what happens.
        """
        self._pipelines[pipeline.name] = pipeline
        principal = self._principal("pipeline", session, tenant=tenant)
        return await executing.run(self.services, pipeline, principal, goal, source=source, progress=progress)

    async def resume(
        self,
        execution: UUID | str,
        pipeline: Pipeline | None = None,
        *,
        answer: Any = _UNSET,
        tenant: str | None = None,
        progress: Listener | None = None,
    ) -> Result:
        """Go on with an execution that was interrupted or waits for an answer; nothing that was finished runs again.

        Without `pipeline`, the one that this program ran under the same name, or the file it was loaded from.

        Raises:
            NotFound: no such execution.
            BadInput: its pipeline is unknown here, or it waits for no answer.
            ExecutionBusy: a living process runs it.
        """
        identifier = _identified(execution)
        record = await self.execution(identifier, tenant=tenant)
        found = pipeline or self._pipelines.get(record.pipeline)
        if found is None and record.source is not None:
            found = load_file(record.source).pipeline
        if found is None:
            raise BadInput(
                f"execution {identifier} was run by a pipeline called {record.pipeline!r} that this program does not"
                " know: pass it, runtime.resume(id, pipeline)"
            )
        principal = self._principal("pipeline", record.session, tenant=tenant)
        given = {} if answer is _UNSET else {"answer": answer}
        return await executing.resume(self.services, found, principal, identifier, progress=progress, **given)

    async def execution(self, execution: UUID | str, *, tenant: str | None = None) -> Execution:
        """How an execution stands."""
        return await self.services.executions.get(self._principal(PERSON, tenant=tenant), _identified(execution))

    async def executions(self, limit: int = 20, *, tenant: str | None = None) -> list[Execution]:
        """The newest executions, the newest first."""
        return await self.services.executions.list(self._principal(PERSON, tenant=tenant), limit=limit)

    async def trail(self, execution: UUID | str, *, tenant: str | None = None) -> list[ledger.Recorded]:
        """Who did what in an execution and why, in order, from the audit ledger.

        Whoever holds a `Runtime` holds the servers' addresses, so it asks as an auditor: what was said is there too.
        """
        identifier = _identified(execution)
        await self.execution(identifier, tenant=tenant)
        auditor = self._principal(PERSON, tenant=tenant, roles=("auditor",))
        return await self.services.router.trail(auditor, identifier)

    async def consolidate(
        self, steps: Sequence[str] = (), *, dry_run: bool = False, tenant: str | None = None
    ) -> Report:
        """Tend what is remembered now, without waiting for the schedule; `steps` limits it to some, by name.

        A dry run changes nothing and counts the same.

        Raises:
            BadInput: there is no such step; the message names those that exist.
        """
        owner = self._principal(PERSON, tenant=tenant).tenant
        if dry_run:
            return await self.consolidation.examine(owner, steps)
        report = await self.consolidation.run(owner, steps, by=PERSON)
        assert report is not None, "a run of a fresh name was not done before"
        return report

    async def extract(
        self,
        *,
        retry_failed: bool = False,
        limit: int | None = None,
        session: str | None = None,
        tenant: str | None = None,
    ) -> Extracted:
        """Have the model read what was said and not yet read: to facts, episodes and rules that its text bears out.

        `retry_failed` reads everything that failed again; `limit` ends after so many sources, `session` is only one.

        Raises:
            SettingsError: no model is set.
        """
        if (model := self.services.model) is None:
            raise SettingsError("extraction needs a language model: set LOUSA_MODEL=module:factory")
        if limit is not None and limit < 1:
            raise BadInput(f"limit={limit} reads nothing: leave it out, or ask for one or more")
        owner = self._principal(PERSON, tenant=tenant).tenant
        services = self.services
        extraction = Extraction(services.connections, services.router, model, services.clock)
        return await extraction.run(
            owner, retry_failed=retry_failed, limit=limit, session=session, patience=self.settings.deadline
        )

    async def extraction(
        self, *, retry_failed: bool = False, session: str | None = None, tenant: str | None = None
    ) -> extracting.Standing:
        """How many `extract` would read now, and how many were read or failed; a model is not needed."""
        owner = self._principal(PERSON, tenant=tenant).tenant
        connections = self.services.connections
        return await extracting.standing(connections, owner, retry_failed=retry_failed, session=session)

    def desk(
        self,
        agent: str = PERSON,
        *,
        session: str = "default",
        tenant: str | None = None,
        roles: Collection[str] = (),
    ) -> Remembering:
        """What a script or a person may do with memory outside a pipeline: remember, state facts, recall, forget."""
        principal = self._principal(agent, session, tenant=tenant, roles=roles)
        return Remembering(self.services, principal, Operations(None))

    def board(
        self,
        execution: UUID | str,
        agent: str = PERSON,
        *,
        session: str = "default",
        tenant: str | None = None,
        roles: Collection[str] = (),
    ) -> Board:
        """The board of an execution, for a script or a person: read, write, watch and claim beside its agents."""
        identifier = _identified(execution)
        services = self.services
        return Board(
            services.connections,
            self._principal(agent, session, tenant=tenant, roles=roles, execution=identifier),
            feed=services.feed,
            artifacts=services.artifacts,
            operations=Operations(identifier),
            clock=services.clock,
        )

    def _principal(
        self,
        agent: str,
        session: str = "default",
        *,
        tenant: str | None,
        roles: Collection[str] = (),
        execution: UUID | None = None,
    ) -> Principal:
        owner = self.settings.tenant if tenant is None else tenant
        return Principal(tenant=owner, agent=agent, session=session, execution=execution, roles=frozenset(roles))


@asynccontextmanager
async def open(
    settings: Settings | None = None,
    *,
    clock: Clock | None = None,
    validators: Mapping[str, Validator] | None = None,
    **overrides: object,
) -> AsyncGenerator[Runtime]:
    """Open Lousa: start or join its servers, bring the schema up to date, run a relay.

    Args:
        settings: instead of those from the environment.
        clock: tells the hour; the machine's by default.
        validators: by category, who has the last word on its values (`memory_layers.validators`).
        overrides: single settings, by name: ``lousa.open(home=…, tenant=…)``.

    Raises:
        BadInput: both `settings` and `overrides` were given.
        SettingsError: a setting cannot be used.
        ServerUnavailable: a server cannot be started or does not answer.
        SchemaMismatch: the database was made by a newer version, or holds another model's vectors.
    """
    if settings is not None and overrides:
        raise BadInput(f"give settings, or single ones by name ({', '.join(overrides)}), not both")
    chosen = settings or load(**overrides)
    async with AsyncExitStack() as stack:
        yield await _assemble(chosen, clock, validators, stack)


async def _assemble(
    settings: Settings, given: Clock | None, validators: Mapping[str, Validator] | None, stack: AsyncExitStack
) -> Runtime:
    clock = given or SystemClock()
    model = llm.load(settings.model)
    connections = await connected(settings, stack)
    life = Life(settings.home / "lives")
    await life.start(stack)
    feed = Feed(connections, Marks.of(settings))
    await feed.start(stack)
    context = context_layer(connections, embedding.load(settings.embedder), settings.vector_url)
    await context.start(stack)
    ageing = named(settings.ageing)
    knowledge = knowledge_layer(
        connections, settings.graph_url, clock=clock, deadline=settings.deadline, retires=ageing.retires
    )
    await knowledge.start(stack)
    if isinstance(knowledge, OutsideKnowledgeLayer):
        await Adoption(connections, knowledge).start(stack)
    policy = ageing.over(table())
    rulers = Validators(validators, deadline=settings.deadline)
    router = Router(
        connections, policy, context, knowledge, feed=feed, clock=clock, settings=settings, validators=rulers
    )
    await router.start(stack)
    held = {2: context, 3: knowledge}
    promote = Promote(context, knowledge, None if model is None else Promoter(model))
    consolidation = Consolidation(connections, policy, held, promote=promote, clock=given)
    if settings.consolidate:
        # Over every tenant, and so by the server's hour: a program that plays with time does so for itself.
        scheduled = Consolidation(connections, policy, held, promote=promote)
        await Schedule(scheduled, settings.consolidate_every).start(stack)
    services = Services(
        connections=connections,
        settings=settings,
        clock=clock,
        feed=feed,
        artifacts=Artifacts(connections),
        executions=Executions(connections, clock),
        effects=Effects(connections, clock),
        transcript=Transcript(connections),
        router=router,
        recaller=Recaller(
            connections,
            context,
            knowledge,
            caught_up=router.caught_up,
            clock=clock,
            settings=settings,
            policy=policy,
            ageing=ageing,
        ),
        context=context,
        knowledge=knowledge,
        life=life,
        model=model,
    )
    return Runtime(settings, services, consolidation)


async def connected(settings: Settings, stack: AsyncExitStack) -> Connections:
    """Both servers, started or joined, with the schema up to date."""
    redis_url, postgres_url = await _addresses(settings, stack)
    connections = Connections(redis_url, postgres_url, settings.pool_size, prepare=settings.postgres_prepare)
    await connections.start(stack)
    async with connections.owner_transaction() as connection:
        await migrate(connection)
    return connections


async def _addresses(settings: Settings, stack: AsyncExitStack) -> tuple[str, str]:
    """Where the two servers are: those that the settings name, else our own."""
    need = {name for name, url in (("valkey", settings.redis_url), ("postgres", settings.postgres_url)) if url is None}
    if not need:
        return str(settings.redis_url), str(settings.postgres_url)
    servers = EmbeddedServers(settings.home, fsync=settings.redis_fsync, need=frozenset(need))
    ours = await servers.start(stack)
    return settings.redis_url or ours.redis_url, settings.postgres_url or ours.postgres_url


def _identified(execution: UUID | str) -> UUID:
    if isinstance(execution, UUID):
        return execution
    try:
        return UUID(execution)
    except ValueError:
        raise BadInput(f"{execution!r} is no execution's id: it looks like 019a2b3c-…, as a run prints it") from None
