"""A disk that syncs slowly: a shim before the C library, compiled here, that the embedded servers are started with.

While a file `slow-…`, called after a server, lies in the folder of the shim, each fsync or fdatasync that this server
begins takes `SECONDS` longer. Without a C compiler there is no shim, and the campaign says so and leaves those moments
out.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lousa.infra.embedded import launcher

SECONDS = 1.5
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[4096];

/* At once: servers write their titles over the name they were called by. */
__attribute__((constructor)) static void note(void) {
    const char *folder = getenv("CAMPAIGN_SLOW");
    if (folder) snprintf(path, sizeof path, "%s/slow-%s", folder, program_invocation_short_name);
}

static void slow(void) {
    int kept = errno;
    if (path[0] && access(path, F_OK) == 0) usleep(MICROSECONDS);
    errno = kept;
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
    slow();
    return real(fd);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    slow();
    return real(fd);
}
"""


def build(folder: Path) -> Path | None:
    """The shim, made in `folder`; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    source, shim = folder / "slow.c", folder / "slow.so"
    source.write_text(_SOURCE, encoding="utf-8")
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", f"-DMICROSECONDS={int(SECONDS * 1e6)}", "-o", shim, source, "-ldl"],
        capture_output=True,
    )
    folder.chmod(0o755)  # a server may run as somebody else
    return shim if done.returncode == 0 else None


def preload(shim: Path) -> None:
    """From now on this process starts servers with the shim before their C library."""
    plain = launcher.environment

    def environment() -> dict[str, str]:
        return {**plain(), "LD_PRELOAD": str(shim), "CAMPAIGN_SLOW": str(shim.parent)}

    launcher.environment = environment
