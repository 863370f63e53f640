"""The present daemon takes over what the last release left: its journal, its configuration and its keys.

`upgrade/VERSION.toml` is the sample configuration as the release shipped it, `upgrade/VERSION.keys.json` the files of a
key ring as it wrote them (made for this test, used nowhere else).
"""

import json
from pathlib import Path

import pytest

from tests.daemon.running import daemon, reached_at
from tests.journals.make import expected, restore
from tests.wire.counterpart import free_endpoints
from tuner.errors import TunerError
from tuner.wire.client import Client
from tuner.wire.key_ring import KeyRing
from tuner.wire.operations import Operations

KEPT = Path(__file__).parent / "upgrade"
VERSIONS = sorted(path.stem for path in KEPT.glob("*.toml"))


def put_keys(version, state) -> dict[str, Path]:
    """The files of the daemon's key ring and those of its clients, with the rights they had."""
    kept = json.loads((KEPT / f"{version}.keys.json").read_text())
    made = {}
    for directory, files in ((state, kept["daemon"]), (state.parent, kept["clients"])):
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(text)
            made[path.name.removesuffix(".tuner-key")] = path
    return made


def test_the_last_release_is_kept():
    released = sorted(path.name.removesuffix(".sql.xz") for path in KEPT.parent.glob("[0-9]*.sql.xz"))
    assert VERSIONS[-1] == released[-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_daemon_goes_on_with_the_journal_the_configuration_and_the_keys_of_a_release(version):
    requests, events = free_endpoints(2)
    config = (KEPT / f"{version}.toml").read_text()
    assert config.count("[daemon]\n") == 1
    config = config.replace("[daemon]\n", reached_at((requests, events)))
    known = expected(version)
    with daemon(config) as running:
        restore(version, running.state)
        files = put_keys(version, running.state)
        running.start()
        with Client.connect(requests, key=files["press-3"]) as client:
            welcome = client.call(Operations.hello())
            status = client.call(Operations.status())
        assert welcome.role == "operator"
        listed = {line.name for line in status.campaigns}
        assert "sasena" in listed
        assert len(listed | known["campaigns"].keys()) == len(listed) + status.over  # those that are over are counted
        assert status.set_aside == []
        with Client.connect(requests, key=files["lab"]) as revoked, pytest.raises(TunerError):
            revoked.call(Operations.status(), timeout_s=1.0)
        assert running.stop() == 0
        with running.journal() as store:
            verdict = store.verify(expect_head=known["head"])
        assert verdict.ok, verdict
        assert {key.name: bool(key.revoked) for key in KeyRing.open(running.state).list()} == {
            "press-3": False,
            "lab": True,
        }
