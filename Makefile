# Python 3.11 or newer, make and git are enough: every target sets up what it needs, in .venv or build/.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The package with its fast tokenizer, which is all that the demo needs.
PACKAGE := $(VENV)/.package
PEER := build/parity/bin/python
INTEROP := build/interop/bin/python
TRACKERS := build/trackers/bin/python
TORCH_PYTHON := build/torch/bin/python
TRAINERS := build/trainers/bin/python
QUALITY_PYTHON := build/quality/bin/python
NAMES_PYTHON := build/names/bin/python
OLD_TRAFILATURA := build/trafilatura-1.6.1 build/trafilatura-1.11.0
HANDS_PYTHON := build/hands/tools/bin/python
LOWEST_PYTHON := build/lowest/bin/python
SEEDS_PYTHON := build/seeds/bin/python
DOCS_PYTHON := build/docs/bin/python
# Pipelines of others, each in an environment of its own, build/peer-NAME.
PEERS := datatrove tokenturbine datajuicer dolma nemo
# Exact versions, for the same result everywhere; CONSTRAINTS= takes the newest that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt
PIP := -m pip install --quiet --disable-pip-version-check

# The documents that `make bench` measures on; benchmarks/workload.py builds them from Debian packages.
WORKLOAD ?= build/workload
# How the test suite is spread over cores; PARALLEL= for one process.
PARALLEL ?= -n logical --maxprocesses 4 --dist worksteal
# With it, each of the hundreds of processes that tests start would compile all our modules anew.
unexport PYTHONDONTWRITEBYTECODE
# For chaos and fuzz, which print their seed.
KILLS ?= 200
FUZZ_MINUTES ?= 2
# What carries out the runs of chaos: one of those in tests/chaos.py, or all.
EXECUTOR ?= all
SEED := $(or $(SEED),$(shell date +%s))
# A folder of real and labelled documents, for parity, quality, ablation and bench. None comes with the repository.
DATA ?=
# Of the model that `ablation` trains: large takes five minutes on an H100, small half an hour on two cores.
SIZE ?= small

.PHONY: demo help setup test unit kernels test-lowest test-newest lint chaos cluster store fuzz cases golden bench bench-needs bench-quick figures bench-linear bench-peers roofline scale size planned simulate scale-plan scale-long parity conformance quality eyes drops fineweb-text ablation interop layouts trainers trackers torch seeds names hands web wheel wheel-test release screenshots docs docs-serve clean data-given models

demo: $(PACKAGE) ## mill the demo's small crawl to training shards
	$(BIN)/corpusmill demo

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## create .venv and install everything that demo and test need

# mypy, which takes one core, beside the compiling of kernels.
test: $(READY) ## lint, then the whole test suite
	@$(MAKE) --no-print-directory -j2 lint kernels
	@$(MAKE) --no-print-directory unit

unit: kernels ## the test suite alone
	$(BIN)/python -m pytest $(PARALLEL)

kernels: $(READY) ## compile the text kernels for this machine
	$(BIN)/corpusmill warm

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-lowest: build/lowest/.ready ## the whole test suite on the lowest versions of dependencies that pyproject.toml allows
	$(LOWEST_PYTHON) -m pytest $(PARALLEL)

test-newest: build/newest/.ready ## the whole test suite on the newest versions that there are
	build/newest/bin/python -m pytest $(PARALLEL)

build/newest/.ready: pyproject.toml
	$(PYTHON) -m venv build/newest
	build/newest/bin/python $(PIP) -e '.[dev]'
	@touch $@

chaos: $(READY) ## kill runs of each executor 200 times, in all stages and all ways, and compare bytes; KILLS=50 SEED=7 EXECUTOR=work
	$(BIN)/python -m pytest tests/test_every_executor.py -k killed_anywhere --kills $(KILLS) --chaos-seed $(SEED) --executor $(EXECUTOR)

cluster: $(READY) $(WORKLOAD)/truth.json ## a Ray cluster of 2 and 4 nodes on this machine: bytes, CPU, memory, scaling, kills; takes an hour; PARTS="flat scaling"
	PYTHONPATH=tests $(BIN)/python -m benchmarks.cluster --workload $(WORKLOAD) --seed $(SEED) $(if $(filter file,$(origin KILLS)),,--kills $(KILLS)) $(PARTS)

