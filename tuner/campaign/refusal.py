"""Who asks something of a campaign, and why it is not done."""

from dataclasses import dataclass

from tuner.basics.names import VIA
from tuner.basics.sentences import Sentence


class Refusal(Exception):  # noqa: N818 - the design's word; it is an answer, not a defect
    """Why a command is not done, with a code for programs and a sentence for people."""

    def __init__(self, code: str, text: Sentence) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: a person or program by name, what it may do, and whether a PIN or badge has proved the name."""

    name: str
    role: str
    via: str = ""
    proved: bool = False

    @property
    def signature(self) -> str:
        """As the journal has it: the person, and the key of the client if it has one.

        The key is always said: without it a local client of the same name would sign alike.
        """
        return f"{self.name}{VIA}{self.via}" if self.via else self.name
