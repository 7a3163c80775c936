"""Engines in containers (`--pipeline=docker`): a compose file is written, validated and run with docker.

compose.py             the compose file, as data and as text
docker.py              runs `docker compose`
engine_container.py    a running container: started, supervised, and always stopped
"""
