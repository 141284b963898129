"""A server of OpenAI's protocol that answers as a function of the request, with faults on demand.

    with ModelServer() as server:      in a process of its own
        server.url                     http://127.0.0.1:PORT/v1
        server.told()                  what it has counted: {"asked", "answered", "repeated", "refused"}
        server.set(slots=5)            change its faults while it runs

A fault is drawn by a hash of the request and of how often it came, so that a request that failed once is answered in
the end.
"""

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from typing import Any

FAULTS = ("error", "cut", "wrong", "busy", "hang")


def answer(body: dict[str, Any], judge: Any = None) -> str:
    """What the model says: a function of the request alone.

    judge   scores a document from 0 to 1; None: by the length of its words
    """
    asked = body["messages"][-1]["content"]
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    text = body["messages"][0]["content"]
    digest = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    if schema:
        if "INVALID" in text and ("ALWAYS" in text or len(body["messages"]) == 1):
            return '{"score": 99}'
        of_judge = None if judge is None else judge(text.partition("<document>\n")[2].rpartition("\n</document>")[0])
        fields = schema["properties"].items()
        return json.dumps({name: value_of(about, text, digest, of_judge) for name, about in fields})
    document = asked.partition("<document>\n")[2].rpartition("\n</document>")[0] or asked
    return f"In short: {document[: 4 * len(document) // 5].strip()}"


def value_of(about: dict[str, Any], text: str, digest: int, of_judge: float | None) -> Any:
    if "enum" in about:
        return about["enum"][digest % len(about["enum"])]
    if about["type"] == "boolean":
        return bool(digest % 2)
    if about["type"] == "string":
        return f"word{digest % 100}"
    low, high = about.get("minimum", 0), about.get("maximum", 5)
    # Longer words, a higher score: something that a classifier can learn.
    words = text.split()
    mean = sum(map(len, words)) / max(len(words), 1)
    share = min(max((mean - 4.2) / 2.4, 0.0), 1.0) if of_judge is None else of_judge
    score = low + (high - low) * share
    return round(score) if about["type"] == "integer" else round(score, 3)


class ModelServer:
    """A server in a process of its own."""

    def __init__(self, **settings: Any) -> None:
        self._settings, self.url = settings, ""

    def __enter__(self) -> "ModelServer":
        command = [sys.executable, __file__, "--settings", json.dumps(self._settings)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}/v1"
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def told(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.url}/told") as response:
            return json.load(response)

    def set(self, **settings: Any) -> None:
        data = json.dumps(settings).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/set", data=data)).close()


def judge_of(name: str | None) -> Any:
    if name is None:
        return None
    import pyarrow as pa

    from corpusmill import assets
    from corpusmill.models.quality import QualityModel

    model = assets.load(name, QualityModel.load)
    return lambda text: float(model.scores(pa.array([text], pa.large_string()))[0])


def serve(settings: dict[str, Any]) -> None:
    from aiohttp import web

    values: dict[str, Any] = {
        "delay": 0.0,  # seconds of an answer
        "slots": None,  # requests at a time; others get 429
        "retry_after": None,  # seconds that a 429 asks to wait
        "key": None,
        "name": None,  # that it gives its model
        "version": 0,  # another one, another answer
        "faults": 0.0,  # share of requests that get one of FAULTS at first
        "status": None,  # of all answers
        "judge": None,  # a model of annotate/quality, which then scores documents: an asset or a file
        "models": None,  # that it lists; None: it has no list
    } | settings
    judge = judge_of(values["judge"])
    counts: Counter[str] = Counter(dict.fromkeys(("asked", "answered", "repeated", "refused", "most"), 0))
    times: Counter[str] = Counter()
    answered: set[str] = set()
    busy: list[float] = []  # seconds of each request in its slot
    begun_at: dict[int, float] = {}  # number of a request that is in its slot -> since when
    at_work = 0

    async def chat(request: web.Request) -> web.StreamResponse:
        nonlocal at_work
        raw = await request.read()
        name = hashlib.sha256(raw).hexdigest()
        counts["asked"] += 1
        if values["key"] and request.headers.get("Authorization") != f"Bearer {values['key']}":
            return web.json_response(
                {"error": {"message": "Incorrect API key: " + request.headers.get("Authorization", "")[7:]}}, status=401
            )
        if values["status"]:
            return web.json_response({"error": {"message": "as set"}}, status=values["status"])
        if values["slots"] is not None and at_work >= values["slots"]:
            counts["refused"] += 1
            headers = {"Retry-After": str(values["retry_after"])} if values["retry_after"] is not None else {}
            return web.json_response({"error": {"message": "too many requests"}}, status=429, headers=headers)
        times[name] += 1
        draw = int(name[:8], 16) / 2**32
        fault = FAULTS[int(name[8:10], 16) % len(FAULTS)] if draw < values["faults"] and times[name] == 1 else None
        body = json.loads(raw)
        if "REFUSED" in body["messages"][0]["content"]:
            return web.json_response({"error": {"message": "too long"}}, status=400)
        at_work += 1
        counts["most"] = max(counts["most"], at_work)
        number = counts["asked"]
        begun_at[number] = time.monotonic()
        try:
            if values["delay"]:
                await asyncio.sleep(values["delay"])
            if fault == "error":
                return web.json_response({"error": {"message": "an inner error"}}, status=500)
            if fault == "busy":
                return web.json_response({"error": {"message": "busy"}}, status=503, headers={"Retry-After": "0"})
            if fault == "wrong":
                return web.Response(text='{"choices": []}', content_type="application/json")
            if fault == "hang":
                await asyncio.sleep(3600)
            text = answer(body, judge)
            if values["version"]:
                text += f" ({values['version']})"
            result = json.dumps(
                {
                    "model": values["name"] or body["model"],
                    "choices": [
                        {
                            "message": {"role": "assistant", "content": text},
                            "finish_reason": "stop" if len(text) < 4 * body["max_tokens"] else "length",
                        }
                    ],
                    "usage": {"prompt_tokens": len(raw) // 4, "completion_tokens": len(text) // 4},
                }
            ).encode()
            if fault == "cut":
                response = web.StreamResponse(headers={"Content-Length": str(len(result))})
                await response.prepare(request)
                await response.write(result[: len(result) // 2])
                request.transport.close()
                return response
            counts["answered"] += 1
            counts["repeated"] += name in answered
            answered.add(name)
            return web.Response(body=result, content_type="application/json")
        finally:
            at_work -= 1
            busy.append(time.monotonic() - begun_at.pop(number))

    async def told(_: web.Request) -> web.Response:
        now = time.monotonic()
        busy_s = sum(busy) + sum(now - begun for begun in begun_at.values())
        return web.json_response(dict(counts) | {"different": len(answered), "busy_s": busy_s, "at": now})

    async def models(request: web.Request) -> web.Response:
        if values["key"] and request.headers.get("Authorization") != f"Bearer {values['key']}":
            return web.json_response({"error": {"message": "no key"}}, status=401)
        if values["models"] is None:
            return web.json_response({"error": {"message": "no such page"}}, status=404)
        return web.json_response({"object": "list", "data": [{"id": name} for name in values["models"]]})

    async def change(request: web.Request) -> web.Response:
        values.update(await request.json())
        return web.json_response({})

    async def main() -> None:
        app = web.Application()
        app.add_routes(
            [
                web.post("/v1/chat/completions", chat),
                web.get("/v1/models", models),
                web.get("/v1/told", told),
                web.post("/v1/set", change),
            ]
        )
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", type=json.loads, default={})
    serve(parser.parse_args().settings)
