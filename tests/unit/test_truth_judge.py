"""The judge says what a newer text tells instead of an older one, and keeps its hands off everything else.

No word of change is needed; what is about another thing, place, attribute or person stands, and so does what is asked,
planned, denied, reported, over, or merely happened. Words weigh the same here: how rare they are is the database's say.
"""

from __future__ import annotations

import json

import pytest
from lousa.memory_layers.records import Fact
from lousa.memory_layers.truth.judge import Verdict, repeats, replaced, restates
from lousa.memory_layers.truth.told import tells


def weigh(_: str) -> float:
    return 3.0


TOLD_ANEW = [
    ("Payment term for invoices: 30 days.", "Invoices are due in 45 days."),
    ("O serviço de pagamentos roda em us-east-1.", "A partir de hoje o serviço de pagamentos roda em sa-east-1."),
    ("The gym opens at 6 am.", "The gym opens at 7 am from next Monday on."),
    ("Vaccination for school children is on Tuesdays.", "School children get their vaccination on Thursdays."),
    ("O aluguel do galpão é R$ 8.500 por mês.", "Fechamos o aluguel do galpão em R$ 9.200 por mês."),
    ("A senha do wifi muda a cada 90 dias.", "A senha do wifi passa a mudar a cada 60 dias."),
    ("Our office is on floor 3 of the Alpha building.", "We moved, the office is on floor 9 of the Alpha building."),
    ("The database runs PostgreSQL 14.", "We upgraded, the database runs PostgreSQL 16."),
    ("A prova de matemática vale 40 pontos.", "A prova de matemática vai valer 50 pontos."),
    ("A reunião de pais é na quarta às 19h.", "A reunião de pais foi remarcada para sexta às 18h."),
    ("The raid starts at 20:00.", "Raid start is 21:30, half of the guild is in another time zone."),
    ("Guild tax is 5%.", "We set the guild tax to 8%."),
    ("O desconto para professores é de 15%.", "Professores têm desconto de 10%."),
    ("The visa fee is 120 euros.", "Visa fee: 145 euros."),
    ("Support e-mail: help@acme.com.", "Customers should write to support@acme.com, that is our support e-mail."),
    ("O gerente da loja do centro é o Paulo.", "A gerente da loja do centro é a Márcia."),
    ("Our lawyer for the merger is Anna Keller.", "Anna Keller left, our lawyer for the merger is Tom Brandt."),
    ("We use Slack for incident calls.", "Incident calls happen in Teams."),
    ("We write our unit tests with Jest.", "Unit tests are written with Vitest."),
    ("The deploy window is Wednesday 10 pm.", "Deploys go out Sunday at 6 am, that is our deploy window."),
    ("O frete grátis vale acima de R$ 199.", "Frete grátis só acima de R$ 249."),
    ("Garantia das geladeiras: 12 meses.", "As geladeiras têm garantia de 24 meses."),
    ("A biblioteca empresta até 3 livros por aluno.", "Cada aluno pode levar até 5 livros emprestados da biblioteca."),
    ("Notice period for tenants is 3 months.", "Tenants have to give 2 months notice."),
    ("The password policy asks for at least 8 characters.", "Passwords need at least 12 characters."),
    ("The API rate limit is 100 requests per minute.", "API rate limit raised to 500 requests per minute."),
    ("Hourly rate for consultants: 95 EUR.", "Consultants are billed at 110 EUR per hour."),
    ("Backups are kept for 30 days.", "Backups are kept for 90 days."),
    ("O código do produto da furadeira é FR-220.", "O código do produto da furadeira mudou para FR-225."),
    ("A comissão dos vendedores é 3%.", "Vendedores ganham comissão de 4% a partir de abril."),
    ("Overtime is paid at 150%.", "Overtime pays 175%."),
    ("Onboarding takes two weeks.", "Onboarding takes three weeks."),
    ("As férias coletivas começam em 20 de dezembro.", "As férias coletivas começam em 23 de dezembro."),
    ("O limite do cartão corporativo é 5 mil reais.", "Subiram o limite do cartão corporativo para 8 mil reais."),
    ("The kids' menu costs $9.", "Kids' menu is $11."),
    ("We serve brunch until 1 pm.", "Brunch is served until 2:30 pm."),
    ("The staging server is at 10.0.4.12.", "Staging server: 10.0.7.33."),
    ("The mentor of the interns is Rita.", "Interns are mentored by Jorge."),
    ("A entrega do TCC é dia 10 de junho.", "O prazo do TCC foi prorrogado, entrega dia 24 de junho."),
    ("O plantão de sábado é da Carla.", "Quem faz o plantão de sábado é o Renato."),
    ("Docs live in Confluence.", "We keep the docs in Notion, not in Confluence."),
    ("The retention period for logs is 14 days.", "Logs: retention went from 14 days to 30 days."),
    ("Parking costs 12 euros a day.", "Parking costs 15 euros a day instead of 12."),
    ("O portal do aluno fica em aluno.escola.br.", "O portal do aluno fica em portal.escola.br."),
    ("A chave pix da empresa é financeiro@loja.com.", "A chave pix da empresa é caixa@loja.com."),
    ("Standup is at 9:30.", "We do standup at 10:15."),
]

