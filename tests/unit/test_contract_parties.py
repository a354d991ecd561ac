"""Parties are found by full name, and nobody else is."""

import pytest
from lousa.examples.contract_review.documents import document
from lousa.examples.contract_review.parties import party_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "CONTRATO\n\nDe um lado, VIDROS DO CARIRI S.A., CNPJ 1, adiante VENDEDORA; e, de outro, OLARIA BOA "
            "TELHA LTDA., com sede no Distrito Industrial, CNPJ 2, adiante COMPRADORA, celebram este contrato.",
            ["VIDROS DO CARIRI S.A.", "OLARIA BOA TELHA LTDA."],
        ),
        (
            "SUPPLY AGREEMENT\n\nThis agreement is made by and between BRASS LANTERN FOODS, "
            "INC., a Nevada corporation with"
            ' offices in Reno, Nevada 89501 ("Lantern"), and Oona Fairweather, an individual '
            '("Grower").\n\nWHEREAS, Delta'
            " Milling Corp. is a friend of both;",
            ["BRASS LANTERN FOODS, INC.", "Oona Fairweather"],
        ),
        (
            "DEVELOPMENT AGREEMENT\n\nbetween\n\nNORDLYS (SHIPPING) LIMITED\n\nand\n\nKvist "
            "& Sons GmbH\n\n1. Scope. The"
            " parties build a pump.",
            ["NORDLYS (SHIPPING) LIMITED", "Kvist & Sons GmbH"],
        ),
        (
            "CONTRATO\n\nLOCADORA: Zilda Prates Amorim, brasileira, viúva, CPF "
            "000.000.000-00.\n\nLOCATÁRIO: Padaria Sol da"
            " Serra Ltda. – ME, CNPJ 00.000.000/0001-00, representada por seu sócio, Vicente "
            "Lobo Maia.\n\nCLÁUSULA 1ª –"
            " OBJETO\n\nA Imobiliária Teto Bom Ltda. mostrou o imóvel.",
            ["Zilda Prates Amorim", "Padaria Sol da Serra Ltda."],
        ),
        (
            "Pelo presente, de um lado FUNDAÇÃO CASA DE BARRO, com sede na Rua da Aurora, "
            "10, doravante CONTRATANTE, e, de"
            " outro, IRMÃOS TAPAJÓS COMÉRCIO S/A, inscrita no CNPJ, doravante CONTRATADA, "
            "têm entre si justo o que segue.",
            ["FUNDAÇÃO CASA DE BARRO", "IRMÃOS TAPAJÓS COMÉRCIO S/A"],
        ),
        (
            "ADITAMENTO\n\nTorre Clara Redes Ltda. e a Cooperativa Colmeia do Sul ajustam o que segue.\n\nB.1 Em vista "
            "da visita ao município de Torres, no Hospital Santa Rita, muda o preço.",
            ["Torre Clara Redes Ltda.", "Cooperativa Colmeia do Sul"],
        ),
        (
            "ARRENDAMENTO\n\nCompareceram, como Arrendante, Davi Nobre Sales, brasileiro, e, como Arrendatária, a "
            "Companhia Maré Mansa S.A., com sede em Ilhéus.\n\nCLÁUSULA 1ª - OBJETO",
            ["Davi Nobre Sales", "Companhia Maré Mansa S.A."],
        ),
        ("Nothing here is a name, and nobody agrees on anything.", []),
    ],
)
def test_parties_are_those_the_agreement_opens_with(text: str, names: list[str]) -> None:
    assert party_names(document("a.txt", text)) == names


def test_a_name_written_over_two_lines_is_one_name() -> None:
    text = (
        "Agreement between Long Meadow\nCattle Company, a Texas corporation, and Ada "
        "Byron, an individual.\n\nRECITALS\n"
    )
    assert party_names(document("a.txt", text)) == ["Long Meadow Cattle Company", "Ada Byron"]
