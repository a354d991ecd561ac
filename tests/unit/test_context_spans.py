"""When a question is about, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from lousa.memory_layers.context.spans import spans

NOW = datetime(2024, 6, 12, 15, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "begin", "end"),
    [
        ("What did Ana sign on 8 May 2023?", "2023-05-08", "2023-05-09"),
        ("Invoice of May 8th, 2023", "2023-05-08", "2023-05-09"),
        ("o contrato de 8 de maio de 2023", "2023-05-08", "2023-05-09"),
        ("pedido de 2023-05-08", "2023-05-08", "2023-05-09"),
        ("pedido de 08/05/2023", "2023-05-08", "2023-05-09"),
        ("order of 05/28/2023", "2023-05-28", "2023-05-29"),
        ("quem viajou em maio de 2023?", "2023-05-01", "2023-06-01"),
        ("who travelled in December 2023?", "2023-12-01", "2024-01-01"),
        ("what was sold in 2023", "2023-01-01", "2024-01-01"),
        ("o que foi decidido na semana passada?", "2024-06-03", "2024-06-10"),
        ("what did we decide last week?", "2024-06-03", "2024-06-10"),
        ("o que houve no mês passado", "2024-05-01", "2024-06-01"),
        ("há dois meses", "2024-04-01", "2024-05-01"),
        ("three weeks ago", "2024-05-20", "2024-05-27"),
        ("ontem", "2024-06-11", "2024-06-12"),
        ("the day before yesterday", "2024-06-10", "2024-06-11"),
        ("na última sexta-feira", "2024-06-07", "2024-06-08"),
        ("what happened last Friday", "2024-06-07", "2024-06-08"),
        ("as metas deste ano", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_time_in_a_question_is_one_stretch(question: str, begin: str, end: str) -> None:
    [span] = spans(question, NOW)
    assert (span.begin.date().isoformat(), span.end.date().isoformat()) == (begin, end)
    assert span.begin.tzinfo is not None


@pytest.mark.parametrize(
    ("question", "begins"),
    [("who came in May?", "-05-01"), ("a festa de 3 de outubro", "-10-03"), ("em março", "-03-01")],
)
def test_without_a_year_it_is_that_of_any_of_the_last_years(question: str, begins: str) -> None:
    found = {span.begin.date().isoformat() for span in spans(question, NOW)}
    assert {f"{year}{begins}" for year in (2022, 2023, 2024)} <= found
    assert all(day.endswith(begins) for day in found)


@pytest.mark.parametrize(
    "question",
    ["", "May I ask?", "how did the march go?", "segunda via do boleto", "sold 2023 units", "em 31/02/2024", "9" * 400],
)
def test_what_is_no_time_names_none(question: str) -> None:
    assert spans(question, NOW) == ()
