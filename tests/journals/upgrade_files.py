"""Keeps what a release leaves behind besides its journal: `python -m tests.journals.upgrade_files VERSION`.

The sample configuration, and the files of a key ring made for this alone, by the release's own code.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import write

HERE = Path(__file__).parent / "upgrade"
CONFIG = Path(__file__).parents[2] / "configs" / "sasena.toml"


def main(version: str) -> None:
    """Write both."""
    shutil.copyfile(CONFIG, HERE / f"{version}.toml")
    with tempfile.TemporaryDirectory() as directory:
        state, clients = Path(directory) / "state", Path(directory) / "clients"
        clients.mkdir()
        ring = KeyRing.open(state)
        for name, role in (("press-3", "operator"), ("lab", "viewer")):
            write(clients / f"{name}.tuner-key", ring.new(name, role))
        ring.revoke("lab")
        kept = {
            "daemon": {str(path.relative_to(state)): path.read_text() for path in sorted(state.rglob("*.*"))},
            "clients": {path.name: path.read_text() for path in sorted(clients.iterdir())},
        }
    (HERE / f"{version}.keys.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
