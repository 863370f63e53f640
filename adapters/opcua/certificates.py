"""The certificates of an OPC UA connection: tuner's own, made at first use, and the machine's, taken on request."""

import hashlib
import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from adapters.opcua.node_map import OpcuaConnection, Security
from tuner.adapter import RefusedError
from tuner.basics.places import places

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID
except ImportError as error:
    raise ImportError('the OPC UA adapter needs asyncua: pip install "process-tuner[opcua]"') from error

_YEARS = 10
_DAYS = 365
_KEY_BITS = 2048


@dataclass(frozen=True, slots=True)
class Files:
    """Where the three files of a connection are."""

    certificate: Path
    key: Path
    server: Path


def files(connection: OpcuaConnection, security: Security) -> Files:
    """As the settings say; what they leave out is in the directory `opcua` of the daemon's state."""
    home = places(os.environ, Path.home()).state_directory / "opcua"
    at = urlsplit(connection.endpoint)
    return Files(
        certificate=security.certificate_file or home / "tuner.der",
        key=security.key_file or home / "tuner.pem",
        server=security.server_certificate_file or home / f"{at.hostname}-{at.port or 4840}.der",
    )


def make_own(where: Files, application_uri: str) -> bool:
    """Make tuner's certificate and key unless they are there; whether they were made."""
    there = [path.exists() for path in (where.certificate, where.key)]
    if all(there):
        return False
    if any(there):
        lost = where.key if there[0] else where.certificate
        raise RefusedError(
            f"{lost} is missing, but its other half is there: put it back, or remove both to have new ones"
        )
    key = rsa.generate_private_key(public_exponent=65_537, key_size=_KEY_BITS)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        for path in (where.certificate, where.key):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(where.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret)
        where.certificate.write_bytes(_certificate(key, application_uri))
    except OSError as error:
        raise RefusedError(f"tuner's certificate cannot be written: {error}") from error
    return True


def _certificate(key: rsa.RSAPrivateKey, application_uri: str) -> bytes:
    """What the standard wants of an application's certificate."""
    host = socket.gethostname()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"tuner at {host}"[:64])])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(application_uri), x509.DNSName(host)])
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=True, key_encipherment=True, data_encipherment=True,
        key_agreement=False, key_cert_sign=True, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    purposes = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_YEARS * _DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .add_extension(usage, critical=True)
        .add_extension(purposes, critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.DER)


def fingerprint(certificate: bytes) -> str:
    """The SHA-1 thumbprint, as servers and UaExpert show it."""
    digest = hashlib.sha1(certificate, usedforsecurity=False).hexdigest().upper()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


def own_fingerprint(where: Files) -> str:
    """That of tuner's certificate, whether it is in a DER or a PEM file; nothing if it cannot be read."""
    try:
        data = where.certificate.read_bytes()
        pem = data.lstrip().startswith(b"-----")
        certificate = x509.load_pem_x509_certificate(data) if pem else x509.load_der_x509_certificate(data)
    except (OSError, ValueError):
        return ""
    return fingerprint(certificate.public_bytes(serialization.Encoding.DER))