ANOTHER_MATTER = [
    ("Standard shipping takes 5 days.", "Express shipping takes 2 days."),
    ("The gym opens at 6 am.", "The gym closes at 10 pm."),
    ("Invoices are due in 30 days.", "Invoices are archived for 10 years."),
    ("Payment term for invoices: 30 days.", "Reminders for unpaid invoices go out after 7 days."),
    ("O serviço de pagamentos roda em us-east-1.", "O bucket de logs fica em sa-east-1."),
    ("O serviço de pagamentos roda em us-east-1.", "O serviço de relatórios roda em sa-east-1."),
    ("O serviço de pagamentos roda em us-east-1.", "Li um artigo comparando a latência entre us-east-1 e sa-east-1."),
    ("O serviço de pagamentos em produção roda em us-east-1.", "O serviço de pagamentos em staging roda em sa-east-1."),
    (
        "O serviço de pagamentos roda em us-east-1.",
        "Será que a gente devia mover o serviço de pagamentos para sa-east-1?",
    ),
    ("O serviço de pagamentos roda em us-east-1.", "Talvez o serviço de pagamentos vá para sa-east-1 no ano que vem."),
    ("O serviço de pagamentos roda em us-east-1.", "O serviço de pagamentos não vai mudar para sa-east-1."),
    ("Payment term for invoices: 30 days.", "Until 2023 the payment term for invoices was 60 days."),
    ("Guild tax is 5%.", "In the other guild, tax is 10%."),
    ("Guild tax is 5%.", "Guild tax used to be 2%."),
    ("Guild tax is 5%.", "Somebody proposed a guild tax of 10%."),
    ("The raid starts at 20:00.", "The dungeon run starts at 18:00."),
    ("The raid starts at 20:00.", "The raid ended at 23:40 yesterday."),
    ("Jejum para glicose: 8 horas.", "Jejum para colesterol: 12 horas."),
    ("Storage in Rotterdam is free for 5 days.", "In Hamburg, storage is free for 3 days."),
    ("Insurance on air freight is 0.4%.", "Insurance on sea freight is 0.7%."),
    ("A Dra. Lívia atende às terças.", "O Dr. Caetano atende às quintas."),
    ("O contrato Alfa tem multa de 10%.", "O contrato Beta tem multa de 20%."),
    ("The contract with Orion renews in March.", "The contract with Vega renews in June."),
    ("A prova de matemática vale 40 pontos.", "A prova de história vale 30 pontos."),
    ("A prova de matemática vale 40 pontos.", "Tirei 32 pontos na prova de matemática."),
    ("A reunião de pais é na quarta.", "A reunião de professores é na sexta."),
    ("No backend os testes são com pytest.", "No frontend a gente usa vitest pros testes."),
    ("O gerente da loja do centro é o Paulo.", "O gerente da loja do shopping é o André."),
    ("Our office is on floor 3.", "The cafeteria is on floor 1."),
    ("Consultants are billed at 110 EUR per hour.", "Juniors are billed at 70 EUR per hour."),
    ("Notice period for tenants is 3 months.", "Notice period for landlords is 6 months."),
    ("The API rate limit is 100 requests per minute.", "The API returned 40 errors per minute."),
    ("Backups are kept for 30 days.", "Logs are kept for 90 days."),
    ("The deploy took 12 minutes.", "The deploy took 18 minutes."),
    ("O pipeline do CI levou 14 minutos hoje.", "O pipeline do CI levou 9 minutos hoje."),
    ("I ran 5 km this morning.", "I ran 8 km this morning."),
    ("My sister has 2 cats.", "My brother has 3 cats."),
    ("We went camping in June.", "We went camping in July."),
    ("I've been painting for 7 years.", "I've been dancing for 3 years."),
    ("Chegaram 200 máscaras.", "Chegaram 500 máscaras."),
    ("O frete grátis vale acima de R$ 199.", "O concorrente dá frete grátis acima de R$ 149."),
    ("Garantia das geladeiras: 12 meses.", "Garantia dos fogões: 6 meses."),
    ("The visa fee is 120 euros.", "If you apply online, would the visa fee be 100 euros?"),
    (
        "Hourly rate for consultants: 95 EUR.",
        "The client asked for an hourly rate of 80 EUR for consultants, we declined.",
    ),
    ("Kids' menu is $11.", "Kids' drinks are $3."),
    ("We serve brunch until 1 pm.", "We serve dinner until 11 pm."),
    ("Minimum order for wholesale is 50 units.", "We sold 80 units to a wholesale customer."),
    ("The max team size is 5 players.", "Only 3 players of the team showed up."),
    ("A chave pix da empresa é financeiro@loja.com.", "O e-mail do RH é rh@loja.com."),
    ("Staging server: 10.0.7.33.", "Production server: 10.0.8.1."),
    ("In Portuguese the button says 'Enviar'.", "In English the button says 'Send'."),
    ("A comissão dos vendedores é 3%.", "As vendas subiram 4% em março."),
    ("Overtime is paid at 150%.", "Sunday work is paid at 200%."),
    ("Check-in is at 15:00.", "Check-out is at 11:00."),
    ("Anna leads the design team.", "Bob leads the sales team."),
    ("O plantão de sábado é da Carla.", "O plantão de domingo é do Renato."),
    ("The meeting on Monday is in room 4.", "The meeting on Tuesday is in room 7."),
    ("A multa por atraso é de 2%.", "Os juros por atraso são de 1% ao mês."),
    ("The first level gives 100 XP.", "The second level gives 250 XP."),
    ("Adult tickets cost 20 dollars.", "Child tickets cost 12 dollars."),
    ("Caroline adopted a dog, it is 2 years old.", "Melanie's dog is 4 years old."),
    ("The lease ends on 30 June.", "The lease started on 1 July."),
    ("Version 2.1 of the app crashes on Android.", "Version 2.3 of the app crashes on iOS."),
    ("O limite do cartão corporativo é 5 mil reais.", "Gastei 1,2 mil reais no cartão corporativo."),
    ("Support answers within 4 hours.", "In premium, support answers within 1 hour."),
    ("Orders that come in by 2 pm ship the same day.", "Orders from Spain ship in 3 days."),
    ("The password policy asks for at least 8 characters.", "My password has 20 characters."),
    ("Retention is 30 days in Germany.", "Retention is 90 days in Brazil."),
    ("Turma A tem 28 alunos.", "Turma B tem 31 alunos."),
    ("Docs live in Confluence.", "The designs live in Figma."),
    ("We use Slack for incident calls.", "We use Zoom for customer calls."),
    ("O ERP é o Totvs.", "O CRM é o Salesforce."),
    ("Lunch is at 12:30 on weekdays.", "Lunch is at 13:30 on Sundays."),
    ("memory 5", "memory 7"),
    ("Note 1 about topic7", "Note 2 about topic9"),
    ("Order 123 ships on 5 May", "Order 124 ships on 7 May"),
    ("notes/a.md has 12 words", "notes/b.md has 15 words"),
    ("Sensor a12 reads 55 degrees", "Sensor b77 reads 33 degrees"),
    ("Yeah, John! Count on me.", "Yeah, Tim! Count on me."),
    ("Tim: Hey John, great to see you!", "John: Hey Tim, great to see you!"),
    ("Ana: my standup is at 9:30.", "Bia: my standup is at 10:15."),
    ("Gold: 10% discount.", "Silver: 5% discount."),
    ("1:41 pm on 12 January, 2024 Tim: it was great.", "5:26 pm on 2 March, 2024 Tim: it was great."),
    ("(10 de junho 14:00) A equipe gostou.", "(12 de junho 15:30) A equipe gostou."),
    ("The photo is here [three turtles on a rock]", "The photo is here [two turtles on a rock]"),
    ("Wow, Chicago sounds great!", "Wow, Boston sounds great!"),
]


