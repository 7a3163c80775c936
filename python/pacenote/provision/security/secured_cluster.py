"""Whether an engine is started with security, what that needs, and how clients reach it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.fetch.disk import disk_error, replace_text
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.net.http_pool import ClientConfig
from pacenote.net.tls import tls_context
from pacenote.provision.cars import Car
from pacenote.provision.cluster_access import ClusterAccess
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
from pacenote.provision.engine_program import EngineProgram
from pacenote.provision.security.certificates import check_openssl, make_certificates
from pacenote.provision.security.engine_user import EngineUser, engine_user
from pacenote.provision.security.secured_program import (
    LAYERS,
    SecuredProgram,
    certificate_setting,
    given_files,
    layer_setting,
    uses_tls,
)
from pacenote.provision.team_cars import TeamTemplate
from pacenote.system.paths import is_dir, is_file

AUTHORITY_FILE = "http_ca.crt"
"""The name of the file with the authority of a cluster, beside the logs of its nodes."""

OPTIONS_FILE = "client-options.json"
"""The name of the file with the client options of a cluster that keeps running."""

_ENABLED = "xpack.security.enabled"
_MODULE = Path("modules", "x-pack-security")
_HOOK_AUTHORITY = Path("ca", "ca.crt")
"""Where hooks of Rally's team repository have the authority that signs the certificates they make."""


class SecurityRequest(Struct, frozen=True):
    """What the security of an engine depends on."""

    car: Car
    """The car, with the settings of an exemplary node."""
    client: ClientOptions
    """The client options of the user, which override those that Pacenote makes."""

    @property
    def enabled(self) -> bool:
        """Whether the car switches the security of Elasticsearch on."""
        return str(self.car.settings.get(_ENABLED, "")).lower() == "true"

    @property
    def makes_certificates(self) -> bool:
        """Whether a layer uses certificates that Pacenote makes."""
        return any(
            uses_tls(self.car.settings, layer) and certificate_setting(self.car.settings, layer) is None
            for layer in LAYERS
        )

    @property
    def user(self) -> EngineUser:
        """The user of the clients. Raises UsageError."""
        return engine_user(self.car.variables)

    @property
    def secrets(self) -> frozenset[str]:
        """What must be neither stored nor shown."""
        return self.user.secrets if self.enabled else frozenset()


def check_security(distribution: str, request: SecurityRequest, *, assembled: bool) -> None:
    """Raises UsageError and EngineError for an engine that cannot be started with the security that is
    requested.
    """
    official = OFFICIAL_ARCHIVES.get(distribution)
    if official is None:
        return
    name, value = official.security_on
    if str(request.car.settings.get(name, "")).lower() != value:
        return
    if not official.can_secure:
        raise EngineError(
            f"{name}={value}: Pacenote cannot start {distribution} with security",
            hint="omit it, or start the engine yourself, and use --target-hosts with --client-options",
        )
    if assembled:
        raise EngineError(
            f"{name}={value}: {distribution} has security only in its official archive, not as Pacenote "
            "assembles it",
            hint="add --distribution-repository=release, or --distribution-archive with the archive",
        )
    _check_request(request)


def _check_request(request: SecurityRequest) -> None:
    settings, client = request.car.settings, request.client
    engine_user(request.car.variables)
    https = uses_tls(settings, "http")
    if client.use_ssl not in (None, https):
        raise UsageError(
            f"use_ssl:{str(client.use_ssl).lower()} in --client-options contradicts "
            f"{layer_setting('http', 'enabled')}={str(https).lower()}",
            hint="omit use_ssl",
        )
    for name, file in given_files(_settings_of_user(request.car)):
        if not os.access(file, os.R_OK) or not is_file(file):
            raise UsageError(f"{name}: {file} cannot be read", hint="name a file on this machine")
    if client.tls.ca_file or client.tls.client_cert:
        tls_context(client.tls)
    certificate = certificate_setting(settings, "http")
    if https and certificate and client.tls.verify and _authority(request) is None:
        raise UsageError(
            f"{certificate} gives the certificate of the nodes, but not its authority, which clients need",
            hint=f"give ca_certs in --client-options, or {layer_setting('http', 'certificate_authorities')}",
        )
    if request.makes_certificates:
        check_openssl()


