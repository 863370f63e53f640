"""A certificate for a plant without an authority of its own: signed by itself, for the names it is asked for."""

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tuner.errors import TunerError


def make(names: tuple[str, ...], days: int, folder: Path) -> tuple[Path, Path]:
    """Write tuner-web.crt and tuner-web.key; what is there already stays.

    Raises:
        TunerError: There is one already, or the folder cannot be written.
    """
    paths = (folder / "tuner-web.crt", folder / "tuner-web.key")
    for path in paths:
        if path.exists():
            raise TunerError(f"{path} is there already: move it away to make another")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0][:64])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        _write(paths[1], secret, 0o600)
        _write(paths[0], certificate.public_bytes(pem), 0o644)
    except OSError as error:
        raise TunerError(f"{error.filename} cannot be written: {error.strerror}") from error
    return paths


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
        file.write(content)
