"""What a turn is embedded as, whether it asks, and the names in a text."""

from __future__ import annotations

from datetime import UTC, datetime

from lousa.infra.ids import new_id
from lousa.memory_layers.context.spoken import Before, asks, embedded, names
from lousa.memory_layers.records import Memory, MemoryKind, Scope

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def said(text: str, speaker: str | None = "Rita") -> Memory:
    return Memory(
        id=new_id(),
        tenant="acme",
        owner="ana",
        session="s",
        execution=None,
        scope=Scope(),
        kind=MemoryKind.SEMANTIC,
        text=text,
        speaker=speaker,
        occurred_at=NOW,
        recorded_at=NOW,
    )


def test_a_turn_is_embedded_behind_the_one_before_it_each_with_its_speaker() -> None:
    turn = said("Yesterday, with my sister.")
    assert embedded(turn, Before("Otávio", "When did you go?")) == (
        "Otávio: When did you go?\nRita: Yesterday, with my sister."
    )


def test_a_picture_shown_before_is_no_part_of_a_turn_and_its_own_is() -> None:
    turn = said("Mine is older. [image: a red bicycle]")
    assert embedded(turn, Before("Otávio", "Look at this! [image: a dog on a beach]")) == (
        "Otávio: Look at this!\nRita: Mine is older. [image: a red bicycle]"
    )


def test_what_is_no_turn_is_embedded_as_its_text_alone() -> None:
    record = said("The office opens at nine.", speaker=None)
    assert embedded(record, Before("Otávio", "When?")) == "The office opens at nine."


def test_a_turn_asks_though_a_picture_stands_behind_its_question() -> None:
    assert asks("Do you like it? [image: a blue vase]")
    assert not asks("You asked whether I like it? I do.")


def test_names_are_runs_of_capitals_but_not_the_word_that_begins_a_sentence() -> None:
    text = "We met Rita Moura and the people of São Paulo. Yesterday it rained. They liked her."
    assert names(text) == ["rita moura", "sao paulo"]