@pytest.mark.parametrize(("older", "newer"), TOLD_ANEW)
def test_what_tells_the_same_thing_with_another_value_takes_its_place(older: str, newer: str) -> None:
    verdict = restates(older, newer, weigh)
    assert verdict is not None
    assert verdict.before != verdict.after
    assert verdict.thing, "the words that both share say what the value is of"


@pytest.mark.parametrize(("older", "newer"), ANOTHER_MATTER)
def test_another_thing_or_scope_or_mood_takes_no_place(older: str, newer: str) -> None:
    assert restates(older, newer, weigh) is None


@pytest.mark.parametrize("text", [text for pair in TOLD_ANEW for text in pair])
def test_nothing_takes_its_own_place(text: str) -> None:
    assert restates(text, text, weigh) is None
    assert restates(text, text.upper(), weigh) is None


def test_unlikely_texts_need_more_than_terse_words() -> None:
    older, newer = "The password policy asks for at least 8 characters.", "Passwords need at least 12 characters."
    assert restates(older, newer, weigh, likeness=0.9) is not None
    assert restates(older, newer, weigh, likeness=0.2) is None


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "…", "????", "5", "é", "\u200b", "R$", "@", "a" * 5_000, "5 " * 5_000]
)
def test_odd_texts_tell_nothing(text: str) -> None:
    assert restates(text, text + " 7", weigh) is None
    assert restates("Standup is at 9:30.", text, weigh) is None
    assert restates(text, "Standup is at 9:30.", weigh) is None