STORING = PYTHONPATH=tests AZURITE=build/azurite/node_modules/.bin/azurite-blob $(BIN)/python -m benchmarks.store --store $(STORE)
# The store that `make store` starts: s3 is moto's server, az is Microsoft's Azurite, for which Node.js must be there.
STORE ?= s3
store: $(READY) $(if $(filter az,$(STORE)),build/azurite/.ready) ## whole runs in an S3 server on this machine, through every fault of object stores, and killed; ONLY=503 STORE=az
	$(STORING) $(if $(ONLY),--only $(ONLY))
ifndef ONLY
	$(STORING) --kills $(if $(filter-out 200,$(KILLS)),$(KILLS),40) --seed $(SEED)
endif

# The folder of an input that failed, to try it alone.
REPLAY ?=
fuzz: $(READY) ## random inputs for readers, recipes, SQL, shards, runs; FUZZ_MINUTES=10 SEED=7 TARGETS="read-warc sql"
	PYTHONPATH=tests $(BIN)/python -m fuzz $(if $(REPLAY),--replay $(REPLAY),--minutes $(FUZZ_MINUTES) --seed $(SEED) $(TARGETS))

# A folder of cases, one a folder: see scripts/cases.py.
CASES ?=
cases: $(READY) ## try each case of a folder, and show what comes out beside what should; CASES=DIR ONLY=name
	$(BIN)/python scripts/cases.py $(CASES) $(ONLY)

golden: $(READY) ## write the bytes that the demo must give; only after a change that is meant to change them
	$(BIN)/python -m pytest tests/test_every_executor.py -k golden --write-golden

bench: bench-needs $(READY) build/parity/.ready $(WORKLOAD)/truth.json ## measure speed and memory, beside datatrove and others; DATA=DIR adds real documents
	@$(if $(DATA),:,echo "bench: real documents are left out; to add them: make bench DATA=DIR")
	@test -x $(INTEROP) || echo "bench: the loaders of other libraries are left out; to add them: make interop"
	$(BIN)/python -m benchmarks --workload $(WORKLOAD) --peer $(PEER) $(if $(wildcard $(INTEROP)),--formats $(INTEROP)) \
		$(if $(DATA),--data $(DATA))

bench-needs:
	@echo "bench takes about an hour on two cores on which nothing else runs, and 8 GB of disk: in build/, and for runs in"
	@echo "the folder for temporary files. It downloads what is not in build/ yet: 114 MB of Debian packages by apt-get"
	@echo "(2.6 GB unpacked), and from PyPI the libraries that it measures beside: datatrove with spaCy, datasketch, rensa,"
	@echo "gaoya, tokenizers and datasets, in an environment of their own (build/parity). bench-quick needs no peers."

bench-quick: $(READY) $(WORKLOAD)/truth.json ## a handful of figures in three minutes, beside the committed ones; WRITE=1 commits these
	$(BIN)/python -m benchmarks.quick --workload $(WORKLOAD) $(if $(WRITE),--write)

figures: build/peer-datatrove/.ready wheel $(WORKLOAD)/truth.json ## measure the figures of README and the start pages, and write them there; half an hour, and the network
	$(BIN)/python -m benchmarks.figures --workload $(WORKLOAD)

bench-linear: $(READY) ## seconds per GB at 1, 4 and 16 GB; takes hours and 60 GB of disk; SCALES="2 8" leaves the last out
	$(BIN)/python -m benchmarks.speed.linear --out $(WORKLOAD) $(if $(SCALES),--scales $(SCALES))

roofline: $(READY) $(WORKLOAD)/truth.json ## what a whole run takes beside the least that its parts take alone
	$(BIN)/python -m benchmarks --workload $(WORKLOAD) roofline

# `-`: a peer that cannot be installed here has its reason in its row.
bench-peers: $(READY) ## whole pipelines of others beside ours, 46 MB; WHOLE=1 adds 472 MB and takes hours, DATA=DIR adds real documents
	@test -f $(WORKLOAD)/truth.json || $(BIN)/python -m benchmarks.workload --out $(WORKLOAD)
	-@$(MAKE) --no-print-directory --keep-going $(PEERS:%=build/peer-%/.ready)
	$(BIN)/python -m benchmarks.peers.pipelines --workload $(WORKLOAD) $(if $(WHOLE),--whole) $(if $(DATA),--data $(DATA))

