"""PostgreSQL's own tools, as they come with its server, as ourselves: `pg_dump`, `pg_restore`, `pg_dumpall`, `psql`."""

from __future__ import annotations

import subprocess
from typing import IO

from .launcher import environment
from .privileges import OURSELVES
from .programs import postgres_folder


def begin(name: str, *words: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Begin a tool that reads from a pipe and writes to one; what it complains of goes to the file `errors`."""
    return subprocess.Popen(
        [str(postgres_folder(OURSELVES) / "bin" / name), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment(),
        start_new_session=True,  # Ctrl-C is for us, who end it
    )
