"""The text files of a captured track, rendered by pure functions.

What the cluster has sent is data: numbers are numbers, and all other values are JSON that contains nothing
that Jinja or the inclusion of fragments would act on.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.capture.dump import DumpedFile
from pacenote.capture.sources import CaptureSource
from pacenote.errors import EngineError
from pacenote.model.decoding import parse_json
from pacenote.model.printable import encodable

_TEMPLATED = {
    "number_of_shards": "{{{{number_of_shards | default({})}}}}",
    "number_of_replicas": "{{{{number_of_replicas | default({})}}}}",
}

_MAX_INDENTED = 8
"""How many times as long JSON may become by its lines: mappings become two or three times as long, and lists
at a depth of 200 levels a hundred times.
"""

TRACK_FILE = "track.json"
_CHALLENGES_FILE = "challenges/default.json"
_OPERATIONS_FILE = "operations/default.json"

# The track names its parts, so that no other file in these folders becomes one.
_TRACK = """\
{{% import "rally.helpers" as rally with context %}}
{{
  "version": 2,
  "description": {description},
{body}
  "operations": [
    {{{{ rally.collect(parts="operations/default.json") }}}}
  ],
  "challenges": [
    {{{{ rally.collect(parts="challenges/default.json") }}}}
  ]
}}
"""

_CREATE_INDICES = """\
    {{"operation": "delete-index"}},
    {{
      "operation": {{
        "operation-type": "create-index",
        "settings": {{{{index_settings | default({{}}) | tojson}}}}
      }}
    }},
"""

_CREATE_STREAMS = """\
    {{"operation": "delete-data-stream"}},
    {{"operation": "delete-composable-template"}},
    {{
      "operation": {{
        "operation-type": "create-composable-template",
        "settings": {{{{index_settings | default({{}}) | tojson}}}}
      }}
    }},
    {{"operation": "create-data-stream"}},
