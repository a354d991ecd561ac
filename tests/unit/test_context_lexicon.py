"""The lexicon: what is known of a text, and what is left for the database."""

from __future__ import annotations

from lousa.memory_layers.context.lexicon import Lexicon


def stem(piece: str) -> list[str]:
    return [piece.lower().strip(".,")[:4]]


def read_twice(lexicon: Lexicon, text: str) -> None:
    for _ in range(2):
        lexicon.read(text)
    lexicon.learn({piece: stem(piece) for piece in lexicon.noted()})


def test_a_piece_is_noted_when_it_comes_again_and_left_to_the_database_until_it_was_learned():
    lexicon = Lexicon()
    assert lexicon.read("the garden") == ([], "the garden")
    assert lexicon.noted() == []
    assert lexicon.read("a garden, the garden") == ([], "a garden, the garden")
    assert lexicon.noted() == ["the", "garden"]
    lexicon.learn({"the": [], "garden": ["gard"]})
    assert lexicon.noted() == []
    assert lexicon.read("the garden sleeps") == (["gard"], "sleeps")


def test_identifiers_are_exact_whether_their_piece_is_known_or_not():
    lexicon = Lexicon()
    assert lexicon.read("invoice CX-10") == (["=cx10"], "invoice CX-10")
    read_twice(lexicon, "invoice CX-10")
    assert lexicon.read("invoice CX-10") == (["=cx10", "cx-1", "invo"], "")


def test_a_text_that_may_hold_tags_is_left_to_the_database_as_a_whole():
    lexicon = Lexicon()
    read_twice(lexicon, "see the page")
    text = 'see <a title="the page" href="x">the page</a>'
    assert lexicon.read(text)[1] == text


def test_only_so_much_is_remembered():
    lexicon = Lexicon()
    for number in range(30):
        read_twice(lexicon, " ".join(f"word{number}x{n}" for n in range(1_000)))
        while pieces := lexicon.noted():
            lexicon.learn({piece: stem(piece) for piece in pieces})
    assert lexicon.read("word0x0")[1] == "word0x0"
    assert lexicon.read("word29x999")[1] == ""
