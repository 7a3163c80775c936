"""An official archive is raced and started with security: over TLS that is verified, with a password."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from pacenote.cli.main import main
from pacenote.provision.layout import create_layout
from support.official_archive import pack, python_program, secured_files
from support.secure import CA, CERTIFICATES
from teams.repositories import write_team

pytestmark = pytest.mark.process

PASSWORD = "a-password-of-9-words"
Run = Callable[..., tuple[int, str, str]]

# With the options of the engine's own tools. The scripted engine reads PEM files only.
CERTUTIL = """\
import os, re, subprocess, sys, zipfile
assert sys.argv[1:3] == ["cert", "--silent"] and sys.argv[-2:] == ["--pass", ""], sys.argv
options = dict(each.split("=", 1) for each in sys.argv[3:] if "=" in each)
instances = open(sys.argv[sys.argv.index("--in") + 1]).read()
name, address = (re.search(pattern, instances)[1] for pattern in ('name: "(.*)"', '- "(.*)"'))
out = options["--out"]
run = lambda *arguments: subprocess.run(("openssl", *arguments), check=True, capture_output=True)
run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout", out + ".k", "-out", out + ".r")
open(out + ".e", "w").write("subjectAltName = IP:" + address)
run("x509", "-req", "-in", out + ".r", "-CA", options["--ca-cert"], "-CAkey", options["--ca-key"],
    "-set_serial", "1", "-extfile", out + ".e", "-out", out + ".c")
with zipfile.ZipFile(out, "w") as bundle:
    bundle.writestr(name + "/" + name + ".p12", open(out + ".k").read() + open(out + ".c").read())
"""

USERS = """\
import base64, hashlib, os, sys
file = os.path.join(os.environ["ES_PATH_CONF"], {"useradd": "users", "roles": "users_roles"}[sys.argv[1]])
name, option, value = sys.argv[2:5]
assert os.path.exists(file) and option == {"useradd": "-p", "roles": "-a"}[sys.argv[1]]
encoded = base64.b64encode(hashlib.pbkdf2_hmac("sha512", value.encode(), b"salt", 10000, 32)).decode()
line = name + ":{PBKDF2}10000$" + base64.b64encode(b"salt").decode() + "$" + encoded
open(file, "a").write((line if option == "-p" else value + ":" + name) + "\\n")
"""

# What hooks of Rally's team repository do, with the same calls.
HOOK = """\
import os, tempfile
from esrally.utils import io, process

def certificates(config_names, variables, **kwargs):
    if "x-pack-security" not in config_names:
        return
    root, here = variables["install_root_path"], os.path.dirname(__file__)
    instances = os.path.join(tempfile.mkdtemp(), "instances.yml")
    with open(instances, "w") as file:
        file.write('instances:\\n  - name: "%(node_name)s"\\n    ip:\\n      - "%(node_ip)s"\\n' % variables)
    bundle = os.path.join(root, "node-cert.zip")
    command = f'{root}/bin/elasticsearch-certutil cert --silent --in "{instances}" --out="{bundle}" '
    command += f'--ca-cert="{here}/ca/ca.crt" --ca-key="{here}/ca/ca.key" --pass ""'
    assert process.run_subprocess_with_logging(command, env=kwargs.get("env")) == 0
    io.decompress(bundle, os.path.join(root, "config", "x-pack"))

def user(config_names, variables, **kwargs):
    tool = os.path.join(variables["install_root_path"], "bin", "elasticsearch-users")
    password = variables.get("xpack_security_user_password", "rally-password")
    for arguments in (f'useradd rally -p "{password}"', "roles rally -a superuser"):
        assert process.run_subprocess_with_logging(f"{tool} {arguments}", env=kwargs.get("env")) == 0

def register(handler):
    handler.register("post_install", certificates)
    handler.register("post_install", user)
"""

KEYSTORE = "{{install_root_path}}/config/x-pack/{{node_name}}/{{node_name}}.p12"
SECURITY = f"""\
xpack.security.enabled: true
xpack.security.authc.realms:
  file.file1:
    order: 0
xpack.security.http.ssl.enabled: true
xpack.security.http.ssl.keystore.path: {KEYSTORE}
xpack.security.transport.ssl.enabled: true
xpack.security.transport.ssl.keystore.path: {KEYSTORE}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    own = tmp_path / "home"
    monkeypatch.setenv("PACENOTE_HOME", str(own))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path / "rally"))
    monkeypatch.delenv("PACENOTE_CLIENT_OPTIONS", raising=False)
    yield own
    main(["stop"])
    # For root, the engine is outside of the home folder.
    shutil.rmtree(create_layout(own).root, ignore_errors=True)


