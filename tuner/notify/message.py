"""What a receiver is told of an event: which kind it is, a sentence, and the event itself."""

import json
from dataclasses import dataclass
from typing import Any

from tuner.journal.records import Row


@dataclass(frozen=True)
class Message:
    """One message; `left_out` is how many came before it that were too many for the hour."""

    kind: str
    text: str
    row: Row
    left_out: int = 0

    def to_json(self) -> bytes:
        """As it is sent."""
        told: dict[str, Any] = {
            "v": 1,
            "kind": self.kind,
            "text": self.text,
            "campaign": self.row.campaign,
            "at": self.row.at,
            "event": self.row.seq,
            "type": self.row.type,
            "actor": self.row.actor,
            "left_out": self.left_out,
        }
        return json.dumps(told, ensure_ascii=False).encode()


def message_of(row: Row) -> Message | None:
    """What an event is for receivers; None: nothing that they are told."""
    try:
        body = json.loads(row.body)
    except ValueError:
        return None
    found = _kind(row.type, body)
    return None if found is None else Message(found[0], f"{row.campaign}: {found[1]}", row)


def _kind(event: str, body: dict[str, Any]) -> tuple[str, str] | None:
    why = str(body.get("reason") or "")
    because = f": {why}" if why else ""
    if event == "outcome_told":
        return None if body.get("valid") else ("scrap", f"trial {body.get('trial')} made no part{because}")
    if event == "home_answered":
        text = f"the machine could not return to its known-good setting: {body.get('text', '')}"
        return None if body.get("result") == "applied" else ("not_home", text)
    plain = {
        "duel_asked": ("question", "two parts wait for somebody to compare them"),
        "proposal_made": ("proposal", f"part {body.get('tag')} is proposed{because}"),
        "campaign_held": ("fault" if body.get("fault") else "held", f"tuning is held{because}"),
        "campaign_completed": ("complete", f"tuning is complete{because}"),
        "campaign_stopped": ("stopped", f"tuning was stopped{because}"),
        "campaign_aborted": ("aborted", f"tuning was aborted{because}"),
        "lot_changed": ("lot", f"the lot is {body.get('lot')} from now on"),
    }
    return plain.get(event)
