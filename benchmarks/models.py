"""Trials of what asks language models, against a server of our own that answers as a function of the request.

    speed      10,000 questions to a server that answers 500 a second: share of one core that asking takes
    capacity   slots that change by 10 times, down and up: answers beside those that the slots allow
    kills      a process that asks is killed at random moments: answers that the server has given more than once
    runs       a whole run with two workers is killed at random moments: bytes of its output, questions sent again
    distil     a classifier that is trained on a model's scores of some pages: how it ranks pages that people have
               judged, beside the model itself. Needs DATA=DIR

`make models` runs them, and fails where one is outside of its bound.
"""

import argparse
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.quality.classifier import LABELLED, records
from corpusmill import assets
from corpusmill.inference.client import ask
from corpusmill.inference.kept_answers import answers_in
from corpusmill.inference.questions import Answer, Question
from corpusmill.inference.server import Server
from corpusmill.models.quality import QUALITY_EN, QualityModel
from corpusmill.ops.runs import run
from corpusmill.train.quality import auc

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from made_model_server import ModelServer

SHORT = "The harbour was quiet before the first boats came in."
TEXT = "The harbour was quiet before the first boats came in, and nobody had seen the lights on the water. " * 20


def questions(first: int, stop: int, text: str = TEXT) -> list[Question]:
    return [Question("m", (("user", f"{number} {text}"),)) for number in range(first, stop)]


def speed(folder: Path) -> bool:
    """500 a second: 50 slots of .1 s."""
    with ModelServer(delay=0.1) as running, answers_in(str(folder)):
        server = Server(url=running.url, model="m", in_flight=50)
        ask(server, questions(0, 200))
        wall, cpu = time.monotonic(), time.process_time()
        ask(server, questions(200, 10_200))
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(f"speed: 10,000 questions in {wall:.1f} s, {10_000 / wall:.0f} a second, {cpu / wall:.1%} of a core")
    return cpu / wall < 0.6


def capacity(folder: Path, phase_s: float = 6.0) -> bool:
    """The share of what the slots allow, in phases of 60, 6 and 60 slots, each once 15 answers could follow another."""
    delay, good = 0.5, True
    with ModelServer(delay=delay, slots=60) as running, answers_in(str(folder)):
        server = Server(url=running.url, model="m", in_flight=400)
        context = multiprocessing.get_context("spawn")
        asking = context.Process(target=ask_all, args=(running.url, str(folder), 20_000, server.in_flight))
        asking.start()
        while not running.told()["answered"]:
            time.sleep(0.05)
        for slots in (60, 6, 60):
            running.set(slots=slots)
            time.sleep(15 * delay)
            before = running.told()
            time.sleep(phase_s)
            after = running.told()
            answered = after["answered"] - before["answered"]
            share = after["busy_s"] - before["busy_s"]
            of_slots = share / (slots * (after["at"] - before["at"]))
            refused = after["refused"] - before["refused"]
            print(f"capacity: {slots} slots: {of_slots:.1%} of them busy, {answered} answers, {refused} refused")
            good &= of_slots >= 0.95
        asking.kill()
        asking.join()
    return good


def ask_all(url: str, folder: str, count: int, in_flight: int, text: str = TEXT) -> None:
    server = Server(url=url, model="m", in_flight=in_flight)
    with answers_in(folder):
        for first in range(0, count, 10_000):
            ask(server, questions(first, min(first + 10_000, count), text))


def digest(url: str, folder: Path, count: int) -> str:
    """Of all answers."""
    with answers_in(str(folder)):
        server, starts = Server(url=url, model="m"), range(0, count, 10_000)
        parts = [ask(server, questions(first, min(first + 10_000, count), SHORT)) for first in starts]
    outcomes = [outcome for part in parts for outcome in part]
    texts = [outcome.text for outcome in outcomes if isinstance(outcome, Answer)]
    assert len(texts) == count
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def kills(folder: Path, count: int, of_questions: int, seed: int) -> bool:
    """One question is in flight, as what is in flight when a process is killed must be sent again, whoever asks."""
    chance, context = random.Random(seed), multiprocessing.get_context("spawn")
    with ModelServer() as running:
        undisturbed = digest(running.url, folder / "undisturbed", of_questions)
    with ModelServer() as running:
        done = 0
        while done < count:
            process: BaseProcess = context.Process(
                target=ask_all, args=(running.url, str(folder / "killed"), of_questions, 1, SHORT)
            )
            begun = running.told()["asked"]
            process.start()
            while process.is_alive() and running.told()["asked"] == begun:
                time.sleep(0.01)
            time.sleep(chance.random() * 0.5)
            if not process.is_alive():
                break
            process.kill()
            process.join()
            done += 1
        same = digest(running.url, folder / "killed", of_questions) == undisturbed
        counts = running.told()
    again = counts["asked"] - of_questions
    print(
        f"kills: seed {seed}, {done} kills, {of_questions} questions, {again} sent again ({again / of_questions:.2%}), "
        f"{counts['repeated']} of them had been answered; {'the same' if same else 'OTHER'} answers"
    )
    return same and done == count and counts["repeated"] <= of_questions / 1000


