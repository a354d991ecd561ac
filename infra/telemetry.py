"""Spans and measures for whoever listens: OpenTelemetry's API, its names, and nothing else.

Lousa opens no exporter and sends nothing anywhere. An application that has set up a tracer provider sees one span an
operation, named as the GenAI conventions name it (``create_memory``, ``search_memory``, ``invoke_agent`` …). Attributes
are names, kinds and counts; content is never among them. Where nobody listens a span costs a dictionary look-up, and
OpenTelemetry is not even imported by us: a provider can only have been set by somebody who did.

Measures begin with ``lousa.``; docs/back-pressure.md lists them. They carry a layer or a policy, never whose data it
is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

Operation = Literal[
    "create_memory", "search_memory", "update_memory", "delete_memory", "plan", "invoke_agent", "invoke_workflow"
]
Attribute = str | bool | int | float
_NOTHING: AbstractContextManager[object] = nullcontext()


def span(operation: Operation, attributes: Mapping[str, Attribute | None]) -> AbstractContextManager[object]:
    """A span around one operation. Attributes that are None are left out.

    Ours are called ``lousa.layer``, ``lousa.kind``, ``lousa.policy`` and ``lousa.scope``; others keep OpenTelemetry's
    names (``gen_ai.memory.record.id``).
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return _NOTHING
    told = {name: value for name, value in attributes.items() if value is not None}
    told["gen_ai.operation.name"] = operation
    return trace.get_tracer("lousa").start_as_current_span(operation, attributes=told)


def current_ids() -> tuple[str | None, str | None]:
    """Trace and span id in hexadecimal, as the ledger keeps them; None where nobody traces."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None, None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None, None
    return format(context.trace_id, "032x"), format(context.span_id, "016x")


def count(name: str, attributes: Mapping[str, Attribute] | None = None, amount: int = 1) -> None:
    """Add to a counter."""
    if (counter := _instrument("create_counter", name)) is not None:
        counter.add(amount, attributes)


def spread(name: str, value: float, attributes: Mapping[str, Attribute] | None = None) -> None:
    """One more value of a distribution."""
    if (histogram := _instrument("create_histogram", name)) is not None:
        histogram.record(value, attributes)


def level(name: str, value: float, attributes: Mapping[str, Attribute] | None = None) -> None:
    """How high something stands now."""
    if (gauge := _instrument("create_gauge", name)) is not None:
        gauge.set(value, attributes)


_INSTRUMENTS: dict[str, tuple[object, Any]] = {}


def _instrument(create: str, name: str) -> Any:
    """An instrument of the provider that is set; None while nobody listens."""
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None or "_Proxy" in type(provider := metrics.get_meter_provider()).__name__:
        return None
    made, instrument = _INSTRUMENTS.get(name, (None, None))
    if made is not provider:
        instrument = getattr(provider.get_meter("lousa"), create)(name)
        _INSTRUMENTS[name] = provider, instrument
    return instrument
