"""What stands in the way of a first contact with an OPC UA server, as sentences that say what to do next."""

from urllib.parse import urlsplit

from adapters.opcua.certificates import Files, fingerprint, own_fingerprint
from adapters.opcua.node_map import OpcuaConnection
from adapters.shared.contact import why_not_reached
from tuner.basics.sentences import NOTHING, Sentence, say

try:
    from asyncua import ua
    from asyncua.client.client import Client
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

TABLE = "[campaign.adapter.settings.security]"
_NO_SECURITY = "None"
_MODES = {
    ua.MessageSecurityMode.None_: "None",
    ua.MessageSecurityMode.Sign: "Sign",
    ua.MessageSecurityMode.SignAndEncrypt: "SignAndEncrypt",
}
_UNTRUSTED = ("BadCertificate", "BadSecurityChecksFailed")


def port_of(endpoint: str) -> tuple[str, int]:
    """Host and port."""
    at = urlsplit(endpoint)
    return at.hostname or "", at.port or 4840


async def offered(connection: OpcuaConnection, timeout_s: float) -> list[ua.EndpointDescription]:
    """How the server may be spoken to; everybody may ask that."""
    return await Client(connection.endpoint, timeout=timeout_s).connect_and_get_server_endpoints()


def security_of(endpoint: ua.EndpointDescription) -> tuple[str, str]:
    """Policy and mode, in the words of the settings."""
    return endpoint.SecurityPolicyUri.rpartition("#")[2], _MODES.get(endpoint.SecurityMode, "?")


def mismatch(connection: OpcuaConnection, endpoints: list[ua.EndpointDescription]) -> Sentence:
    """Why none of the server's endpoints is as the settings want it, or nothing."""
    security = connection.security
    wanted = (security.policy, security.mode) if security else (_NO_SECURITY, _NO_SECURITY)
    there = sorted({security_of(endpoint) for endpoint in endpoints})
    if wanted in there or not there:
        return NOTHING
    secure = [one for one in there if one != (_NO_SECURITY, _NO_SECURITY)]
    offers = [say("opcua.policy", policy=policy, mode=mode) for policy, mode in secure] or [say("opcua.none_at_all")]
    if security is None:
        policy, mode = secure[-1] if secure else ("?", "?")
        return say("opcua.wants_security", table=TABLE, policy=policy, mode=mode, offers=offers)
    if not secure:
        return say("opcua.no_security", table=TABLE)
    return say("opcua.other_policy", policy=wanted[0], mode=wanted[1], offers=offers)


def unreached(connection: OpcuaConnection, timeout_s: float) -> Sentence:
    """Why there is no connection at all, or nothing if there is."""
    host, port = port_of(connection.endpoint)
    return why_not_reached(host, port, timeout_s, tls=False)


def distrust(status: str, where: Files) -> Sentence:
    """What to do about a server that does not accept our certificate."""
    told = {"fingerprint": own_fingerprint(where) or "?", "file": str(where.certificate)}
    return say("opcua.distrust", status=status, **told)


def is_distrust(status: str) -> bool:
    """Whether a status is about certificates."""
    return status.startswith(_UNTRUSTED)


def unknown_server(where: Files, certificate: bytes | None) -> Sentence:
    """What to do where the machine's certificate is not there yet."""
    if not certificate:
        return say("opcua.no_certificate")
    return say("opcua.unknown_server", file=str(where.server), fingerprint=fingerprint(certificate))
