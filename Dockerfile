# An image with the command `pacenote`, and without an engine: it races clusters that run elsewhere.
#
#   docker build --tag pacenote .
#   docker run --rm --network=host --volume=pacenote:/pacenote pacenote race --track=geonames \
#       --pipeline=benchmark-only --target-hosts=127.0.0.1:9200

FROM rust:1.95.0-bookworm AS build
# Debian keeps only the newest version of a package of a release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN make wheel

FROM python:3.13-slim-bookworm
# Tracks are cloned with git.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 pacenote \
    && install --directory --owner=pacenote /pacenote
COPY requirements-installed.lock /tmp/
RUN --mount=type=bind,from=build,source=/source/dist,target=/dist \
    pip install --no-cache-dir --require-hashes --requirement=/tmp/requirements-installed.lock \
    && pip install --no-cache-dir --no-deps /dist/*.whl
ENV PACENOTE_HOME=/pacenote
VOLUME /pacenote
USER 1000
WORKDIR /home/pacenote
ENTRYPOINT ["pacenote"]
CMD ["--help"]
