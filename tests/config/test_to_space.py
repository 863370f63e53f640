from tuner import Choice, Continuous, Integer, Stepped
from tuner.config import parse_config
from tuner.config.to_space import campaign_space

TEXT = """
[[campaign]]
name = "c"
machine = "m"
constraints = ["a + b <= 9"]
[campaign.budget]
trials = 5
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "rosenbrock5"
[[campaign.parameter]]
kind = "continuous"
name = "a"
low = 1.0
high = 5.0
start = 2.0
unit = "mm"
log = true
[[campaign.parameter]]
kind = "integer"
name = "b"
low = 0
high = 7
start = 3
[[campaign.parameter]]
kind = "stepped"
name = "s"
low = 0.0
high = 0.3
step = 0.1
start = 0.3
[[campaign.parameter]]
kind = "choice"
name = "c"
choices = ["x", "y"]
start = "y"
[[campaign.parameter]]
kind = "continuous"
name = "d"
low = -1.0
high = 1.0
start = 0.0
"""


def test_a_campaign_becomes_a_space_with_the_same_parameters_and_constraints():
    campaign = parse_config(TEXT, "text").campaigns[0]
    space = campaign_space(campaign)
    assert space.parameters == (
        Continuous("a", 1.0, 5.0, "mm", log=True),
        Integer("b", 0, 7),
        Stepped("s", 0.0, 0.3, 0.1),
        Choice("c", ["x", "y"]),
        Continuous("d", -1.0, 1.0),
    )
    assert [c.text for c in space.constraints] == ["a + b <= 9"]


def test_the_known_good_setting_lies_in_the_space_and_survives_the_way_there_and_back():
    campaign = parse_config(TEXT, "text").campaigns[0]
    space = campaign_space(campaign)
    back = space.decode(space.encode(campaign.known_good))
    assert {**back, "a": round(back["a"], 12)} == campaign.known_good
