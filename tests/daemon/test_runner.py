"""The work of one campaign whose results are refused again and again: people are told, instead of waiting for ever."""

import asyncio
from types import SimpleNamespace

import pytest

from tests.campaign.helpers import Driver
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, wanted
from tuner.daemon import runner as runners
from tuner.daemon.runner import CampaignRunner, Context


@pytest.mark.asyncio
async def test_work_that_comes_to_nothing_again_and_again_becomes_a_fault(monkeypatch):
    monkeypatch.setattr(runners, "AGAIN_S", 0.0)
    told = asyncio.get_running_loop().create_future()
    tries = []

    async def post(name, command, *, effect=None):
        if isinstance(command, c.Fault) and not told.done():
            told.set_result(command)
        return SimpleNamespace(status="refused")

    async def nothing(effect, state):
        tries.append(effect)

    state = Driver().begun().state
    context = Context(post, compute=None, progress=lambda *_: None, deadline_s=1.0, engine="this", speculate=False)
    runner = CampaignRunner.of(state, context)
    monkeypatch.setattr(runner._performer, "do", nothing)
    try:
        runner.follow(state)
        fault = await told
    finally:
        await runner.close()
    assert isinstance(wanted(state), ComputeNext)
    assert tries[: runners.MOST_IN_VAIN + 1] == [wanted(state)] * (runners.MOST_IN_VAIN + 1)
    assert "came to nothing 5 times" in fault.text
