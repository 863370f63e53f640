from tests.core.helpers import LIGHT
from tuner import Continuous, Optimizer, Space
from tuner.core.optimizer.proposer import learn

LINE = Space([Continuous("x", 0, 1)])


def counted():
    calls = []

    def learner(*told):
        calls.append(told)
        return learn(*told)

    optimizer = Optimizer(LINE, strategy=LIGHT, budget=9, learner=learner)
    for x in (0.1, 0.5, 0.9):
        optimizer.tell_outcome(optimizer.add({"x": x}), True)
    optimizer.tell_judgment(2, 1)
    optimizer.tell_judgment(2, 3)
    return optimizer, calls


def test_a_question_a_recommendation_and_a_proposal_rest_on_one_fit_until_something_is_told():
    optimizer, calls = counted()
    optimizer.question()
    optimizer.recommend()
    proposal = optimizer.ask()
    assert len(calls) == 1
    optimizer.tell_outcome(proposal.number, True)
    optimizer.learned()
    number = optimizer.tell_judgment(proposal.number, 2)
    optimizer.learned()
    optimizer.retract(number)
    optimizer.learned()
    optimizer.exclude(proposal.number)
    optimizer.learned()
    assert len(calls) == 5


def test_what_is_asked_in_between_changes_no_proposal():
    plain, _ = counted()
    asked, _ = counted()
    asked.question()
    asked.recommend()
    assert asked.ask() == plain.ask()
