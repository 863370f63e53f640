"""A newcomer at `tuner demo --human`: only the pictures are seen, and thirty answers are enough on Sasena.

The newcomer is a proxy: it sees how far the colours of a part's picture are from those of a plate without flaws, cannot
tell parts that look nearly alike, and is careless now and then. It knows neither costs nor settings.
"""

import random
from pathlib import Path

import numpy as np
import pytest

from adapters.simulated.picture import pixels, plate
from tests.daemon.running import daemon, until
from tuner.console.picture import picture_of
from tuner.lab.demo.session import Session
from tuner.lab.simulate.prepare import as_toml

CONFIG = Path(__file__).parents[3] / "configs" / "sasena.toml"
ANSWERS = 30
ALIKE = 0.05  # pictures whose flaws differ by less are alike to the eye
CARELESS = 0.05  # of answers
WANTED_REGRET = 1.0


def flaws(photo: str) -> float:
    """How much of a picture is not as it should be, as the eye sees it."""
    seen = np.frombuffer(picture_of(photo).content, np.uint8).astype(np.float64)
    ideal = np.frombuffer(pixels(plate(0.0, (0.25,) * 4, 0))[-len(seen) :], np.uint8).astype(np.float64)
    return float(np.abs(seen - ideal).reshape(-1, 3).max(axis=1).mean())


def answer(client, view, luck: random.Random) -> None:
    sides = (view.duel.left, view.duel.right)
    left, right = (flaws(side.photo) for side in sides)
    careless = luck.random() < CARELESS
    if not careless and abs(left - right) <= ALIKE * max(left, right):
        client.tie(view.name, view.duel.number)
        return
    better = luck.randrange(2) if careless else int(right < left)
    client.judge(view.name, view.duel.number, sides[better].number, took_s=2.0)


def judged_by_a_newcomer(seed: int) -> float:
    """The champion's regret after so many answers."""
    demo = Session.from_file(CONFIG, trials=None, seed=seed, human=True, fast=True)
    luck = random.Random(seed)  # noqa: S311 - a careless person needs no secret
    with daemon(as_toml(demo.campaign)) as running:
        running.start()
        with running.client("newcomer") as client:
            client.start(demo.campaign.name)
            for _ in range(ANSWERS):
                view = until(client, demo.campaign.name, lambda view: view.duel is not None or view.mode == "Complete")
                if view.duel is None:
                    break
                answer(client, view, luck)
                number = view.duel.number
                until(client, demo.campaign.name, lambda view, n=number: view.duel is None or view.duel.number != n)
            champion = client.champion(demo.campaign.name).champion
    return demo.truth.regret(champion.setting)


@pytest.mark.slow
def test_thirty_answers_by_eye_reach_a_regret_under_one_on_sasena():
    regrets = [judged_by_a_newcomer(seed) for seed in range(5)]
    print("regrets:", " ".join(f"{one:.3f}" for one in regrets))  # noqa: T201 - the figure for the docs
    assert float(np.median(regrets)) < WANTED_REGRET
    assert sum(one < WANTED_REGRET for one in regrets) >= 4, regrets
