"""Settings: one frozen object, the only reader of the environment.

Every variable begins with ``LOUSA_``. Nothing is required: without any, Lousa keeps its data in the platform's data
folder and starts servers of its own. A wrong value is refused at once, under the name of its variable.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from . import redis_address
from .errors import SettingsError


class Settings(BaseSettings):
    """What can be set, with its defaults. Read once, by `load`."""

    model_config = SettingsConfigDict(env_prefix="LOUSA_", frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("lousa")))
    """Where the embedded servers keep their data, and the lock that several processes share."""
    redis_url: str | None = None
    """A Redis or Valkey of yours; without it one is started in `home`."""
    postgres_url: str | None = None
    """A PostgreSQL of yours with pgvector; without it one is started in `home`."""
    postgres_prepare: bool | None = None
    """Whether statements are prepared under names; without it, unless a pooler cannot bear that."""
    vector_url: str | None = None
    """Where vectors lie: `pinecone://INDEX?host=…`, `langchain:module:factory`; without it in Postgres."""
    graph_url: str | None = None
    """Where the knowledge graph is read: `neo4j://…`; without it in Postgres."""
    redis_fsync: Literal["always", "everysec"] = "always"
    """How the embedded Valkey syncs; `everysec` is faster and may lose its last second."""
    embedder: str = "e5+use"
    """`e5+use`, `e5`, `use`, or `module:factory` of any LangChain Embeddings."""
    model: str | None = None
    """`module:factory` of any LangChain chat model; without it everything is done without one."""
    ageing: Literal["lousa", "naive", "keyed", "decay", "tiers"] = "lousa"
    """How what is remembered gives way to what came later; all but `lousa` are for comparison."""
    tenant: str = "default"
    """Who owns the data when the caller names nobody."""
    deadline: timedelta = timedelta(seconds=2)
    """How long a write-through or a recall waits for a layer before it says which one was silent."""
    lease: timedelta = timedelta(seconds=5)
    """How long a claim or a run holds without a sign of life."""
    task_timeout: timedelta = timedelta(minutes=10)
    """How long one attempt of a task may take."""
    board_kept: timedelta = timedelta(hours=24)
    """How long the board of an execution can be read after its end, once it is in the ledger."""
    pool_size: int = Field(default=8, ge=1, le=200)
    """Connections to each server, at most."""
    debt_entries: int = Field(default=100_000, ge=1)
    """Acknowledged writes of a tenant that may wait in its journal."""
    debt_megabytes: int = Field(default=128, ge=1)
    """Megabytes that those may fill; less where the server's memory is scarce."""
    debt_vectors: int = Field(default=100_000, ge=1)
    """Memories of a tenant that may wait to be embedded."""
    debt_changes: int = Field(default=50_000, ge=1)
    """Changes of a board that may wait for the ledger."""
    debt_soft: float = Field(default=0.5, ge=0, le=1)
    """The share of such a mark from which writers are slowed."""
    debt_delay: timedelta = timedelta(milliseconds=250)
    """How long an acknowledgement is held back just below a mark; 0 never slows."""
    debt_patience: timedelta = timedelta(seconds=5)
    """How long a write waits for room at a mark before it is refused."""
    truth: bool = True
    """Whether a memory that tells the same thing with another value takes the older one's place."""
    consolidate: bool = True
    """Whether an open Lousa consolidates by itself when that is due."""
    consolidate_every: timedelta = timedelta(days=1)
    """How often it is due, over all processes; by days it is at 06:00 UTC."""

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("tenant")
    @classmethod
    def _named(cls, tenant: str) -> str:
        if not tenant.strip():
            raise ValueError("a tenant needs a name")
        return tenant

    @field_validator(
        "deadline",
        "lease",
        "task_timeout",
        "board_kept",
        "debt_delay",
        "debt_patience",
        "consolidate_every",
        mode="before",
    )
    @classmethod
    def _duration(cls, told: object) -> object:
        """Seconds, as a person writes them into a variable; ISO 8601 is pydantic's affair."""
        with suppress(ValueError, OverflowError):
            return timedelta(seconds=float(told)) if isinstance(told, str) else told
        return told

    @field_validator("deadline", "lease", "task_timeout", "board_kept", "consolidate_every")
    @classmethod
    def _positive(cls, duration: timedelta) -> timedelta:
        if duration <= timedelta(0):
            raise ValueError("expected more than 0 seconds")
        return duration

    @field_validator("debt_delay", "debt_patience")
    @classmethod
    def _not_negative(cls, duration: timedelta) -> timedelta:
        if duration < timedelta(0):
            raise ValueError("expected 0 seconds or more")
        return duration

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, url: str | None) -> str | None:
        return url if url is None else redis_address.parse(url).url

    @field_validator("postgres_url")
    @classmethod
    def _postgres(cls, url: str | None) -> str | None:
        return _begins_with(url, "postgresql", "postgres")

    @field_validator("vector_url")
    @classmethod
    def _vectors(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("langchain:", "pinecone:")):
            raise ValueError("expected 'pinecone://INDEX?host=…' or 'langchain:module:factory'")
        return url

    @field_validator("graph_url")
    @classmethod
    def _graph(cls, url: str | None) -> str | None:
        return _begins_with(url, "neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")


def _begins_with(url: str | None, *schemes: str) -> str | None:
    if url is not None and urlsplit(url).scheme not in schemes:
        raise ValueError(f"expected an address that begins with {' or '.join(f'{s}://' for s in schemes)}")
    return url


def load(**overrides: object) -> Settings:
    """The settings from the environment, with what the caller overrides.

    Raises:
        SettingsError: naming the variable and what it would take.
    """
    unknown = overrides.keys() - Settings.model_fields.keys()
    if unknown:
        raise SettingsError(
            f"there is no setting {min(unknown)!r}; the settings are {', '.join(Settings.model_fields)}"
        )
    try:
        return Settings(**overrides)  # pyright: ignore[reportArgumentType]  # pydantic checks what the caller gives
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        message = first["msg"].removeprefix("Value error, ")
        if first["type"].startswith("time_delta"):
            message = "expected a number of seconds, e.g. 2.5, or ISO 8601, e.g. PT10M"
        given = "…" if name.endswith("_url") else repr(first.get("input"))  # an address may hold a password
        raise SettingsError(f"LOUSA_{name.upper()}={given} cannot be used: {message}") from error