def secure(
    program: EngineProgram, request: SecurityRequest, names: Iterable[str], folder: Path
) -> tuple[EngineProgram, ClusterAccess]:
    """Returns an engine with security for nodes with these names, and how clients reach it.

    The certificate of its authority is written to `folder`, which only Pacenote's user can change. Raises
    EngineError for an archive without security and if certificates cannot be made, and DiskError.
    """
    if not is_dir(program.home / _MODULE):
        raise EngineError(
            f"{_ENABLED}=true: the archive has no security: it lacks {_MODULE}",
            hint="use the archive of the default distribution",
        )
    certificates = make_certificates(names) if request.makes_certificates else None
    secured = SecuredProgram(program, request.user, certificates)
    settings = request.car.settings
    if not uses_tls(settings, "http"):
        return secured, _access(request, "http", None)
    if certificates is not None and certificate_setting(settings, "http") is None:
        authority = certificates.authority
    else:
        authority_file = _authority(request)
        if authority_file is None or str(authority_file) == request.client.tls.ca_file:
            return secured, _access(request, "https", request.client.tls.ca_file)
        authority = _read(authority_file)
    file = folder.absolute() / AUTHORITY_FILE
    replace_text(file, authority)
    return secured, _access(request, "https", str(file))


def write_client_options(access: ClusterAccess, request: SecurityRequest) -> None:
    """Writes the client options of a cluster to a file that only this user can read, if the cluster has one.

    Raises DiskError.
    """
    file = access.options_file
    if file is None:
        return
    options: dict[str, object] = {
        "basic_auth_user": request.user.name,
        "basic_auth_password": request.user.password,
    }
    if access.scheme == "https":
        tls = access.starting.tls
        options = {"use_ssl": True, "verify_certs": tls.verify, "ca_certs": tls.ca_file, **options}
    try:
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump({"default": options}, opened, indent=2)
    except OSError as failure:
        raise disk_error(failure, file) from failure


def remove_client_options(folder: Path) -> None:
    """Removes what `secure` and `write_client_options` have written to a folder."""
    for name in (OPTIONS_FILE, AUTHORITY_FILE):
        (folder / name).unlink(missing_ok=True)


def _access(request: SecurityRequest, scheme: str, authority: str | None) -> ClusterAccess:
    client, user = request.client, request.user
    # Of certificates that Pacenote has made, only their authority must be trusted.
    has_own_certificate = certificate_setting(request.car.settings, "http") is None
    starting = (
        TlsOptions(authority, client.tls.client_cert, client.tls.client_key)
        if has_own_certificate
        else replace(client.tls, ca_file=authority)
    )
    return ClusterAccess(
        scheme,
        starting=ClientConfig((("authorization", user.authorization),), starting),
        clients=ClientConfig(
            (("authorization", client.authorization or user.authorization),),
            replace(client.tls, ca_file=client.tls.ca_file or authority),
        ),
        is_own_certificate=has_own_certificate,
    )


def _authority(request: SecurityRequest) -> Path | None:
    """Returns the file with the authority of certificates that Pacenote does not make, or None."""
    if request.client.tls.ca_file:
        return Path(request.client.tls.ca_file)
    name = layer_setting("http", "certificate_authorities")
    files = [file for setting, file in given_files(_settings_of_user(request.car)) if setting == name]
    template = request.car.template
    if isinstance(template, TeamTemplate):
        hooks = (script for hook in template.composition.hooks for script in hook.scripts)
        files += [script.parent / _HOOK_AUTHORITY for script in hooks]
    return next((file for file in files if is_file(file)), None)


def _settings_of_user(car: Car) -> Mapping[str, object]:
    """Returns the settings that name files on this machine; those of templates name files of a node."""
    return car.template.overrides.settings if isinstance(car.template, TeamTemplate) else car.settings


def _read(file: Path) -> str:
    try:
        return file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f"{file} cannot be read as certificates in PEM format: {error}") from error
