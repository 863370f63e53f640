"""A journal of many events, made by `fill`."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal.fill import bodies, fill
from tests.patience import PATIENT_S
from tuner.journal import Store, canonical

ROOT = Path(__file__).parents[2]


def test_fill_makes_a_right_journal_of_mixed_campaigns(tmp_path):
    path = tmp_path / "journal.sqlite"
    head = fill(path, 45, 20)
    with Store.open_reading(path) as store:
        assert store.head == head
        assert head[0] == 900
        assert store.verify().ok
        campaigns = store.campaigns()
        assert [row.name for row in campaigns] == [f"campaign {number:04}" for number in range(1, 46)]
        assert {row.count for row in campaigns} == {20}
        assert campaigns[0].last_seq > campaigns[1].first_seq


def test_fill_goes_on_and_takes_other_bodies(tmp_path):
    path = tmp_path / "journal.sqlite"
    fill(path, 2, 3)
    fill(path, 2, 3, lambda campaign, number: canonical([campaign, number]))
    with Store.open_reading(path) as store:
        assert [row.body for row in store.rows(after=6)] == ["[0,0]", "[1,0]", "[0,1]", "[1,1]", "[0,2]", "[1,2]"]
        assert store.verify().ok


def test_made_up_bodies_are_canonical_and_as_long_as_real_ones():
    body = bodies(random.Random(1))  # noqa: S311 - made-up data
    made = [body(campaign, event) for campaign in range(40) for event in range(50)]
    assert all(canonical(json.loads(text)) == text for text in made)
    assert len(set(made)) == len(made)
    assert min(map(len, made)) > 100
    assert max(map(len, made)) <= 600


@pytest.mark.slow
def test_a_million_events_are_opened_without_reading_them_also_after_an_unclean_stop(tmp_path):
    path = tmp_path / "journal.sqlite"
    head = fill(path, 5000, 200)
    assert head[0] == 1_000_000
    with Store.open(path) as store:
        for campaign in store.campaigns()[::50]:
            store.save_snapshot(campaign.name, campaign.last_seq - 3, '{"state":1}')
    program = (
        "import os, sys; from pathlib import Path; from tests.journal.helpers import event;"
        "from tuner.journal import Store; store = Store.open(Path(sys.argv[1])); store.append([event(0)]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=PATIENT_S, cwd=ROOT)
    with Store.open(path) as store:
        assert store.check_due
        assert len(store.campaigns()) == 5001
        found = store.snapshot("campaign 0001")
        tail = list(store.rows(campaign="campaign 0001", after=found.seq))
        assert len(tail) >= 1
        assert {row.campaign for row in tail} == {"campaign 0001"}
        # what opening looks at: some thousand pages of six hundred thousand kilobytes
        assert [row.seq for row in store.page("campaign 0001", None, 1)] == [store.campaigns()[0].last_seq]
    with Store.open_reading(path) as store:
        assert store.verify().events == 1_000_001
