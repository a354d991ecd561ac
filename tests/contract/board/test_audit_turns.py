"""Several processes copy one board into the ledger, in turns: what another one copied is no loss."""

from __future__ import annotations

from typing import Any

from lousa.infra.connections import Connections
from lousa.infra.identity import Principal
from lousa.memory_layers.auditing import BoardAudit
from lousa.memory_layers.conversation.board import ANY, Written
from lousa.memory_layers.conversation.feed import Feed


async def test_relays_that_take_turns_at_a_board_take_nothing_for_lost(
    room: Any, connections: Connections, principal: Principal
) -> None:
    board = room.board()
    relays = [BoardAudit(connections, Feed(connections)) for _ in range(3)]
    for turn in range(7):
        written = await board.write("field", turn, expect=ANY)
        assert isinstance(written, Written)
        assert written.cursor == f"0-{turn + 1}", "the numbers went on, as after a loss"
        await relays[turn % 3].round()
