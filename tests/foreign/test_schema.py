"""`tuner schema` in the hands of a validator of others, in its strict mode."""

import json
import subprocess
import sys
import time

import pytest

from tests.foreign.sites import node, version_of
from tests.wire.test_schema import BAD, GOOD, campaign_traffic


@pytest.mark.foreign
def test_ajv_in_strict_mode_takes_the_document_and_everything_said_in_a_campaign(tmp_path, rows):
    began_s = time.monotonic()
    printed = subprocess.run([sys.executable, "-m", "tuner", "schema"], capture_output=True, check=True).stdout
    given = {"document": json.loads(printed), "traffic": campaign_traffic(), "good": GOOD, "bad": BAD}
    (tmp_path / "given.json").write_text(json.dumps(given))
    process = node("schema.js", tmp_path / "given.json", stderr=subprocess.PIPE)
    said, complaints = process.communicate()
    assert process.returncode == 0, complaints
    found = json.loads(said)
    result = "passed" if not found["wrong"] else "failed"
    seconds = f"{time.monotonic() - began_s:.0f}"
    rows.append(("ajv", version_of("ajv"), "", "", seconds, f"{result}: {found['checked']} messages, strict"))
    assert found["wrong"] == []
    assert found["checked"] > 50
