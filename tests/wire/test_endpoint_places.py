from pathlib import Path

from tuner.wire import endpoint
from tuner.wire.endpoint import Link


def test_without_a_daemon_of_ones_own_the_service_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(endpoint, "SERVICE", tmp_path / "run")
    assert Link.local(None, {}, tmp_path).requests == f"ipc://{tmp_path}/.local/state/tuner/requests.sock"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "requests.sock").touch()
    assert Link.local(None, {}, tmp_path) == Link(
        f"ipc://{tmp_path}/run/requests.sock", f"ipc://{tmp_path}/run/events.sock", state=""
    )
    own = tmp_path / ".local/state/tuner/requests.sock"
    own.parent.mkdir(parents=True)
    own.touch()
    assert Link.local(None, {}, tmp_path).requests == f"ipc://{own}"
    assert Link.local(Path("/srv/x"), {}, tmp_path).requests == "ipc:///srv/x/requests.sock"