def test_a_list_of_values_tells_nothing_anew() -> None:
    older = "The fee is 5 euros."
    newer = "The fee is 7 euros, 8 euros, 9 euros, 10 euros, 11 euros, 12 euros, 13 euros, 14 euros or 15 euros."
    assert restates(older, newer, weigh) is None


class TestRepeating:
    """What repeats a value that gave way."""

    verdict = restates(
        "The payment service runs in us-east-1.", "From today on the payment service runs in sa-east-1.", weigh
    )
    now = "From today on the payment service runs in sa-east-1."

    def repeats(self, text: str) -> bool:
        assert self.verdict is not None
        return repeats(text, self.verdict, self.now, weigh)

    @pytest.mark.parametrize(
        "text",
        [
            "Load-tested the payment service in us-east-1, it held.",
            "The alarms of the payment service in us-east-1 went off.",
            "Deployed the payment service to us-east-1.",
        ],
    )
    def test_an_episode_with_the_old_value_of_the_same_thing_does(self, text: str) -> None:
        assert self.repeats(text)

    @pytest.mark.parametrize(
        "text",
        [
            "The bucket of old logs is in us-east-1.",
            "An article compares the payment service in us-east-1 with others.",
            "The payment service moved from us-east-1 to sa-east-1.",
            "Load-tested the payment service in sa-east-1.",
            "Load-tested the payment service.",
            "Should we bring the payment service back to us-east-1?",
        ],
    )
    def test_another_thing_both_values_or_a_question_does_not(self, text: str) -> None:
        assert not self.repeats(text)

    def test_a_name_is_found_where_it_opens_a_sentence(self) -> None:
        now = "For Spain we ship parcels with Correos Express."
        verdict = restates("Parcels to Spain go with SEUR.", now, weigh)
        assert verdict is not None
        assert repeats("SEUR lost a parcel to Spain.", verdict, now, weigh)
        assert not repeats("SEUR has a new logo.", verdict, now, weigh)

    def test_a_verdict_survives_the_record(self) -> None:
        assert self.verdict is not None
        stored = json.loads(json.dumps(self.verdict.to_json()))
        again = Verdict.parse(stored)
        assert (again.sort, again.before, again.after, again.thing) == (
            self.verdict.sort,
            self.verdict.before,
            self.verdict.after,
            self.verdict.thing,
        )

    def test_the_reason_repeats_nothing_that_was_said(self) -> None:
        assert self.verdict is not None
        assert "us-east-1" not in self.verdict.reason
        assert "payment" not in self.verdict.reason


