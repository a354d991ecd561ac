"""A debt raised while it is being paid is due again at once; what needs a vector is taken once that is there."""

from __future__ import annotations

from uuid import UUID

from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.infra.ids import new_id
from lousa.memory_layers.commit import QUERIES


async def taken(connections: Connections, who: Principal, layer: str) -> dict[UUID, int]:
    async with connections.system_transaction(who.tenant) as connection:
        cursor = await connection.execute(QUERIES["take_debts"], {"layer": layer, "limit": 10})
        return dict(await cursor.fetchall())


async def owe(connections: Connections, who: Principal, layer: str, *ids: UUID) -> None:
    async with connections.system_transaction(who.tenant) as connection:
        await connection.execute(QUERIES["owe"], {"ids": list(ids), "layer": layer})


async def pay(connections: Connections, who: Principal, layer: str, read: dict[UUID, int]) -> None:
    async with connections.system_transaction(who.tenant) as connection:
        parameters = {"ids": list(read), "revisions": list(read.values()), "layer": layer}
        await connection.execute(QUERIES["paid"], parameters)


async def test_a_debt_raised_while_it_is_paid_is_due_at_once(connections: Connections, principal: Principal) -> None:
    raised, settled = new_id(), new_id()
    await owe(connections, principal, "knowledge", raised, settled)
    read = await taken(connections, principal, "knowledge")
    assert set(read) == {raised, settled}
    assert await taken(connections, principal, "knowledge") == {}
    await owe(connections, principal, "knowledge", raised)
    await pay(connections, principal, "knowledge", read)
    again = await taken(connections, principal, "knowledge")
    assert set(again) == {raised} and again[raised] > read[raised]
    await pay(connections, principal, "knowledge", again)
    assert await taken(connections, principal, "knowledge") == {}


async def test_what_is_to_be_examined_is_taken_once_its_vector_is_there(
    connections: Connections, principal: Principal
) -> None:
    waiting, ready = new_id(), new_id()
    await owe(connections, principal, "truth", waiting, ready)
    await owe(connections, principal, "context", waiting)
    assert set(await taken(connections, principal, "truth")) == {ready}
    await pay(connections, principal, "context", await taken(connections, principal, "context"))
    assert set(await taken(connections, principal, "truth")) == {waiting}
