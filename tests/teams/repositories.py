"""A team repository as tests write it: two bases, cars, mixins, plugins and hooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

FILES: Mapping[str, str] = {
    "cars/v1/small.ini": """\
        [meta]
        description = A small heap
        [config]
        base = plain
        [variables]
        heap_size = 300m
        """,
    "cars/v1/large.ini": """\
        [meta]
        description = A large heap
        type = car
        [config]
        base = plain
        [variables]
        heap_size = 2g
        """,
    "cars/v1/serial.ini": """\
        [meta]
        description = The serial collector
        type = mixin
        [variables]
        collector = Serial
        """,
    "cars/v1/buffers.ini": """\
        [meta]
        description = Larger buffers
        type = mixin
        [config]
        base = buffers,plain
        [variables]
        share = 30
        buffer = ${share}%
        """,
    "cars/v1/plain/config.ini": """\
        [variables]
        collector = G1
        heap_size = 1g
        runtime.jdk = 21,17
        """,
    "cars/v1/plain/templates/config/elasticsearch.yml": """\
        cluster.name: {{ cluster_name }}
        network.host: {{ network_host }}
        http.port: {{ http_port }}
        path.data: {{ data_paths[0] }}
        action.auto_create_index: no
        script:
          max_size_in_bytes: 1000
        {%- for key, value in cluster_settings.items() %}
        {{ key }}: {{ value | tojson }}
        {%- endfor %}
        """,
    "cars/v1/plain/templates/config/jvm.options": """\
        # heap
        -Xms{{ heap_size }}
        -Xmx{{ heap_size }}
        8-13:-XX:+UseConcMarkSweepGC
        14-:-XX:+Use{{ collector }}GC
        -XX:HeapDumpPath={{ heap_dump_path }}
        """,
    "cars/v1/plain/templates/config/log4j2.properties": """\
        rootLogger.level = info
        logger.index.name = org.example.index
        logger.index.level = debug
        logger.slow.name = slow
        logger.slow.level = trace
        logger.slow.appenderRef.file.ref = file
        """,
    "cars/v1/plain/templates/config/words/stop.txt": "the {{ node_name }}\n",
    "cars/v1/buffers/templates/config/elasticsearch.yml": "indices.memory.index_buffer_size: {{ buffer }}\n",
    "cars/v1/buffers/templates/config/users": "{{ not rendered }}\n",
    "plugins/v1/core-plugins.txt": "# comment\nanalysis-icu\nrepository-hdfs,1\n",
    "plugins/v1/my_plugin/fast.ini": "[config]\nbase = default\n[variables]\nmode = fast\n",
    "plugins/v1/my_plugin/empty.ini": "[variables]\nmode = none\n",
    "plugins/v1/my_plugin/default/templates/config/elasticsearch.yml": "my.mode: {{ mode }}\n",
    "plugins/v1/repository_s3/plugin.py": "def register(handler):\n    pass\n",
}
"""Text of each file of the repository."""


def write_team(root: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Writes the repository into a folder, which is returned; `changes` are more files, or others."""
    for name, text in {**FILES, **(changes or {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root
