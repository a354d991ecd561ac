"""Sentences keep their offsets and know their heading, however the agreement is laid out."""

import pytest
from lousa.examples.contract_review.segments import flat, sentences


def shown(text: str) -> list[tuple[str, str]]:
    return [(s.heading, text[s.start : s.end]) for s in sentences(text)]


def test_a_sentence_goes_on_over_wrapped_lines_blank_lines_and_page_numbers() -> None:
    text = (
        "The supplier shall deliver the\ngoods to the warehouse of the\n\n\n     12\n\n"
        "buyer within ten days. Risk passes then.\n"
    )
    assert [" ".join(quoted.split()) for _, quoted in shown(text)] == [
        "The supplier shall deliver the goods to the warehouse of the 12 buyer within ten days.",
        "Risk passes then.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "12. ASSIGNMENT\n\nNeither party may hand this on.\n",
        "12.1 Assignment. Neither party may hand this on.\n",
        "## Assignment\nNeither party may hand this on.\n",
        "**12. Assignment.** Neither party may hand this on.\n",
        "ASSIGNMENT: Neither party may hand this on.\n",
        "All is said above. 12. Assignment. Neither party may hand this on.\n",
    ],
)
def test_a_heading_is_told_from_what_it_heads(text: str) -> None:
    heading, quoted = shown(text)[-1]
    assert "assignment" in heading
    assert quoted == "Neither party may hand this on."


@pytest.mark.parametrize(
    ("text", "heading", "quoted"),
    [
        ("CLÁUSULA NONA – DO FORO\n\nElegem o foro de Olinda.", "clausula nona - do foro", "Elegem o foro de Olinda."),
        ("Cláusula nona (foro). Elegem o foro de Olinda.", "clausula nona (foro).", "Elegem o foro de Olinda."),
        ("IX. FORO\nElegem o foro de Olinda.", "ix. foro", "Elegem o foro de Olinda."),
        ("Do foro. Elegem as partes o foro de Olinda.", "do foro.", "Elegem as partes o foro de Olinda."),
        ("### Onde se briga?\n\nNo foro de Olinda, e só nele.", "onde se briga?", "No foro de Olinda, e só nele."),
    ],
)
def test_portuguese_headings_are_known_in_their_many_forms(text: str, heading: str, quoted: str) -> None:
    assert shown(text)[-1] == (heading, quoted)


def test_a_short_line_right_above_a_long_one_is_its_heading() -> None:
    long = "A gente guarda a bicicleta de segunda a sexta e avisa por mensagem quando faltar espaço."
    assert shown(f"O básico\n{long}\n")[-1] == ("o basico", long)


def test_numbers_and_letters_of_clauses_are_no_part_of_the_sentence() -> None:
    text = (
        "3.1 O preço é fixo.\n\nG.1 A conta é justa.\n\nB.2.1 A mesa é longa.\n\n"
        "Parágrafo Único. O prazo é curto.\n\na) o serviço começa já;\n\n"
        "Art. 7º O foro é Olinda.\n"
    )
    assert [quoted for _, quoted in shown(text)] == [
        "O preço é fixo.",
        "A conta é justa.",
        "A mesa é longa.",
        "O prazo é curto.",
        "o serviço começa já;",
        "O foro é Olinda.",
    ]


def test_abbreviations_and_numbers_do_not_end_a_sentence() -> None:
    text = "A Sra. Ivete, da Sol Ltda., paga R$ 1.200,00 nos termos do art. 5º da Lei n. 8.245. O resto espera."
    assert [quoted for _, quoted in shown(text)] == [text[:-16], "O resto espera."]


def test_a_title_that_nothing_follows_is_a_sentence() -> None:
    text = "6. Prazo.\n\nUm ano, e não mais que isso.\n\n7. Foro de Paranaguá.\n\n8. Sigilo. Guardam segredo de tudo.\n"
    assert "Foro de Paranaguá." in [quoted for _, quoted in shown(text)]


def test_an_option_that_is_not_ticked_says_nothing() -> None:
    text = "### Term\n\n- [x]  Expires one year from the date.\n- [ ]  Goes on until terminated by a party.\n"
    assert [quoted for _, quoted in shown(text)] == ["Expires one year from the date."]


def test_flat_text_has_no_accents_markup_or_line_breaks() -> None:
    assert flat('A **Cessão**\ndo <span class="x">crédito</span> “à vista”') == 'a cessao do credito "a vista"'


@pytest.mark.parametrize(
    "text", ["", "\n\n", "| a | b |\n|---|---|\n", "....", "(((", "1.\n2.\n3.\n", "\ufeff", "a" * 50_000]
)
def test_any_text_can_be_cut(text: str) -> None:
    assert all(0 <= s.start < s.end <= len(text) for s in sentences(text))
