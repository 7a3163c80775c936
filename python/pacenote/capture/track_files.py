"""The text files of a captured track, rendered by pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.capture.dump import DumpedFile
from pacenote.capture.sources import CaptureSource

_TEMPLATED = {
    "number_of_shards": "{{{{number_of_shards | default({})}}}}",
    "number_of_replicas": "{{{{number_of_replicas | default({})}}}}",
}

_TRACK = """\
{{% import "rally.helpers" as rally with context %}}
{{
  "version": 2,
  "description": {description},
{body}
  "operations": [
    {{{{ rally.collect(parts="operations/*.json") }}}}
  ],
  "challenges": [
    {{{{ rally.collect(parts="challenges/*.json") }}}}
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
        "track.json": _track(name, sources, dumped),
        "challenges/default.json": _challenge(sources, health, indexes=bool(dumped)),
        "operations/default.json": _operations(sources),
    }


def _track(name: str, sources: Sequence[CaptureSource], dumped: Mapping[str, DumpedFile]) -> str:
    indices = [{"name": each.name, "body": _body_file(each)} for each in sources if not each.is_stream]
    streams = [each for each in sources if each.is_stream]
    templates = [
        {
            "name": each.name,
            "index-pattern": each.name,
            "delete-matching-indices": False,
            "template": _body_file(each),
        }
        for each in streams
    ]
    parts: dict[str, Any] = {
        "indices": indices,
        "data-streams": [{"name": each.name} for each in streams],
        "composable-templates": templates,
        "corpora": [_corpus(each, dumped[each.name]) for each in sources if each.name in dumped],
    }
    written = (f'  "{key}": {_indented(value)},' for key, value in parts.items() if value)
    description = json.dumps(f"Track {name}, created from a live cluster")
    return _TRACK.format(description=literal(description), body=literal("\n".join(written)))


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
    body: dict[str, Any] = {"mappings": source.mappings, "settings": {"index": _templated(source.settings)}}
    if source.is_stream:
        own = {} if source.timestamp == "@timestamp" else {"timestamp_field": {"name": source.timestamp}}
        body = {
            "index_patterns": [source.name],
            "priority": 500,
            "data_stream": own,
            "template": body,
        }
    text = literal(json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False))
    for marker, template in _markers(source.settings).items():
        text = text.replace(f'"{marker}"', f'"{template}"')
    return text + "\n"


def _templated(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the settings, with markers in place of those that are parameters of the track."""
    return {key: f"\0{key}" if key in _TEMPLATED else value for key, value in settings.items()}


def _markers(settings: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        json.dumps(f"\0{key}")[1:-1]: template.format(settings[key])
        for key, template in _TEMPLATED.items()
        if key in settings
    }


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
    return literal(json.dumps(",".join(source.name for source in sources)))


def literal(text: str) -> str:
    """Escapes text for Jinja, because scripts in mappings may look like templates."""
    return re.sub(r"\{([{%#])", r"{{ '{\1' }}", text)


def _indented(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n  ")
