"""Questions are asked until they are answered, and never again; what ends the asking says why."""

import pytest

from corpusmill.errors import AssetError, BudgetError, ModelServerError, RecipeError
from corpusmill.inference.client import ask
from corpusmill.inference.congestion import Congestion
from corpusmill.inference.kept_answers import answers_in
from corpusmill.inference.questions import Answer, Question, Refusal
from corpusmill.inference.server import Server
from made_model_server import ModelServer

pytest.importorskip("aiohttp")


def questions(count: int) -> list[Question]:
    return [Question("m", (("user", f"number {number} of them"),)) for number in range(count)]


def texts(outcomes):
    return [outcome.text for outcome in outcomes]


@pytest.fixture(scope="module")
def plain():
    with ModelServer() as server:
        yield server


def test_answers_come_in_order_and_are_asked_for_once(plain, tmp_path):
    server, before = Server(url=plain.url, model="m"), plain.told()["asked"]
    with answers_in(str(tmp_path)):
        first = ask(server, questions(50) + questions(10))
        assert texts(ask(server, questions(60)))[:50] == texts(first)[:50]
    assert texts(first)[50:] == texts(first)[:10]
    assert plain.told()["asked"] - before == 60


def test_faults_make_no_difference(plain, tmp_path):
    with answers_in(str(tmp_path / "plain")):
        expected = texts(ask(Server(url=plain.url, model="m"), questions(200)))
    with ModelServer(faults=0.3) as faulty, answers_in(str(tmp_path / "faulty")):
        assert texts(ask(Server(url=faulty.url, model="m", timeout=0.5), questions(200))) == expected


def test_a_server_with_few_slots_refuses_few(tmp_path):
    with ModelServer(slots=5, delay=0.005) as small, answers_in(str(tmp_path)):
        ask(Server(url=small.url, model="m"), questions(400))
        counts = small.told()
    assert counts["answered"] == 400 and counts["refused"] < 400, counts


def test_the_key_is_sent_and_said_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("MADE_KEY", "sk-very-secret")
    with ModelServer(key="sk-very-secret") as server, answers_in(str(tmp_path)):
        assert len(ask(Server(url=server.url, model="m", key="env:MADE_KEY"), questions(2))) == 2
        monkeypatch.setenv("MADE_KEY", "sk-wrong")
        with pytest.raises(ModelServerError, match=r"Incorrect API key: \*\*\*\. Probably it does not take the key"):
            ask(Server(url=server.url, model="m", key="env:MADE_KEY"), questions(3))
        monkeypatch.delenv("MADE_KEY")
        with pytest.raises(AssetError, match=r"MADE_KEY is not set"):
            ask(Server(url=server.url, model="m", key="env:MADE_KEY"), questions(4))
    assert not any(b"sk-" in path.read_bytes() for path in tmp_path.rglob("*"))


def test_a_server_that_is_away_ends_it_after_a_while(tmp_path):
    with answers_in(str(tmp_path)), pytest.raises(ModelServerError, match=r"has answered nothing for 0.3 s"):
        ask(Server(url="http://127.0.0.1:9/v1", model="m", patience=0.3), questions(2))


def test_a_question_that_is_refused_is_about_its_document(plain, tmp_path):
    with answers_in(str(tmp_path)):
        outcomes = ask(Server(url=plain.url, model="m"), [Question("m", (("user", "REFUSED"),)), *questions(1)])
    assert outcomes[0] == Refusal("m refuses it: HTTP 400: too long")
    assert isinstance(outcomes[1], Answer)


def test_a_budget_stops_it_and_a_larger_one_goes_on(plain, tmp_path):
    before = plain.told()["asked"]
    with answers_in(str(tmp_path)):
        with pytest.raises(BudgetError, match=r"max_requests is 30. Set a larger one"):
            ask(Server(url=plain.url, model="m", max_requests=30), questions(50))
        assert plain.told()["asked"] - before == 30
        ask(Server(url=plain.url, model="m", max_requests=60), questions(50))
        assert plain.told()["asked"] - before == 50
        with pytest.raises(BudgetError, match=r"answers for .* USD, and max_cost is 1e-06"):
            ask(Server(url=plain.url, model="m", prices=(1.0, 1.0), max_cost=1e-6), questions(51))


def test_the_window_follows_a_limit_up_and_down():
    congestion = Congestion(ceiling=1000)
    for limit in (50, 5, 50, 500):
        for _ in range(60):
            in_flight = congestion.window
            while in_flight > limit:
                congestion.count_refusal(in_flight)
                in_flight -= 1
            for _ in range(in_flight):
                congestion.count_answer()
        assert limit <= congestion.window <= limit + 1, limit


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"url": "localhost:8000"}, "root of the server"),
        ({"url": "http://me:pw@h/v1"}, "name a key"),
        ({"key": "sk-123-456"}, "environment variable"),
        ({"max_cost": 1.0}, "max_cost needs prices"),
        ({"in_flight": 0}, "in_flight > 0"),
    ],
)
def test_a_wrong_server_says_what_is_wrong(settings, words):
    with pytest.raises(RecipeError, match=words):
        Server(**{"url": "http://h/v1", "model": "m"} | settings)