def killed_runs(folder: Path, count: int, seed: int) -> bool:
    """A run of the recipe `rewrite` on the demo's documents. What was in flight at a kill is sent again, no more."""
    chance, in_flight, workers = random.Random(seed), 2, 2
    folder.mkdir()
    digests, again, kills = {}, 0, 0
    for name, most in (("undisturbed", 0), ("killed", count)):
        with ModelServer(delay=0.05) as running:
            (folder / f"{name}.yaml").write_text(
                "extends: rewrite\n"
                "read: [{jsonl: {paths: 'demo://extra.jsonl.gz', source: web}}]\n"
                f"steps: {{rewrite: {{server: {{url: '{running.url}', model: m, in_flight: {in_flight}}}}}}}\n"
                f"run: {{folder: {folder / name}, unit_mb: 1, workers: {workers}, error_budget: 0.05}}\n"
            )
            command = [sys.executable, "-m", "corpusmill.cli", "run", str(folder / f"{name}.yaml"), "--progress", "off"]
            while True:
                process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
                begun = running.told()["asked"]
                while kills < most and process.poll() is None and running.told()["asked"] == begun:
                    time.sleep(0.01)
                if kills == most or process.poll() is not None:
                    assert process.wait() == 0
                    break
                time.sleep(chance.random())
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
            counts = running.told()
            again = counts["asked"] - counts["different"]
        files = sorted(path for path in (folder / name / "output").rglob("*") if path.is_file())
        content = b"".join(path.read_bytes() for path in files)
        digests[name] = hashlib.sha256(content).hexdigest()
    same = digests["killed"] == digests["undisturbed"]
    bytes_are = "the same" if same else "OTHER"
    print(f"runs: {kills} kills, {counts['different']} questions, {again} sent again; {bytes_are} bytes")
    return same and again <= kills * in_flight * workers


def distil(folder: Path, data: Path) -> bool:
    """The model that judges is the one that ships, which has learned from the pages that it is measured on: it is hard
    to come near. The classifier sees its scores of other pages alone, whole numbers from 0 to 5."""
    with ModelServer(judge=QUALITY_EN) as running:
        folder.mkdir()
        (folder / "judged.yaml").write_text(
            "extends: annotate-distil\n"
            f"read: [{{wet: {{paths: '{data / 'warc/crawl/*.warc.wet.gz'}', source: web}}}}]\n"
            f"steps: {{model: {{server: {{url: '{running.url}', model: m}}, sample: 100%}}}}\n"
            f"run: {{folder: {folder / 'run'}}}\n"
        )
        done = run(folder / "judged.yaml")
    command = [sys.executable, "-m", "corpusmill.cli", "train", "quality", str(done.folder)]
    command += ["--good", "model.score >= 3", "--out", str(folder / "distilled.quality")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    pages = list(records(data / LABELLED))
    texts = pa.array([page["text"] for page in pages], pa.large_string())
    good = np.array([page["label"] == 1 for page in pages])
    teacher = assets.load(QUALITY_EN, QualityModel.load)
    learned = QualityModel.load(folder / "distilled.quality")
    of_teacher, of_learned = auc(teacher.scores(texts), good), auc(learned.scores(texts), good)
    told = learned.card["held_out"]["auc"]
    judged = learned.card["documents"]
    print(
        f"distil: {judged['good']} good and {judged['bad']} bad pages by the model; AUC {told:.3f} on those held out; "
        f"of {len(pages)} pages that people judged {of_learned:.3f}, the model's own {of_teacher:.3f}: "
        f"{of_learned / of_teacher:.3f} of it"
    )
    return of_learned >= 0.9 * of_teacher


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--questions", type=int, default=210_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=("speed", "capacity", "kills", "runs", "distil"))
    parser.add_argument("--data", type=Path)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        good: dict[str, Callable[[], bool]] = {
            "speed": lambda: speed(folder / "speed"),
            "capacity": lambda: capacity(folder / "capacity"),
            "kills": lambda: kills(folder, chosen.kills, chosen.questions, chosen.seed),
        }
        good["runs"] = lambda: killed_runs(folder / "runs", chosen.kills // 10, chosen.seed)
        if chosen.data:
            good["distil"] = lambda: distil(folder / "distil", chosen.data)
        bad = [name for name, trial in good.items() if chosen.only in (None, name) and not trial()]
    finally:
        shutil.rmtree(folder)
    sys.exit(f"outside of the bound: {', '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()
