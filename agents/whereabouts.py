"""Where in a user's own code an error came from, as people read it: ``count.py:12 in count``.

A traceback runs through ours, a tracer's and other libraries' frames; what a user can mend is the innermost frame that
is none of those. Only the file's name is told, because what is told is stored, shown and sent elsewhere.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from traceback import walk_tb
from types import CodeType
from typing import cast

_ROOT = Path(__file__).parents[1]
_OURS = tuple(f"{_ROOT / folder}/" for folder in ("agents", "infra", "memory_layers", "runtime"))
_STANDARD = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))
_INSTALLED = ("/site-packages/", "/dist-packages/")


def whereabouts(error: BaseException) -> str:
    """File, line and function; '' when no code but ours took part. Of a group of errors, the first one's."""
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    steps = [(frame.f_code, line) for frame, line in walk_tb(error.__traceback__) if not _runs_it(frame.f_code)]
    own = [(code, line) for code, line in steps if not _installed(code)]
    for code, line in reversed(own or steps):
        return f"{_name(code)}:{line} in {_function(code)}"
    return ""


def _runs_it(code: CodeType) -> bool:
    """Whether it is ours or Python's."""
    name = code.co_filename
    return name.startswith((*_OURS, "<frozen ")) or (name.startswith(_STANDARD) and not _installed(code))


def _installed(code: CodeType) -> bool:
    return any(folder in code.co_filename for folder in _INSTALLED)


def _function(code: CodeType) -> str:
    """The function that has a name: that around a lambda or a comprehension."""
    return next((part for part in reversed(code.co_qualname.split(".")) if part[0] != "<"), code.co_name)


def _name(code: CodeType) -> str:
    path = Path(code.co_filename)
    return f"{path.parent.name}/{path.name}" if path.name == "__init__.py" else path.name