class TestFacts:
    """What a fact that retired another says of the texts that both rest on."""

    @pytest.mark.parametrize(
        ("before", "after", "told", "anew", "repeating"),
        [
            (
                "us-east-1",
                "sa-east-1",
                "A loja roda em us-east-1.",
                "A loja roda em sa-east-1.",
                "Deploy da loja em us-east-1.",
            ),
            (
                "30 dias",
                "20 dias",
                "Recurso de glosa em 30 dias.",
                "Saiu: glosa em 20 dias.",
                "Mandei a glosa nos 30 dias.",
            ),
            (
                "25_days",
                "28_days",
                "Everyone gets 25 days of vacation.",
                "Vacation: 28 days.",
                "I used my 25 vacation days.",
            ),
            (
                "pytest",
                "unittest",
                "Backend tests use pytest.",
                "Backend tests use unittest.",
                "Ran the backend tests with pytest.",
            ),
        ],
    )
    def test_the_old_value_is_known_in_texts(
        self, before: str, after: str, told: str, anew: str, repeating: str
    ) -> None:
        old = Fact(subject="it", predicate="value", object=before)
        new = Fact(subject="it", predicate="value", object=after)
        verdict = replaced(old, new, told, [anew])
        assert repeats(repeating, verdict, anew, weigh)
        assert not repeats(anew, verdict, anew, weigh)
        assert not repeats(f"Something else: {before.replace('_', ' ')}.", verdict, anew, weigh)

    def test_without_texts_the_names_of_the_fact_say_what_it_is_about(self) -> None:
        old = Fact(subject="payment service", predicate="region", object="us-east-1")
        new = Fact(subject="payment service", predicate="region", object="sa-east-1")
        verdict = replaced(old, new, "", [])
        assert repeats("The payment service is in region us-east-1.", verdict, "", weigh)
        assert not repeats("The log bucket is in us-east-1.", verdict, "", weigh)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The gym opens at 6 am.", True),
        ("I ran 5 km this morning.", False),
        ("O prazo é de 30 dias.", True),
        ("Chegaram 200 caixas.", False),
        ("Is the fee 5 euros?", False),
        ("Talvez a taxa seja de 5%.", False),
        ("Nothing to see here.", False),
    ],
)
def test_only_a_state_or_a_change_with_a_value_tells_something(text: str, told: bool) -> None:
    assert tells(text) is told


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Invoice 2034 is paid.", "Invoice 2035 is paid."),
        ("O pedido 1987 foi enviado para Recife.", "O pedido 1992 foi enviado para Recife."),
        ("Sala 2010 está reservada.", "Sala 2012 está reservada."),
    ],
)
def test_a_number_that_could_be_a_year_is_whatever_stands_before_it(older: str, newer: str) -> None:
    assert restates(older, newer, lambda _: 1.0, 0.99) is None
    assert restates(newer, older, lambda _: 1.0, 0.99) is None


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "Unit 7, Calder Road, Leeds",
            "Dock 3, Sand Park, York",
            "The pallets for the fair went to Calder Road in Leeds.",
        ),
        ("Bernard Ahlquist", "Ingrid Moe", "Took the pallets for the fair over to Bernard."),
    ],
)
def test_a_fact_takes_along_what_tells_its_old_value_in_part(old: str, new: str, text: str) -> None:
    verdict = replaced(
        Fact(subject="fair", predicate="pallets", object=old),
        Fact(subject="fair", predicate="pallets", object=new),
        f"Pallets for the fair go to {old}.",
        [f"Pallets for the fair go to {new}."],
    )
    told = f"Pallets for the fair go to {new}."
    assert repeats(text, verdict, told, weigh)
    assert not repeats("Pallets for the fair go to Oslo.", verdict, told, weigh)
    assert not repeats("Nice weather over in Leeds, said Bernard.", verdict, told, weigh)
