"""`stop`: send the embedded servers of the home away. Data stay; the next `open()` starts them again."""

from __future__ import annotations

from ...infra.embedded.supervisor import stop as stop_servers
from ..output import emit, show
from .frame import Frame


async def stop(frame: Frame, *, force: bool, json: bool) -> int:
    """The verb."""
    home = frame.settings().home
    stopped = await stop_servers(home, force=force)
    if json:
        emit({"home": home, "stopped": stopped})
    else:
        show(f"stopped {' and '.join(stopped)}" if stopped else f"no servers were running in {str(home)!r}")
    return 0
