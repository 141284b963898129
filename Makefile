# `make demo` and `make test` set up all that they need in .venv: Python 3.11 or newer, make and git are enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint setup bench quality parity interop torch scale scale-long chaos golden clean

demo: $(READY)
	$(BIN)/corpusmill run recipes/demo.yaml

test: lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: $(READY)

# uv is used where it is there, because it is faster; the packages are the same.
$(READY): pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'; \
	fi
	@touch $@

# Kill -9 at many random moments, for longer than a test may take.
chaos: $(READY)
	$(BIN)/python -m pytest tests/test_every_executor.py -k killed --kills 50

# Memory and seconds of near deduplication by number of documents: 10 million sketches, made and not computed.
scale: $(READY)
	$(BIN)/python -m benchmarks.speed.scale

# A million documents of real length, end to end: 2 GB, made four times as large as the workload. Takes minutes.
scale-long: $(READY)
	$(BIN)/python -m benchmarks.workload --out $(WORKLOAD)-4 --scale 4
	$(BIN)/python -m benchmarks whole_run --workload $(WORKLOAD)-4

# The bytes that the demo must give. Only after a change that is meant to change them.
golden: $(READY)
	$(BIN)/python -m pytest tests/test_every_executor.py -k golden --write-golden

# Measurements need the workload: WORKLOAD=DIR, made by benchmarks/workload.py. Real documents are added if there are
# any: DATA=DIR.
WORKLOAD ?= build/workload
DATA ?= ../shared/data
PEER := build/parity/bin/python
bench: $(READY) build/parity/.ready
	$(BIN)/python -m benchmarks.workload --out $(WORKLOAD)
	$(BIN)/python -m benchmarks --workload $(WORKLOAD) --peer $(PEER) $(if $(wildcard $(INTEROP)),--formats $(INTEROP)) $(if $(wildcard $(DATA)/warc/crawl),--data $(DATA))

# Do our rules decide as datatrove's? It lives in an environment of its own, and needs real documents: DATA=DIR.
parity: $(READY) build/parity/.ready
	$(BIN)/python -m benchmarks.peers.parity --data $(DATA) --peer $(PEER)

# Do the readers that trainers use read what we write? Each by its own library, in an environment of their own.
INTEROP := build/interop/bin/python
interop: build/interop/.ready
	$(INTEROP) -m benchmarks.peers.interop

# What needs PyTorch: masks in a real model, the DataLoader, DoReMi, the example. `make test` skips it and says so.
TORCH_PYTHON := build/torch/bin/python
torch: build/torch/.ready
	$(TORCH_PYTHON) -m pytest tests/with_torch

# Is what is dropped a copy, and is every copy dropped? Needs real and labelled documents, DATA=DIR, and takes the
# workload too if it is there.
quality: $(READY)
	$(BIN)/python -m benchmarks.quality --data $(DATA) $(if $(wildcard $(WORKLOAD)/truth.json),--workload $(WORKLOAD))

build/parity/.ready: Makefile
	$(PYTHON) -m venv build/parity
	$(PEER) -m pip install --quiet --disable-pip-version-check \
		'datatrove[io,processing]==0.10.*' 'xxhash<4' spacy tokenizers lxml_html_clean \
		'datasketch==2.0.*' 'rensa==0.5.*' 'gaoya==0.2.*' orjson
	@touch $@

# PyTorch without CUDA where there is such a wheel: 0.2 instead of several GB. Of the three libraries only what reads
# local files is used, so their clients of clouds are left out; torchvision is not wanted for text.
TORCH ?= torch==2.13.0+cpu
build/torch/.ready: Makefile pyproject.toml constraints.txt
	$(PYTHON) -m venv build/torch
	$(TORCH_PYTHON) -m pip install --quiet --disable-pip-version-check '$(TORCH)' || \
		$(TORCH_PYTHON) -m pip install --quiet --disable-pip-version-check torch
	$(TORCH_PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . pytest hypothesis
	@touch $@

build/interop/.ready: Makefile pyproject.toml
	$(PYTHON) -m venv build/interop
	$(INTEROP) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . 'datasets==5.*' 'transformers>=5'
	$(INTEROP) -m pip install --quiet --disable-pip-version-check '$(TORCH)' || \
		$(INTEROP) -m pip install --quiet --disable-pip-version-check torch
	$(INTEROP) -m pip install --quiet --disable-pip-version-check --no-deps \
		'mosaicml-streaming==0.13.*' 'litdata==0.2.*' 'megatron-core==0.16.*'
	$(INTEROP) -m pip install --quiet --disable-pip-version-check \
		boto3 brotli catalogue lightning-utilities matplotlib obstore pillow python-snappy requests tifffile zstd
	@touch $@

clean:
	rm -rf $(VENV) runs build .mypy_cache .ruff_cache .pytest_cache
