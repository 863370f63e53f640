"""What `tuner simulate` and `tuner rehearse` say about a scrap contract."""

from dataclasses import dataclass

import pytest

from tests.lab.simulate.helpers import SASENA, tuner
from tuner.basics.sentences import say
from tuner.config.campaign import ScrapContract
from tuner.lab.simulate.contract import Kept

WHY = say("contract.budget", budget=2, parts=9)


@dataclass(frozen=True)
class Run:
    mode: str
    reason: str
    scrap: int
    trials: int


def test_runs_are_counted_against_the_contract_with_holds_and_why():
    held = say("contract.do_budget", why=WHY, name="press")
    runs = [Run("Complete", "", 1, 20), Run("Complete", "", 4, 20), Run("Held", held, 2, 9), Run("Held", "dark", 0, 3)]
    assert list(Kept(ScrapContract(rate=0.1, budget=2), 20).lines(runs)) == [
        "scrap contract: Agreed: at most 10 % of the 20 planned parts, which is 2. "
        "Tuning holds at 2 scrap parts (budget).",
        "  kept in 3 of 4 runs; scrap: usually 1.5, at most 4",
        "  beyond the count a run goes on with known ground; to hold there, set budget in [campaign.scrap]",
        f"  held in 1 of 4 runs, after 9 parts at the earliest: {WHY}",
    ]


def test_holds_of_one_kind_are_counted_together_whatever_their_numbers():
    runs = [
        Run(
            "Held", say("contract.do_budget", why=say("contract.budget", budget=2, parts=parts), name="press"), 2, parts
        )
        for parts in (19, 12, 18, 12, 15)
    ]
    lines = list(Kept(ScrapContract(rate=0.1, budget=2), 20).lines(runs))
    why = say("contract.budget", budget=2, parts=12)
    assert lines[2:] == [f"  held in 5 of 5 runs, after 12 parts at the earliest: {why}"]


def test_a_fault_is_no_hold_of_the_contract():
    lines = list(Kept(ScrapContract(rate=0.1), 20).lines([Run("Held", "dark", 0, 3)]))
    assert lines[-1] == "  held in none"


@pytest.mark.parametrize("command", [("simulate", "--in-process"), ("rehearse", "--runs", 1)])
def test_the_commands_say_what_came_of_the_contract(tmp_path, command):
    file = tmp_path / "contract.toml"
    file.write_text(SASENA.read_text().replace("# [campaign.scrap] ", "[campaign.scrap]\nrate = 0.05 # "))
    name, *more = command
    shown = tuner(name, file, "--trials", 4, "--jobs", 1, *more)
    assert "scrap contract: Agreed: at most 5 % of the 4 planned parts; that is less than one part" in shown.stdout
    assert "kept in 1 of 1 run; scrap: usually" in shown.stdout
    assert "tuner campaign resume" not in shown.stdout
