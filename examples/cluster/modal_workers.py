"""Workers of one run on Modal: modal run modal_workers.py --run s3://bucket/runs/web --count 8

The run is planned before, by an image with the same versions: corpusmill work web.yaml --folder RUN --prepare
"""

import subprocess

import modal  # type: ignore[import-not-found,unused-ignore]

image = modal.Image.debian_slim(python_version="3.12").pip_install("corpusmill[s3]").run_commands("corpusmill warm")
app = modal.App("mill", image=image)


@app.function(cpu=16, memory=32 << 10, timeout=24 * 3600, retries=8, secrets=[modal.Secret.from_name("bucket")])  # type: ignore[untyped-decorator,unused-ignore]
def work(run: str, index: int, count: int) -> None:
    """One worker. Modal asks a container that it takes away to end, and calls the function again elsewhere."""
    options = ["--index", str(index), "--of", str(count), "--processes", "16"]
    subprocess.run(["corpusmill", "work", run, *options], check=True)


@app.local_entrypoint()  # type: ignore[untyped-decorator,unused-ignore]
def main(run: str, count: int = 8) -> None:
    list(work.starmap((run, index, count) for index in range(count)))
