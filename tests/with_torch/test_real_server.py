"""Questions to a server that is not ours: `transformers serve`, with a model of random weights."""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from socket import create_server

import pytest

from corpusmill.inference.client import ask
from corpusmill.inference.kept_answers import answers_in
from corpusmill.inference.questions import Answer, Question, Sampling
from corpusmill.inference.reach import problem
from corpusmill.inference.server import Server

pytest.importorskip("torch", reason="torch is not installed: make torch runs these tests")
transformers = pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("aiohttp")
WAIT = 120  # seconds for the server to begin


def make_model(folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokens = Tokenizer(models.BPE(vocab=alphabet | {"<s>": 256, "</s>": 257}, merges=[]))
    tokens.pre_tokenizer, tokens.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    tokenizer.save_pretrained(folder)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=258, bos_token_id=256, eos_token_id=257, pad_token_id=257, **shape)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of the server, and the name of its model."""
    folder = tmp_path_factory.mktemp("model")
    make_model(folder)
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("transformers"), "serve", folder, "--host", "127.0.0.1", "--port", port]
    with subprocess.Popen([*map(str, command)], env={"HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"}) as process:
        try:
            deadline = time.monotonic() + WAIT
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < deadline, "the server has not begun"
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1", str(folder)
        finally:
            process.kill()


def test_a_server_of_others_is_asked_once(server, tmp_path):
    url, name = server
    short = Sampling(max_tokens=8)
    questions = [Question(name, (("user", f"What is {number}?"),), short) for number in range(12)]
    with answers_in(str(tmp_path)):
        answers = ask(Server(url=url, model=name, in_flight=4), questions)
        given = [answer for answer in answers if isinstance(answer, Answer)]
        assert len(given) == 12 and all(answer.prompt_tokens > 10 for answer in given), answers
        assert {answer.answer_tokens for answer in given} <= set(range(1, 9))
        assert any(answer.is_cut for answer in given)
        away = Server(url="http://127.0.0.1:9/v1", model=name)  # nobody is there
        assert ask(away, questions) == answers


def test_a_model_that_the_server_has_not_is_named(server):
    url, name = server
    assert problem(Server(url=url, model=name)) is None
    assert "has no model" in str(problem(Server(url=url, model=f"{name}x")))
