"""The first contact with an OPC UA server that wants certificates: each obstacle is told with the next step."""

import asyncio
import json
import socket
import threading

import pytest
from asyncua import Server, ua
from asyncua.common.utils import ServiceError
from asyncua.crypto.cert_gen import setup_self_signed_certificate
from click.testing import CliRunner
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_der_x509_certificate
from cryptography.x509.oid import ExtendedKeyUsageOID

from adapters.opcua import OpcuaAdapter
from adapters.opcua.certificates import Files, make_own
from adapters.opcua.node_map import OpcuaConnection, OpcuaSettings, Security
from tests.adapters.helpers import PARAMETERS
from tests.adapters.opcua.moulding_machine import table
from tests.patience import PATIENT_S
from tuner.adapter import LinkError, RefusedError
from tuner.cli.main import cli

POLICY = ua.SecurityPolicyType.Basic256Sha256_SignAndEncrypt


class Vault:
    """A server that speaks only with whom it trusts."""

    def __init__(self, directory):
        self.trusted = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.run(self.build(directory))

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENT_S)

    async def build(self, directory):
        self.server = server = Server()
        await server.init()
        server.set_endpoint("opc.tcp://127.0.0.1:0")
        key, self.certificate = directory / "server.pem", directory / "server.der"
        usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        await setup_self_signed_certificate(key, self.certificate, "urn:freeopcua:python:server", "vault", usage, {})
        await server.load_certificate(str(self.certificate))
        await server.load_private_key(str(key))
        server.set_security_policy([POLICY])
        server.set_certificate_validator(self.validate)
        index = await server.register_namespace("urn:example:press")
        await server.nodes.objects.add_variable(ua.NodeId("Speed", index), "Speed", 1.0)
        await server.start()
        self.endpoint = f"opc.tcp://127.0.0.1:{server.bserver._server.sockets[0].getsockname()[1]}"

    async def validate(self, certificate, _description):
        if certificate.public_bytes(Encoding.DER) not in self.trusted:
            raise ServiceError(ua.StatusCodes.BadCertificateUntrusted)

    def trust(self, certificate):
        self.trusted.add(certificate.read_bytes())

    def close(self):
        self.run(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    vault = Vault(tmp_path_factory.mktemp("vault"))
    yield vault
    vault.close()


def settings(vault, **changes):
    return OpcuaSettings.model_validate_json(
        json.dumps({"endpoint": vault.endpoint, "timeout_s": 5.0, **table(**changes)})
    )


def opened(vault, **changes):
    adapter = OpcuaAdapter(settings(vault, **changes), PARAMETERS)
    try:
        adapter.open(PATIENT_S)
    finally:
        adapter.close()


@pytest.mark.slow
def test_certificates_are_made_and_exchanged_step_by_step(vault, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    home = tmp_path / "tuner" / "opcua"
    with pytest.raises(
        RefusedError, match=r"its certificate is not known yet .* run: tuner adapters check opcua .*--trust"
    ):
        opened(vault, security={})
    assert (home / "tuner.pem").stat().st_mode & 0o777 == 0o600
    told = OpcuaAdapter.introduce(settings(vault, security={}), PATIENT_S)
    assert "the machine's was taken" in told[1]
    assert next(home.glob("127.0.0.1-*.der")).read_bytes() == vault.certificate.read_bytes()
    with pytest.raises(
        RefusedError, match=r"does not trust tuner's certificate .* from the rejected to the trusted"
    ) as caught:
        opened(vault, security={})
    assert str(home / "tuner.der") in str(caught.value)
    vault.trust(home / "tuner.der")
    opened(vault, security={})
    connection = OpcuaConnection(endpoint=vault.endpoint, security=Security())
    assert [row.name for row in OpcuaAdapter.browse(connection, PATIENT_S)] == ["Speed"]


def test_files_of_openssl_may_have_the_names_that_openssl_users_give_them(vault, tmp_path):
    files = Files(tmp_path / "tuner.der", tmp_path / "tuner.key", vault.certificate)
    make_own(files, "urn:process-tuner")
    vault.trust(files.certificate)
    certificate, server = tmp_path / "tuner.crt", tmp_path / "press.crt"
    for source, target in ((files.certificate, certificate), (vault.certificate, server)):
        target.write_bytes(load_der_x509_certificate(source.read_bytes()).public_bytes(Encoding.PEM))
    names = {"certificate_file": certificate, "key_file": files.key, "server_certificate_file": server}
    opened(vault, security={key: str(file) for key, file in names.items()})


def test_a_server_that_wants_security_says_which(vault):
    with pytest.raises(
        RefusedError, match=r'wants security: add the table .* policy = "Basic256Sha256" and mode = "SignAnd'
    ):
        opened(vault)


@pytest.mark.parametrize("deadline_s", [0.05, 2.0])
def test_browsing_what_does_not_speak_opcua_says_where_to_look(deadline_s):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = OpcuaConnection(endpoint=f"opc.tcp://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(
            LinkError, match="says nothing; look whether the server hangs, and whether this is its port"
        ):
            OpcuaAdapter.browse(connection, deadline_s)


def test_a_policy_that_is_not_offered_is_told_with_those_that_are(vault, tmp_path):
    files = {"certificate_file": str(tmp_path / "t.der"), "key_file": str(tmp_path / "t.pem")}
    with pytest.raises(
        RefusedError, match="does not offer Aes256Sha256RsaPss with Sign, but Basic256Sha256 with SignAnd"
    ):
        opened(vault, security={**files, "policy": "Aes256Sha256RsaPss", "mode": "Sign"})


def test_a_wrong_port_and_a_wrong_name_are_told(vault):
    with pytest.raises(LinkError, match="nothing listens on its port 1: look whether the port is right"):
        opened(vault, endpoint="opc.tcp://127.0.0.1:1")
    with pytest.raises(LinkError, match=r"no computer is called nowhere\.invalid"):
        opened(vault, endpoint="opc.tcp://nowhere.invalid:4840")


def test_browsing_from_the_command_line_needs_no_configuration(vault, tmp_path):
    files = [f"security.certificate_file={tmp_path / 't.der'}", f"security.key_file={tmp_path / 't.pem'}"]
    server = f"security.server_certificate_file={vault.certificate}"
    arguments = ["adapters", "browse", "opcua", f"endpoint={vault.endpoint}", *files, server, "--json"]
    shown = CliRunner().invoke(cli, arguments)
    assert shown.exit_code == 1
    assert "does not trust tuner's certificate" in shown.stderr
    vault.trust(tmp_path / "t.der")
    shown = CliRunner().invoke(cli, arguments)
    row = json.loads(shown.stdout)
    assert (row["where"], row["kind"]) == ("nsu=urn:example:press;s=Speed", "Double")
