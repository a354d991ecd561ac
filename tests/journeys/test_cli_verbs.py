"""The command line does what its help says, and says what it cannot do in one line with a way out."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from .conftest import Lousa

PIPELINE = dedent(
    """
    from lousa import Accept, Escalate, Finding, Reject, Revise, Task

    async def planner(desk, goal):
        if goal.get("files") == []:
            raise ValueError("nothing to count")
        return [Task("count", word, id=f"count/{word}") for word in goal["files"]]

    async def count(desk, task):
        if task.input == "broken":
            raise ValueError("it broke")
        await desk.board.write(f"length/{task.input}", len(task.input))
        await desk.remember(f"the word {task.input} has {len(task.input)} letters", kind="semantic", scope="tenant")
        return Finding(len(task.input))

    async def critic(desk, findings):
        words = [outcome.task.input for outcome in findings]
        if "maybe" in words:
            return Escalate("is maybe a word?", evidence=["maybe"], options=["yes", "no"])
        if "no" in words:
            return Reject("no", reasons=["no is no"])
        return Accept(sum(found.value for found in findings.found), reasons=["all counted"])
    """
)


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    path = tmp_path / "contagem de palavras.py"
    path.write_text(PIPELINE, encoding="utf-8")
    return path


def test_a_run_shows_its_work_and_its_decision(lousa: Lousa, counting: Path) -> None:
    ended = lousa("run", counting, "lousa", "giz")
    assert ended.code == 0
    assert "accepted: 8" in ended.out and "all counted" in ended.out
    assert "count/lousa finished" in ended.err and "2 tasks" in ended.err
    assert "trail" in ended.out


def test_the_verdict_is_shown_below_what_a_pipeline_renders(lousa: Lousa, counting: Path) -> None:
    hooks = "\nasync def report(result):\n    return {}\n\ndef render(report):\n    return 'a table'\n"
    counting.write_text(PIPELINE + hooks, encoding="utf-8")
    said = lousa("run", counting, "lousa", "no").out
    assert said.index("a table") < said.index("rejected: no") < said.index("no is no") < said.index("trail")


def test_of_many_reasons_the_first_are_shown(lousa: Lousa, counting: Path) -> None:
    counting.write_text(PIPELINE.replace('["all counted"]', '[f"reason {n}." for n in range(30)]'), encoding="utf-8")
    said = lousa("run", counting, "lousa").out
    assert "reason 19." in said and "reason 20." not in said and "and 10 more reasons" in said


def test_a_run_prints_one_object_with_json_and_progress_elsewhere(lousa: Lousa, counting: Path) -> None:
    ended = lousa("run", counting, "lousa", "broken", "--json")
    assert ended.code == 0
    assert ended.json["status"] == "accepted" and ended.json["decision"] == 5 and ended.json["rounds"] == 1
    assert {o["task"]: o["outcome"] for o in ended.json["outcomes"]} == {
        "count/lousa": "found",
        "count/broken": "failed",
    }
    assert "it broke" in ended.err


def test_a_goal_comes_from_the_command_line_or_a_file(lousa: Lousa, counting: Path, tmp_path: Path) -> None:
    (tmp_path / "goal.json").write_text('{"files": ["ação"]}', encoding="utf-8")
    assert lousa("run", counting, "--goal", '{"files": ["ção"]}', "--json").json["decision"] == 3
    assert lousa("run", counting, f"--goal=@{tmp_path / 'goal.json'}", "--json").json["decision"] == 4


@pytest.mark.parametrize(
    ("words", "code"), [(["lousa"], 0), (["no"], 10), (["maybe"], 3)], ids=["accepted", "rejected", "waiting"]
)
def test_the_exit_code_says_how_the_run_stands(lousa: Lousa, counting: Path, words: list[str], code: int) -> None:
    assert lousa("run", counting, *words).code == code


def test_a_person_answers_and_the_run_goes_on(lousa: Lousa, counting: Path) -> None:
    waiting = lousa("run", counting, "maybe")
    assert "is maybe a word?" in waiting.out and "yes" in waiting.out and "resume" in waiting.out
    identifier = lousa("run", counting, "maybe", "--json").json["execution"]
    accepted = lousa("resume", identifier, "--answer", "sim, é", "--json")
    assert (accepted.code, accepted.json["status"], accepted.json["decision"]) == (0, "accepted", "sim, é")
    again = lousa("run", counting, "maybe", "--json").json["execution"]
    assert lousa("resume", again, "--verdict", "reject", "--answer", "not a word", "--json").code == 10
    third = lousa("run", counting, "maybe", "--json").json["execution"]
    assert lousa("resume", third, "--verdict", "revise", "--answer", '["count/maybe"]', "--json").code == 3


def test_a_board_is_read_and_written_without_overwriting_unseen(lousa: Lousa, counting: Path) -> None:
    identifier = lousa("run", counting, "maybe", "--json").json["execution"]
    assert lousa("board", identifier, "--json").json["length/maybe"] == 5
    assert lousa("board", identifier, "length/maybe").out.strip() == "5"
    assert lousa("board", identifier, "novo campo/ç%{}", "--write", '{"a": [1]}').code == 0
    refused = lousa("board", identifier, "length/maybe", "--write", "6")
    assert refused.code == 7 and "--expect 1" in refused.err
    assert lousa("board", identifier, "length/maybe", "--write", "6", "--expect", "1", "--json").json["version"] == 2
    assert lousa("board", identifier, "length/maybe", "--write", "seven", "--expect", "any").code == 0
    assert lousa("board", identifier, "length/maybe", "--json").json == {
        "field": "length/maybe", "value": "seven", "version": 3
    }  # fmt: skip
    assert lousa("board", identifier, "length/*", "--json").json == {"length/maybe": "seven"}


def test_a_watcher_of_a_run_that_ended_is_told_all_and_let_go(lousa: Lousa, counting: Path) -> None:
    identifier = lousa("run", counting, "lousa", "--json").json["execution"]
    ended = lousa("board", identifier, "--watch", "--json")
    assert ended.code == 0
    assert json.loads(ended.out.splitlines()[0])["fields"]["length/lousa"] == 5


def test_what_is_remembered_is_recalled(lousa: Lousa) -> None:
    told = lousa("remember", "O prazo do contrato da Acme é de 24 meses", "--json")
    assert told.code == 0 and told.json["state"] in ("stored", "duplicate")
    found = lousa("recall", "prazo do contrato Acme", "-k", "1", "--json").json["hits"]
    assert [hit["id"] for hit in found] == [told.json["id"]]
    assert "24 meses" in lousa("recall", "prazo do contrato Acme").out
    elsewhere = ("--session", "another", "--agent", "another", "--json")
    assert lousa("recall", "prazo do contrato Acme", *elsewhere).json["hits"] == []
    assert lousa("recall", "prazo do contrato Acme", "--tenant", "somebody else", "--json").json["hits"] == []


def test_a_fact_is_told_in_three_parts_and_the_newer_one_holds(lousa: Lousa) -> None:
    lousa("remember", "Acme | notice period | 30 days", "--kind", "fact", "--scope", "tenant")
    newer = lousa("remember", "Acme | notice period | 60 days", "--kind", "fact", "--scope", "tenant", "--json")
    assert len(newer.json["superseded"]) == 1
    texts = [hit["text"] for hit in lousa("recall", "notice period of Acme", "--kind", "fact", "--json").json["hits"]]
    assert len(texts) == 1 and "60 days" in texts[0]


def test_what_comes_from_the_web_stays_in_quarantine(lousa: Lousa) -> None:
    ended = lousa("remember", "the moon is made of cheese", "--source", "web")
    assert ended.code == 0 and "quarantined" in ended.out and "confirms" in ended.err
    assert lousa("recall", "moon cheese", "--json").json["hits"] == []


def test_a_quarantined_memory_is_confirmed_by_the_command_that_is_shown(lousa: Lousa) -> None:
    told = lousa("remember", "the moon is made of cheese", "--source", "web", "--agent", "reader")
    identifier = told.out.split()[1]
    assert f"confirm {identifier}" in told.err
    assert lousa("confirm", identifier, "--reason", "I was there", "--json").json["state"] == "stored"
    assert [hit["id"] for hit in lousa("recall", "moon cheese", "--json").json["hits"]] == [identifier]
    forgotten = lousa("forget", identifier, "--reason", "it was basalt")
    assert forgotten.code == 0 and forgotten.out.split() == ["withdrawn", identifier]
    assert lousa("recall", "moon cheese", "--json").json["hits"] == []
    again = lousa("confirm", identifier, "--reason", "still")
    assert again.code == 4 and "forgotten" in again.err


def test_another_tenant_s_memory_can_be_neither_confirmed_nor_forgotten(lousa: Lousa) -> None:
    identifier = lousa("remember", "the moon is made of cheese", "--source", "web", "--json").json["id"]
    for verb in ("confirm", "forget"):
        assert lousa(verb, identifier, "--reason", "mine", "--tenant", "somebody else").code == 4
    assert lousa("confirm", identifier, "--reason", "mine", "--json").json["state"] == "stored"


def test_a_list_of_boards_says_what_was_interrupted_and_that_there_is_nothing_yet(
    lousa: Lousa, counting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = lousa("board")
    assert nothing.code == 0 and "nothing was run" in nothing.out and "tenant" in nothing.out

    async def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("lousa.runtime.execution._end", killed)
        assert lousa("run", counting, "lousa").code == 130
    assert lousa("board", "--json").json["executions"][0]["status"] == "interrupted"
    listed = lousa("board")
    assert "interrupted" in listed.out and "lousa resume" in listed.err


def test_a_trail_says_who_did_what_in_order(lousa: Lousa, counting: Path) -> None:
    identifier = lousa("run", counting, "lousa", "--json").json["execution"]
    entries = lousa("trail", identifier, "--json").json["trail"]
    assert [entry["number"] for entry in entries] == list(range(1, len(entries) + 1))
    done = [(entry["agent"], entry["action"], entry["field"]) for entry in entries]
    assert ("count", "board.write", "length/lousa") in done
    assert (done[0][1], done[-1][1]) == ("execution.begin", "execution.end")
    _, *lines = lousa("trail", identifier).out.splitlines()
    assert len(lines) == len(entries) and any("count" in line and "length/lousa" in line for line in lines)


def test_a_trail_says_what_was_asked_answered_and_decided_and_why(lousa: Lousa, counting: Path) -> None:
    identifier = lousa("run", counting, "maybe", "--json").json["execution"]
    lousa("resume", identifier, "--verdict", "accept", "--answer", "it is a word", "--json")
    did = {line.split()[3]: line for line in lousa("trail", identifier).out.splitlines()[1:]}
    assert "is maybe a word?" in did["execution.wait"]
    assert "user" in did["execution.answer"] and "it is a word" in did["execution.answer"]
    assert "it is a word" in did["execution.end"] and '"files"' in did["execution.begin"]
    entries = lousa("trail", identifier, "--json").json["trail"]
    remembered = [entry for entry in entries if entry["memory"] and entry["basis"]["kind"] == "semantic"]
    assert [entry["payload"]["text"] for entry in remembered] == ["the word maybe has 5 letters"]
    assert any("semantic: the word maybe has 5 letters" in line for line in lousa("trail", identifier).out.splitlines())


def test_a_trail_gives_the_reasons_of_a_decision_and_the_error_of_a_failed_run(lousa: Lousa, counting: Path) -> None:
    rejected = lousa("run", counting, "no", "--json").json["execution"]
    _, *lines = lousa("trail", rejected).out.splitlines()
    assert "execution.end" in lines[-1] and "no, because no is no" in lines[-1]
    assert any("decision: " in line and "no, because no is no" in line for line in lines)
    assert lousa("run", counting, "--goal", '{"files": []}').code == 1
    failed = lousa("board", "--json").json["executions"][0]["id"]
    assert "nothing to count" in lousa("trail", failed).out.splitlines()[-1]


def test_doctor_says_what_is_in_force_and_that_all_is_well(lousa: Lousa, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOUSA_REDIS_URL", "LOUSA_POSTGRES_URL"):  # other tests leave dead letters on the common servers
        monkeypatch.delenv(variable)
    ended = lousa("doctor", "--json")
    assert ended.code == 0, ended.out
    settings = {line["variable"]: line for line in ended.json["settings"]}
    assert settings["LOUSA_TENANT"]["origin"] == "environment" and settings["LOUSA_LEASE"]["origin"] == "default"
    assert {"redis", "postgres", "schema", "embedder", "debts"} <= {check["what"] for check in ended.json["checks"]}
    assert "all is well" in lousa("doctor").out


def test_doctor_reports_a_server_that_is_not_there(
    lousa: Lousa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOUSA_REDIS_URL", f"unix://{tmp_path}/nobody.sock")
    ended = lousa("doctor", "--json")
    assert ended.code == 8
    assert ended.json["well"] is False and ended.json["checks"][-1]["state"] == "wrong"


def test_stop_says_that_nothing_runs(lousa: Lousa) -> None:
    assert lousa("stop", "--json").json["stopped"] == []


NOBODY = "019a0000-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["run", "nowhere.py"], 2, "no pipeline"),
        (["run", "{counting}", "--goal", "{"], 2, "no JSON"),
        (["run", "{counting}", "word", "--goal", "{}"], 2, "not both"),
        (["run", "{counting}", "--goal", "@nowhere.json"], 2, "cannot be read"),
        (["run", "{counting}", "--session", " "], 2, "session"),
        (["run"], 2, "--help"),
        (["fly"], 2, "--help"),
        (["resume", "abc"], 2, "no execution's id"),
        (["resume", NOBODY], 4, NOBODY),
        (["board", NOBODY], 4, NOBODY),
        (["trail", NOBODY], 4, NOBODY),
        (["board", "--watch"], 2, "--watch needs"),
        (["confirm", "abc", "--reason", "x"], 2, "no memory's id"),
        (["forget", NOBODY, "--reason", " "], 2, "--reason"),
        (["confirm", NOBODY], 2, "--reason"),
        (["confirm", NOBODY, "--reason", "x"], 4, NOBODY),
        (["forget", NOBODY, "--reason", "x"], 4, NOBODY),
        (["remember", "x", "--kind", "opinião"], 2, "there are semantic, episodic, procedural, block, fact"),
        (["board", NOBODY, "--write", "1"], 2, "needs the field"),
        (["board", NOBODY, "a", "--write", "1", "--expect", "x"], 2, "--expect"),
        (["recall", "x", "--kind", "song"], 2, "no memory kind"),
        (["recall", "x", "--as-of", "yesterday"], 2, "--as-of"),
        (["recall", "x", "--tenant", " "], 2, "LOUSA_TENANT"),
        (["remember", "x", "--scope", "everyone"], 2, "no scope"),
        (["remember", "x", "--kind", "fact"], 2, "subject | predicate | object"),
        (["remember", "x", "--source", "rumour"], 2, "rumour"),
    ],
)
def test_what_cannot_be_done_is_one_line_with_a_way_out(
    lousa: Lousa, counting: Path, words: list[str], code: int, told: str
) -> None:
    ended = lousa(*(word.replace("{counting}", str(counting)) for word in words))
    assert ended.code == code, ended.err
    errors = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and told in errors[0]
    assert "Traceback" not in ended.err and ended.out == ""


def test_another_tenant_s_execution_is_not_found(lousa: Lousa, counting: Path) -> None:
    identifier = lousa("run", counting, "lousa", "--json").json["execution"]
    for verb in ("board", "trail", "resume"):
        assert lousa(verb, identifier, "--tenant", "somebody else").code == 4


def test_a_traceback_is_shown_to_who_asks_for_it(lousa: Lousa) -> None:
    assert "Traceback" in lousa("--debug", "run", "nowhere.py").err
    assert "Traceback" in lousa("run", "nowhere.py", "--debug").err
