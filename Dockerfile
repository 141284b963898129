# The demo in a container: docker compose run --rm demo
FROM python:3.13-slim

# Kernels are compiled here once, for a user without rights; runs/ is a volume and belongs to that user.
RUN useradd --create-home --uid 1000 miller && mkdir -p /mill/runs && chown -R miller:miller /mill
WORKDIR /mill
ENV PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 CORPUSMILL_CACHE=/mill/cache

COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE NOTICE ./
COPY demo/LICENSES.md ./demo/
COPY src ./src
RUN pip install -c constraints.txt '.[fast]'

USER 1000
RUN corpusmill warm
VOLUME /mill/runs
ENTRYPOINT ["corpusmill"]
CMD ["demo"]
