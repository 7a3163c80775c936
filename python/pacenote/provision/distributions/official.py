"""The official archives of the engines: their addresses, and how their scripts and settings differ."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from pacenote.provision.java import JavaRange
from pacenote.units import whole_number


class OptionalPart(Struct, frozen=True):
    """A part that not every archive of an engine has, and the settings of a node that has it."""

    folder: str
    """The folder of the part in the archive."""
    settings: Mapping[str, object]
    """Settings that an engine without the part rejects."""
    since: tuple[int, int] = (0, 0)
    """The first version that has the settings."""


class OfficialArchive(Struct, frozen=True):
    """The archives of one engine."""

    name: str
    """The name of the distribution; also that of its start script, its settings file and its jar."""
    variables: str
    """What the names of its environment variables begin with."""
    repositories: Mapping[str, str]
    """The vendor's repositories: name to the address of an archive, with Rally's placeholders."""
    architectures: Mapping[str, str]
    """The processor architecture as Linux names it → as the archives are named."""
    first_major: int
    """The oldest major version whose archives Pacenote starts."""
    java: Mapping[int, JavaRange]
    """Major version of the engine → versions of Java that it runs on, if its own is not used."""
    plugins: str
    """The address of the vendor's plugins, with the placeholder {{PLUGIN}}."""
    server: str
    """Group id and artifact id of its server in Maven repositories, which list its versions."""
    security_on: tuple[str, str]
    """The setting that switches security on, and its value; clients then need certificates and a password."""
    can_secure: bool = False
    """Whether Pacenote starts it with security."""
    optional_parts: tuple[OptionalPart, ...] = field(default=())
    """Settings of parts that slow a race down or change its indices, and of security, which is switched off.
    """

    def java_range(self, version: str) -> JavaRange:
        """Returns the versions of Java that a version runs on; a later major version needs at least the Java
        of the last known one.
        """
        major = whole_number(version.partition(".")[0]) or 0
        return self.java.get(major) or self.java[max(self.java)]


OFFICIAL_ARCHIVES: Mapping[str, OfficialArchive] = {
    archive.name: archive
    for archive in (
        OfficialArchive(
            name="opensearch",
            variables="OPENSEARCH",
            repositories={
                "release": "https://artifacts.opensearch.org/releases/bundle/opensearch/{{VERSION}}/"
                "opensearch-{{VERSION}}-{{OSNAME}}-{{ARCH}}.tar.gz",
                "snapshot": "https://artifacts.opensearch.org/snapshots/core/opensearch/{{VERSION}}/"
                "opensearch-min-{{VERSION}}-{{OSNAME}}-{{ARCH}}-latest.tar.gz",
            },
            architectures={"x86_64": "x64", "aarch64": "arm64"},
            first_major=1,
            plugins="https://artifacts.opensearch.org/releases/plugins/{{PLUGIN}}/{{VERSION}}/"
            "{{PLUGIN}}-{{VERSION}}.zip",
            server="org.opensearch:opensearch",
            java={1: JavaRange(11, 17), 2: JavaRange(11, 21), 3: JavaRange(21)},
            security_on=("plugins.security.disabled", "false"),
            optional_parts=(
                OptionalPart("plugins/opensearch-security", {"plugins.security.disabled": True}),
            ),
        ),
        OfficialArchive(
            name="elasticsearch",
            variables="ES",
            repositories={
                "release": "https://artifacts.elastic.co/downloads/elasticsearch/"
                "elasticsearch-{{VERSION}}-{{OSNAME}}-{{ARCH}}.tar.gz",
                "snapshot": "https://snapshots.elastic.co/downloads/elasticsearch/"
                "elasticsearch-{{VERSION}}-{{OSNAME}}-{{ARCH}}.tar.gz",
            },
            architectures={},
            first_major=7,
            java={7: JavaRange(17, 21), 8: JavaRange(17), 9: JavaRange(21)},
            plugins="https://artifacts.elastic.co/downloads/elasticsearch-plugins/{{PLUGIN}}/"
            "{{PLUGIN}}-{{VERSION}}.zip",
            server="org.elasticsearch:elasticsearch",
            security_on=("xpack.security.enabled", "true"),
            can_secure=True,
            # As in Rally's cars: no security, and no work in the background that no track asks for.
            optional_parts=(
                OptionalPart("modules/x-pack-security", {"xpack.security.enabled": False}),
                OptionalPart("modules/x-pack-ml", {"xpack.ml.enabled": False}),
                OptionalPart("modules/x-pack-watcher", {"xpack.watcher.enabled": False}),
                OptionalPart("modules/ingest-geoip", {"ingest.geoip.downloader.enabled": False}, (7, 14)),
            ),
        ),
    )
}
"""What is known of the archives of each engine, by the name of the distribution."""
