"""The smallest machine for the adapter `command`: reads setting and tag, "makes a part", says what came of it.

Try it by hand:
    echo '{"setting": {"speed": 120, "heat": 180.0}, "tag": "p1"}' | python3 examples/command_machine.py
"""

import json
import sys

request = json.load(sys.stdin)
setting = request["setting"]

if setting["heat"] < 150:
    answer = {"valid": False, "reason": "the melt was too cold to fill the mould"}
else:
    answer = {"valid": True, "measurements": {"cycle_s": 3600 / setting["speed"]}}

print(json.dumps(answer))  # noqa: T201 - stdout is where the adapter reads the answer