scale: $(READY) ## near deduplication of 10 million documents and of 1 million near copies of one page, made: seconds and memory; SCALE=100M: of a tenth of these and of so many, 60 GB of disk
	$(BIN)/python -m benchmarks.speed.scale $(if $(SCALE),--scale $(SCALE)) $(if $(SCRATCH),--scratch $(SCRATCH))

simulate: $(READY) $(WORKLOAD)/truth.json ## what workers that die, are slow or are preempted cost: 100,000 units on 1,000 workers; and the trace of a run on 1 to 16 workers
	$(BIN)/python -m benchmarks.simulate
	$(BIN)/python -m benchmarks.simulate.many_cores --workload $(WORKLOAD)

planned: $(READY) $(WORKLOAD)/truth.json ## what `corpusmill plan` says beside what the run then takes; takes minutes
	$(BIN)/python -m benchmarks.speed.planned --workload $(WORKLOAD)

# Sizes of `size`, in pages.
PAGES ?=
size: data-given $(READY) ## from WARC to verified shards at several sizes, each killed twice; needs DATA=DIR; PAGES="50000 500000"
	$(BIN)/python -m benchmarks.speed.at_size --warc $(wildcard $(DATA)/warc/crawl/*.warc.gz) $(if $(PAGES),--pages $(PAGES))

scale-plan: $(READY) ## plans, results and memory of the driver for 5 and 50 TB, without documents; takes minutes
	$(BIN)/python -m benchmarks.speed.scale_plan

scale-long: $(READY) $(WORKLOAD)-4/truth.json ## a whole run of a million documents, 2 GB; takes minutes
	$(BIN)/python -m benchmarks whole_run --workload $(WORKLOAD)-4

parity: data-given $(READY) build/parity/.ready ## compare the decisions of our rules with datatrove's; needs DATA=DIR
	$(BIN)/python -m benchmarks.peers.parity --data $(DATA) --peer $(PEER)

layouts: $(READY) build/peer-dolma/.ready ## the layout that we write through Dolma's own mixer, spans and all
	$(BIN)/python -m benchmarks.peers.layouts build/peer-dolma/bin/python

quality: data-given build/quality/.ready $(if $(shell command -v npm),build/formulae/.ready) ## how often decisions are right, on real and labelled documents; needs DATA=DIR
	$(QUALITY_PYTHON) -m benchmarks.quality --data $(DATA) $(if $(wildcard $(WORKLOAD)/truth.json),--workload $(WORKLOAD))

fineweb-text: data-given build/names/.ready $(OLD_TRAFILATURA:%=%/.ready) ## the text of the recipe fineweb beside that of datatrove, with trafilatura of then and now; needs DATA=DIR
	$(NAMES_PYTHON) -m benchmarks.peers.fineweb_text --data $(DATA) --old $(OLD_TRAFILATURA:%=%/bin/python)

# A recipe that ships, or a file, for `eyes`.
RECIPE ?= web-en
eyes: data-given $(READY) ## draw 200 pages that a recipe keeps or drops, blind; once they are judged, its precision and recall; needs DATA=DIR; RECIPE=fineweb
	$(BIN)/python -m benchmarks.quality.eyes --data $(DATA) --recipe $(RECIPE)

drops: data-given $(READY) ## draw 1,000 documents that near dedup removed beside those kept instead, blind; once they are judged, how many removals were wrong; needs DATA=DIR
	$(BIN)/python -m benchmarks.quality.drops --data $(DATA)

ablation: data-given $(READY) build/torch/.ready ## train a small GPT on what each stage keeps, and compare its loss on held-out text; needs DATA=DIR; SIZE=large for an accelerator
	$(BIN)/python -m benchmarks.ablation prepare --data $(DATA) --out build/ablation
	$(TORCH_PYTHON) -m benchmarks.ablation train --out build/ablation --size $(SIZE)
	$(TORCH_PYTHON) -m benchmarks.ablation show --out build/ablation --size $(SIZE) --picture build/ablation/ablation.svg

# Unicode's own test files, from the Debian package; unpacked, not installed.
UNICODE := build/unicode/usr/share/unicode
conformance: data-given $(READY) $(UNICODE)/NormalizationTest.txt.bz2 ## the tests of other projects through our steps; needs DATA=DIR; WRITE=1 writes docs/conformance.md
	$(BIN)/python -m benchmarks.conformance --data $(DATA) --unicode $(UNICODE) $(if $(WRITE),--write)

$(UNICODE)/NormalizationTest.txt.bz2:
	mkdir -p build/unicode
	cd build/unicode && apt-get download unicode-data && dpkg-deb -x unicode-data_*.deb .

trackers: build/trackers/.ready ## run the examples of docs/guide/tracking.md with MLflow, Weights & Biases, Argilla, Label Studio
	$(TRACKERS) -m benchmarks.peers.trackers

models: $(READY) ## ask a made server: speed, a capacity that changes, 200 kills; with DATA=DIR a classifier that learns from answers
	$(BIN)/python -m benchmarks.models --kills $(KILLS) $(if $(DATA),--data $(DATA))

interop: build/interop/.ready ## read what we write with the libraries that trainers use
	$(INTEROP) -m benchmarks.peers.interop

trainers: build/trainers/.ready ## read our shards with trainers' own loaders, and resume them; with DATA=DIR published counts, too
	$(TRAINERS) -m benchmarks.peers.trainers $(if $(DATA),--data $(DATA))

torch: build/torch/.ready ## the tests that need PyTorch, which `make test` skips
	$(TORCH_PYTHON) -m pytest tests/with_torch

seeds: build/seeds/.ready ## run the five recipes of docs/seeds.md, and compare what they write with plain reference code
	$(SEEDS_PYTHON) -m benchmarks.peers.seeds

names: build/names/.ready ## the tests that need a named-entity model, which `make test` skips
	$(NAMES_PYTHON) -m pytest tests/steps/test_names.py tests/test_every_step.py -k "names or Names"

docs: build/docs/.ready ## build the documentation as a site in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS_PYTHON) -m mkdocs build --quiet
	@echo build/site/index.html

docs-serve: build/docs/.ready ## the same at http://127.0.0.1:8000, built again when a page changes
	NO_MKDOCS_2_WARNING=1 $(DOCS_PYTHON) -m mkdocs serve

hands: build/hands/tools/.ready ## what a new user does, from the wheel alone: terminal, notebook, commands of the docs; POSIX
	PYTHONPATH=scripts/hands $(HANDS_PYTHON) -m pytest -p a_user -p no:cacheprovider -c /dev/null -ra scripts/hands

web: $(READY) ## the inspector and the report in a headless Chromium, which must be installed (Debian: apt install chromium)
	$(BIN)/python $(PIP) playwright
	$(BIN)/python -m pytest tests/test_inspect_page.py tests/report/test_report_charts.py

screenshots: build/hands/tools/.ready $(READY) ## pictures for the docs of terminal, notebook and pages; of all views of pages in build/screenshots
	PYTHONPATH=scripts/hands $(HANDS_PYTHON) scripts/hands/screenshots.py
	$(BIN)/python $(PIP) playwright
	$(BIN)/python scripts/page_pictures.py --out build/screenshots

wheel: $(READY) ## a wheel for this platform and Python with its kernels compiled, in dist; takes five minutes
	$(BIN)/python scripts/build_kernels.py build/kernels
	rm -f dist/corpusmill-*-cp*.whl
	CORPUSMILL_KERNELS=$(CURDIR)/build/kernels $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

wheel-test: wheel ## install that wheel elsewhere, with an empty home, and run the demo: nothing may be compiled
	$(PYTHON) scripts/check_wheel.py dist $(CONSTRAINTS)

release: wheel build/release/.ready ## sources, wheels, SBOM, licences and checksums in build/release/VERSION, each built twice; REPOSITORY=URL
	build/release/bin/python scripts/release.py build/release/$$(git describe --always) $(if $(REPOSITORY),--repository $(REPOSITORY))

build/release/.ready: Makefile pyproject.toml constraints.txt
	$(PYTHON) -m venv build/release
	build/release/bin/python $(PIP) -c constraints.txt '.[fast]' build 'hatchling>=1.25'
	@touch $@

clean: ## remove .venv, build, runs and caches
	rm -rf $(VENV) runs build .mypy_cache .ruff_cache .pytest_cache

# Built where it is not there; to build it again, after a change of workload.py, remove it.
$(WORKLOAD)/truth.json: | $(READY)
	$(BIN)/python -m benchmarks.workload --out $(WORKLOAD)

$(WORKLOAD)-%/truth.json: | $(READY)
	$(BIN)/python -m benchmarks.workload --out $(WORKLOAD)-$* --scale $*

data-given:
	@$(if $(DATA),:,echo "make $(MAKECMDGOALS) needs real documents: make $(MAKECMDGOALS) DATA=DIR" >&2; exit 1)

# uv where it is installed, because it is faster; the packages are the same.
INSTALL = if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python $(addprefix -c ,$(CONSTRAINTS)) -e '$(1)'; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python $(PIP) $(addprefix -c ,$(CONSTRAINTS)) -e '$(1)'; \
	fi

$(PACKAGE): pyproject.toml hatch_build.py $(CONSTRAINTS)
	@$(call INSTALL,.[fast])
	@touch $@

$(READY): pyproject.toml hatch_build.py $(CONSTRAINTS)
	@$(call INSTALL,.[dev])
	@touch $(PACKAGE) $@

build/azurite/.ready: Makefile
	npm install --no-audit --no-fund --prefix build/azurite azurite@3
	@touch $@

# On the lowest Python, too, where it is installed.
build/lowest/.ready: pyproject.toml constraints-lowest.txt
	$(firstword $(shell command -v python3.11) $(PYTHON)) -m venv build/lowest
	$(LOWEST_PYTHON) $(PIP) -c constraints-lowest.txt -e '.[dev]'
	@touch $@

# What draws formulae in pages; without Node.js the figures on these are left out.
build/formulae/.ready: Makefile
	npm install --no-audit --no-fund --prefix build/formulae katex@0.16 mathjax-full@3.2.2
	@touch $@

# LightGBM makes the extractor's models that have not seen the pages that they are judged on.
build/quality/.ready: Makefile pyproject.toml constraints.txt
	$(PYTHON) -m venv build/quality
	$(QUALITY_PYTHON) $(PIP) -c constraints.txt -e '.[dev]' lightgbm==4.7.* latex2mathml==3.81.*
	@touch $@

build/parity/.ready: Makefile
	$(PYTHON) -m venv build/parity
	$(PEER) $(PIP) \
		'datatrove[io,processing]==0.10.*' 'xxhash<4' spacy tokenizers lxml_html_clean \
		'datasketch==2.0.*' 'rensa==0.5.*' 'gaoya==0.2.*' orjson
	@touch $@

build/peer-datatrove/.ready: PACKAGES = 'datatrove[io,processing]==0.10.1' 'xxhash<4' spacy==3.8.* tokenizers lxml_html_clean
build/peer-tokenturbine/.ready: PACKAGES = 'ray[data]==2.60.0' datasketch==2.0.* beautifulsoup4==4.* tiktoken xxhash \
	fasttext-numpy2-wheel
# What its operators want is installed here: it would install it while it runs.
build/peer-datajuicer/.ready: PACKAGES = py-data-juicer==1.6.1 '$(TORCH)' aiohttp fasttext-predict ftfy scipy
# The versions of what reads S3 are named because pip searches for fitting ones for minutes.
build/peer-dolma/.ready: PACKAGES = dolma==1.2.1 aiobotocore==2.5.0 botocore==1.29.76 boto3==1.26.76 fsspec==2023.6.0
# Its writer of tokens calls what transformers 5 no longer has.
build/peer-nemo/.ready: PACKAGES = nemo-curator==1.4.0 '$(TORCH)' 'transformers==4.57.*' fasttext-numpy2-wheel ftfy beautifulsoup4

build/peer-%/.ready: Makefile
	$(PYTHON) -m venv build/peer-$*
	@echo "installing $(PACKAGES)"
	@build/peer-$*/bin/python $(PIP) $(PACKAGES) >build/peer-$*/install.log 2>&1 || \
		{ tail -n 3 build/peer-$*/install.log >&2; exit 1; }
	@touch $@

# PyTorch without CUDA where there is such a wheel: 0.2 instead of several GB. Only what reads local files is used of the
# three libraries below, so their cloud clients are left out, and torchvision, which text does not need.
TORCH ?= torch==2.13.0+cpu
build/torch/.ready: Makefile pyproject.toml constraints.txt
	$(PYTHON) -m venv build/torch
	$(TORCH_PYTHON) $(PIP) '$(TORCH)' || $(TORCH_PYTHON) $(PIP) torch
	$(TORCH_PYTHON) $(PIP) -c constraints.txt -e '.[fast,models]' pytest hypothesis 'transformers[serving]'
	@touch $@

# Without what their training needs, but not their loaders. Of OLMo-core and torchtitan each module imports all it has.
build/trainers/.ready: Makefile pyproject.toml constraints.txt
	$(PYTHON) -m venv build/trainers
	$(TRAINERS) $(PIP) '$(TORCH)' || $(TRAINERS) $(PIP) torch
	$(TRAINERS) $(PIP) -c constraints.txt -e '.[fast]'
	$(TRAINERS) $(PIP) 'grain==0.2.*' 'torchdata==0.11.*'
	$(TRAINERS) $(PIP) --no-deps 'torchtitan==0.3.*' 'ai2-olmo-core==3.*' 'megatron-core==0.16.*'
	$(TRAINERS) $(PIP) cached-path bettermap dataclass-extensions importlib_resources pandas requests safetensors tyro
	@touch $@

# Older ones import what lxml 5.2 no longer has, and newer ones what lxml 4 has not.
build/trafilatura-1.6.1/.ready: LXML = lxml<5
build/trafilatura-1.11.0/.ready: LXML = lxml_html_clean
build/trafilatura-%/.ready: Makefile
	$(PYTHON) -m venv build/trafilatura-$*
	build/trafilatura-$*/bin/python $(PIP) trafilatura==$* '$(LXML)'
	@touch $@

build/names/.ready: Makefile pyproject.toml constraints.txt
	$(PYTHON) -m venv build/names
	$(NAMES_PYTHON) $(PIP) -c constraints.txt -e '.[dev,pii-names]'
	@touch $@

build/docs/.ready: docs/requirements.txt
	$(PYTHON) -m venv build/docs
	$(DOCS_PYTHON) $(PIP) -r docs/requirements.txt
	@touch $@

build/hands/tools/.ready: Makefile
	$(PYTHON) -m venv build/hands/tools
	$(HANDS_PYTHON) $(PIP) pytest==9.* pyte==0.8.* rich
	@touch $@

build/seeds/.ready: Makefile pyproject.toml
	$(PYTHON) -m venv build/seeds
	$(SEEDS_PYTHON) $(PIP) -c constraints.txt -e '.[dev]' 'datasets==5.*' 'datasketch==2.0.*'
	$(SEEDS_PYTHON) $(PIP) '$(TORCH)' || $(SEEDS_PYTHON) $(PIP) torch
	@touch $@

# Without constraints.txt: they and it do not agree on versions.
build/trackers/.ready: Makefile pyproject.toml
	$(PYTHON) -m venv build/trackers
	$(TRACKERS) $(PIP) -e '.[fast]' 'mlflow-skinny==3.*' 'wandb>=0.20' \
		prometheus_client 'argilla==2.8.*' requests 'label-studio-sdk==2.*'
	@touch $@

build/interop/.ready: Makefile pyproject.toml
	$(PYTHON) -m venv build/interop
	$(INTEROP) $(PIP) -c constraints.txt -e '.[fast]' 'datasets==5.*' 'transformers>=5'
	$(INTEROP) $(PIP) '$(TORCH)' || $(INTEROP) $(PIP) torch
	$(INTEROP) $(PIP) --no-deps 'mosaicml-streaming==0.13.*' 'litdata==0.2.*' 'megatron-core==0.16.*'
	$(INTEROP) $(PIP) \
		boto3 brotli catalogue lightning-utilities matplotlib obstore pillow python-snappy requests tifffile zstd
	@touch $@