@pytest.fixture
def run(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command with an archive whose engine has security."""
    tools = {"certutil": CERTUTIL, "users": USERS}
    files = secured_files(**{f"elasticsearch_{name}": python_program(text) for name, text in tools.items()})
    archive = tmp_path / "elasticsearch-8.17.0.tar.gz"
    archive.write_bytes(pack(files))
    request = {"operation-type": "raw-request", "path": "/_cluster/health"}
    schedule = [{"operation": request, "clients": 2, "iterations": 5}]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))

    def run(command: str, *options: str) -> tuple[int, str, str]:
        engine = () if command in ("stop", "list") else (
            "--distribution=elasticsearch", "--distribution-version=8.17.0",
            f"--distribution-archive={archive}", "--car-params=heap_size:128m",
        )  # fmt: skip
        track = (f"--track-path={tmp_path / 'track.json'}", "--race-id=r") if command == "race" else ()
        code = main([command, *engine, *track, *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def raced(home: Path) -> dict[str, object]:
    client = json.loads((home / "races" / "r" / "race.json").read_text())["client"]
    return {name: client[name] for name in ("tls", "certificates_verified", "authentication")}


VERIFIED = {"tls": True, "certificates_verified": True, "authentication": "basic"}


def test_three_nodes_are_raced_over_https_with_certificates_that_are_verified(run: Run, home: Path) -> None:
    params = json.dumps({"heap_size": "128m", "xpack_security_user_password": PASSWORD})
    code, out, err = run("race", "--car=defaults,x-pack-security", "--nodes=3", f"--car-params={params}")
    assert code == 0, err
    assert raced(home) == VERIFIED
    record = json.loads((home / "races" / "r" / "race.json").read_text())
    assert [host[:18] for host in record["client"]["hosts"]] == ["https://127.0.0.1:"] * 3
    assert "is running at https://127.0.0.1:" in err
    # Neither what was printed nor what was stored has the password.
    stored = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    for text in (PASSWORD, "cmFsbHk6YS1wYXNzd29yZC1vZi05LXdvcmRz"):
        assert text not in out + err
        assert text.encode() not in stored


def test_client_options_override_what_pacenote_makes(run: Run, home: Path) -> None:
    secure = "--set=engine.xpack.security.enabled=true"
    given = "use_ssl:true,verify_certs:false,basic_auth_user:'rally',basic_auth_password:'rally-password'"
    code, _, err = run("race", secure, f"--client-options={given}")
    assert code == 0, err
    assert raced(home) == {**VERIFIED, "certificates_verified": False}
    shutil.rmtree(home / "races")
    code, _, err = run("race", secure, "--client-options=basic_auth_user:x,basic_auth_password:wrong-one")
    assert code == 64
    assert "failed with status 401" in err
    shutil.rmtree(home / "races")
    code, _, err = run("race", secure, "--client-options=use_ssl:false")
    assert code == 2
    assert "use_ssl:false in --client-options contradicts xpack.security.http.ssl.enabled=true" in err


def test_certificates_of_the_user_are_verified_with_the_authority_in_the_client_options(
    run: Run, home: Path
) -> None:
    given = [
        f"--set=engine.xpack.security.http.ssl.{name}={CERTIFICATES / 'server.pem'}"
        for name in ("key", "certificate")
    ]
    secure = ("--car=x-pack-security", *given)
    code, _, err = run("race", *secure)
    assert code == 2
    assert "http.ssl.key gives the certificate of the nodes, but not its authority" in err
    code, _, err = run("race", *secure, f"--client-options=ca_certs:{CERTIFICATES / 'client.pem'}")
    assert code == 64
    assert "its TLS certificate is not trusted" in err
    shutil.rmtree(home / "races")
    code, _, err = run("race", *secure, f"--client-options=ca_certs:{CA}")
    assert code == 0, err
    assert raced(home) == VERIFIED


def test_a_started_engine_says_what_its_clients_need(run: Run, home: Path, tmp_path: Path) -> None:
    code, out, err = run("start", "--car=x-pack-security", "--set=engine.node.name=mine")
    assert code == 0, err
    (file,) = (home / "installations").glob("*/client-options.json")
    assert " runs at https://127.0.0.1:392" in out
    assert f"Its clients need --client-options={file}, a file that only you can read" in out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    options = json.loads(file.read_text())["default"]
    assert (options["basic_auth_user"], options["basic_auth_password"]) == ("rally", "rally-password")
    assert "BEGIN CERTIFICATE" in Path(options["ca_certs"]).read_text()
    (node,) = json.loads(run("list", "nodes", "--format=json")[1])
    assert (node["scheme"], node["client-options"]) == ("https", str(file))
    assert f"https://{node['address']}" in run("list", "nodes")[1]
    existing = ("--pipeline=benchmark-only", f"--target-hosts={node['address']}", f"--client-options={file}")
    assert main(["race", f"--track-path={tmp_path / 'track.json'}", "--race-id=r", *existing]) == 0
    assert raced(home) == VERIFIED
    assert run("stop", "--preserve-install")[0] == 0
    assert not file.exists()


def test_hooks_of_a_team_repository_make_the_certificates_and_the_user(
    run: Run, home: Path, tmp_path: Path
) -> None:
    base = "cars/v1/x_pack/base"
    changes = {
        "cars/v1/x-pack-security.ini": "[config]\nbase = plain,x_pack/base,x_pack/security\n",
        f"{base}/config.py": HOOK,
        f"{base}/ca/ca.crt": "",
        "cars/v1/x_pack/security/templates/config/elasticsearch.yml": SECURITY,
        "cars/v1/x_pack/security/templates/config/users": "",
        "cars/v1/x_pack/security/templates/config/users_roles": "",
    }
    team = write_team(tmp_path / "team", {name: dedent(text) for name, text in changes.items()})
    files = ("-keyout", team / base / "ca" / "ca.key", "-out", team / base / "ca" / "ca.crt")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ca", *files)
    subprocess.run(command, check=True, capture_output=True)
    code, _, err = run(
        "race", "--car=small,x-pack-security", f"--team-path={team}", "--car-params=heap_size:128m"
    )
    assert code == 0, err
    assert raced(home) == VERIFIED
    authority = home / "races" / "r" / "artifacts" / "http_ca.crt"
    assert authority.read_text() == (team / base / "ca" / "ca.crt").read_text()