"""

_CHALLENGE = """\
{{
  "name": "default",
  "description": "Indexes all documents",
  "default": true,
  "schedule": [
{create}    {{
      "operation": {{
        "operation-type": "cluster-health",
        "index": {names},
        "request-params": {{
          "wait_for_status": "{{{{cluster_health | default('{health}')}}}}",
          "wait_for_no_relocating_shards": "true"
        }},
        "retry-until-success": true
      }}
    }}{index}
  ]
}}
"""

_BULK = """,
    {
      "operation": {
        "operation-type": "bulk",
        "bulk-size": {{bulk_size | default(5000)}},
        "ingest-percentage": {{ingest_percentage | default(100)}}
      },
      "clients": {{bulk_indexing_clients | default(8)}}
    },
    {"operation": {"operation-type": "refresh"}},
    {
      "operation": "match-all",
      "warmup-iterations": {{warmup_iterations | default(10)}},
      "iterations": {{iterations | default(100)}}
    }"""

_OPERATIONS = """\
{{
  "name": "match-all",
  "operation-type": "search",
  "{target}": {names},
  "body": {{
    "query": {{
      "match_all": {{}}
    }}
  }}
}}
"""


def track_files(
    name: str, sources: Sequence[CaptureSource], dumped: Mapping[str, DumpedFile], health: str
) -> Mapping[str, str]:
    """Returns the track's text files, keyed by their path relative to its folder.

    `dumped` contains the data file of each source with documents, by source name. `health` is the health that
    a cluster of the same size can reach.
    """
    files = {_body_file(source): _body(source) for source in sources}
    return {
        **files,
        TRACK_FILE: _track(name, sources, dumped),
        _CHALLENGES_FILE: _challenge(sources, health, indexes=bool(dumped)),
        _OPERATIONS_FILE: _operations(sources),
    }


def text_names(sources: Sequence[CaptureSource]) -> list[str]:
    """Returns the paths of the same files."""
    return [*map(_body_file, sources), TRACK_FILE, _CHALLENGES_FILE, _OPERATIONS_FILE]


def check_bodies(sources: Sequence[CaptureSource]) -> None:
    """Raises EngineError for mappings or settings that cannot be read again as a part of a track: a server
    that is no engine may have sent them.
    """
    for source in sources:
        try:
            parse_json(_body(source))
        except ValueError as error:
            raise EngineError(
                f"the mappings or settings of '{source.name}' cannot be those of a track: {error}",
                hint="check --target-hosts",
            ) from error


def _track(name: str, sources: Sequence[CaptureSource], dumped: Mapping[str, DumpedFile]) -> str:
    indices = [
        {"name": source.name, "body": _body_file(source)} for source in sources if not source.is_stream
    ]
    streams = [source for source in sources if source.is_stream]
    templates = [
        {
            "name": stream.name,
            "index-pattern": stream.name,
            "delete-matching-indices": False,
            "template": _body_file(stream),
        }
        for stream in streams
    ]
    parts: dict[str, Any] = {
        "indices": indices,
        "data-streams": [{"name": stream.name} for stream in streams],
        "composable-templates": templates,
        "corpora": [_corpus(source, dumped[source.name]) for source in sources if source.name in dumped],
    }
    written = (f'  "{key}": {_indented(value)},' for key, value in parts.items() if value)
    description = literal(f"Track {name}, created from a live cluster")
    return _TRACK.format(description=description, body="\n".join(written))


def _corpus(source: CaptureSource, dumped: DumpedFile) -> Mapping[str, Any]:
    documents = {
        "target-data-stream" if source.is_stream else "target-index": source.name,
        "source-file": dumped.file,
        "document-count": dumped.documents,
        "compressed-bytes": dumped.compressed_bytes,
        "uncompressed-bytes": dumped.uncompressed_bytes,
    }
    return {"name": source.name, "documents": [documents]}


def _body_file(source: CaptureSource) -> str:
    """Returns a path in a separate folder, because an index may be named `track` or `notes-documents`."""
    return f"{'templates' if source.is_stream else 'indices'}/{source.name}.json"


def _body(source: CaptureSource) -> str:
    # What a server has sent cannot contain it.
    marker = secrets.token_hex(16)
    settings = {**source.settings, **{key: f"{marker}{key}" for key in _parameters(source)}}
    body: dict[str, Any] = {"mappings": source.mappings, "settings": {"index": settings}}
    if source.is_stream:
        stream = {} if source.timestamp == "@timestamp" else {"timestamp_field": {"name": source.timestamp}}
        body = {
            "index_patterns": [source.name],
            "priority": 500,
            "data_stream": stream,
            "template": body,
        }
    text = _readable(body)
    for key, value in _parameters(source).items():
        text = text.replace(literal(f"{marker}{key}"), f'"{_TEMPLATED[key].format(value)}"')
    return text + "\n"


def _parameters(source: CaptureSource) -> Mapping[str, int]:
    """Returns the settings that are parameters of the track, with their values in the cluster."""
    numbers = {"number_of_shards": source.indices[-1].shards, "number_of_replicas": source.replicas}
    return {key: number for key, number in numbers.items() if key in source.settings and number is not None}


def _challenge(sources: Sequence[CaptureSource], health: str, *, indexes: bool) -> str:
    create = _CREATE_STREAMS if sources[0].is_stream else _CREATE_INDICES
    return _CHALLENGE.format(
        create=create.format(), names=_names(sources), health=health, index=_BULK if indexes else ""
    )


def _operations(sources: Sequence[CaptureSource]) -> str:
    target = "data-stream" if sources[0].is_stream else "index"
    return _OPERATIONS.format(target=target, names=_names(sources))


def _names(sources: Sequence[CaptureSource]) -> str:
    """Returns the names of all sources, separated by commas, as JSON."""
    return literal(",".join(source.name for source in sources))


def literal(value: object) -> str:
    """Returns a value as JSON that Jinja leaves as it is: scripts in mappings may look like templates.

    Outside of strings, no brace is followed by another one, `%` or `#`, and no line begins with `#` or `%`.
    """
    return _without_templates(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _readable(value: object) -> str:
    """Returns the same with sorted keys, and in lines unless these make it much longer."""
    compact = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    encoder = json.JSONEncoder(indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    parts, room = list[str](), len(compact) * _MAX_INDENTED
    for part in encoder.iterencode(value):
        parts.append(part)
        room -= len(part)
        if room < 0:
            return _without_templates(compact)
    return _without_templates("".join(parts))


def _without_templates(text: str) -> str:
    return encodable(re.sub(r"\{(?=[{%#])", r"\\u007b", text))


def _indented(value: object) -> str:
    return _readable(value).replace("\n", "\n  ")
