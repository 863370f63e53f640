"""Whatever is commanded in whatever order: what must hold of every campaign, always."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.campaign.helpers import ANNA, BEN, ENGINEER, Driver, proposed, terms
from tuner.campaign import commands as c
from tuner.campaign.decide import Refusal
from tuner.campaign.earlier import EarlierJudgment, EarlierTrial
from tuner.campaign.effects import ComputeNext, ReturnHome, Run, Send, basis, model_due, wanted
from tuner.campaign.evolve import fold
from tuner.campaign.model_input import model_input
from tuner.campaign.speculate import futures
from tuner.campaign.state import Mode, Stage
from tuner.compute.tasks import space_from_json
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.questions import Asked
from tuner.daemon.journal_thread import STATE

numbers = st.integers(1, 8)
BY_HAND = [
    {"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0},
    {"kind": "integer", "name": "n", "low": 0, "high": 4, "start": 2, "manual": True},
]
propose = st.builds(
    lambda x, n, leader: proposed(None, {"x": x, "n": n}, leader=leader),
    st.floats(0, 10),
    st.integers(0, 4),
    st.none() | numbers,
)
orders = st.one_of(
    st.sampled_from([c.Start(), c.Hold(), c.Resume(), c.Stop(), c.Abort(), c.GoHome(), c.Tick(), c.Reduel()]),
    st.builds(c.Approve, trial=numbers),
    st.builds(c.Reject, trial=numbers, reason=st.just("no")),
    st.builds(c.TellOutcome, trial=numbers, valid=st.booleans(), reason=st.just("r")),
    st.builds(c.Judge, duel=numbers, winner=numbers),
    st.builds(c.Tie, duel=numbers),
    st.builds(c.Retract, judgment=numbers),
    st.builds(c.Exclude, trial=numbers, reason=st.just("r")),
    st.builds(c.Repeat, trial=numbers),
    st.builds(c.ChangeLot, lot=st.sampled_from("ab")),
    propose,
    st.builds(c.Fault, text=st.just("f")),
    st.builds(c.Interrupt, reason=st.just("i")),
    st.builds(c.Park, reason=st.just("p")),
    st.builds(c.AnswerHome, result=st.sampled_from(["applied", "failed", "unverified"]), text=st.just("t")),
    st.builds(c.DelayHome, text=st.sampled_from("tu")),
    st.builds(c.ConfirmChange, change=numbers),
    st.builds(
        lambda x, n, discount, judged: c.ImportEarlier(
            source="f",
            trials=tuple(EarlierTrial(setting={"x": x, "n": n + i}, valid=i < 2) for i in range(3)),
            judgments=(EarlierJudgment(left=2, right=1, winner=2, operator="old"),) if judged else (),
            discount=discount,
        ),
        st.floats(0, 10),
        st.integers(0, 4),
        st.sampled_from([0.5, 1.0]),
        st.booleans(),
    ),
    # the machine's usual road, so that many histories come far
    st.sampled_from(["propose", "send", "apply", "begin", "outcome", "scrap", "judge", "take back", "confirm"]),
)
parts = st.sampled_from(["made", "made and judged", "scrap", "taken back while it is made", "taken back before scrap"])


def on_its_road(driver: Driver, word: str):
    state = driver.state
    number = state.trial.number if state.trial else 1
    if word == "judge":
        return c.Judge(duel=max(1, len(state.duels)), winner=state.duel.left if state.duel else 1)
    if word == "propose":  # the model believes in the part that was made last
        return proposed(state, {"x": len(state.trials) / 8, "n": 1}, leader=len(state.trials) or None)
    if word == "take back":
        return c.Retract(judgment=max(1, len(state.judgments)))
    if word == "confirm":
        return c.ConfirmChange(change=max(1, state.changes))
    return {
        "send": c.SendSetting(trial=number),
        "apply": c.AnswerSetting(trial=number, result="applied"),
        "begin": c.BeginTrial(trial=number),
        "outcome": c.MachineOutcome(trial=number, valid=True),
        "scrap": c.MachineOutcome(trial=number, valid=False, reason="r"),
    }[word]


@given(st.lists(st.tuples(orders, st.sampled_from([ENGINEER, ANNA, BEN])), max_size=60), st.booleans(), st.booleans())
@settings(deadline=None)
def test_what_always_holds(commands, approval, manual):
    policy = {"approval": approval, "repeat_after": 3}
    driver = Driver(terms(trials=6, scrap=3, policy=policy, parameters=BY_HAND if manual else None))
    driver.tell(c.Start())
    for command, actor in commands:
        before = driver.state
        if isinstance(command, c.Propose) and (command.model.leader or 0) > len(before.trials):
            continue  # the model knows of no such trial
        try:
            driver.tell(on_its_road(driver, command) if isinstance(command, str) else command, actor)
        except Refusal:
            assert driver.state is before
        holds(driver)
    assert driver.refold() == driver.state
    assert STATE.validate_json(STATE.dump_json(driver.state)) == driver.state
    half = len(driver.recorded) // 2
    snapshot = fold("press-1", driver.recorded[:half])
    assert fold("press-1", driver.recorded[half:], snapshot) == driver.state


@given(st.lists(st.tuples(orders, st.sampled_from([ENGINEER, ANNA, BEN])), max_size=60), st.booleans())
def test_nothing_is_accepted_and_then_not_acted_on(commands, approval):
    driver = Driver(terms(trials=6, scrap=3, policy={"approval": approval, "repeat_after": 3}))
    driver.tell(c.Start())
    for command, actor in commands:
        told = on_its_road(driver, command) if isinstance(command, str) else command
        before = driver.state
        try:
            driver.tell(told, actor)
        except Refusal:
            continue
        acted_on(driver, before, told)


@given(st.lists(st.tuples(parts, st.booleans(), st.booleans()), max_size=12))
def test_model_and_campaign_never_wait_for_each_other_to_ask(made):
    driver = Driver(terms(trials=20, policy={"repeat_after": None})).begun()
    for how, new_wins, led in made:
        while driver.state.duel is not None:
            driver.judge(new_wins)
        count = len(driver.state.trials)
        driver.tell(proposed(driver.state, {"x": count / 2, "n": 1}, leader=count if led else None))
        driver.send()
        if how.startswith("taken back") and driver.state.active:
            driver.tell(c.Retract(judgment=driver.state.active[-1].number, reason="wrong key"))
        driver.tell(c.MachineOutcome(trial=driver.state.trial.number, valid="scrap" not in how, reason="r"))
        holds(driver)
        if how == "made and judged":
            driver.judge(new_wins)
            holds(driver)


def acted_on(driver: Driver, before, command) -> None:
    """What was accepted is under way, comes next, or is counted from now on."""
    state = driver.state
    if isinstance(command, c.Approve):
        assert wanted(state) in (Send(command.trial), ReturnHome(state.machine.home_wanted))
        assert state.mode is Mode.EXECUTE
    elif isinstance(command, c.Reject):
        assert state.trials[command.trial - 1].stage is Stage.REJECTED
    elif isinstance(command, c.Repeat):
        pending = [*state.repeat, state.trial.repeats if state.trial else None]
        assert command.trial in pending
        assert state.spent + len(state.repeat) <= state.terms.budget.trials
        assert state.mode in (Mode.EXECUTE, Mode.HELD)
    elif isinstance(command, c.Judge | c.Tie):
        assert state.judgments[-1].duel == command.duel
        assert len(state.judgments) == len(before.judgments) + 1
    elif isinstance(command, c.Retract):
        assert command.judgment not in {judgment.number for judgment in state.active}
    elif isinstance(command, c.Exclude):
        assert not state.trials[command.trial - 1].usable
    elif isinstance(command, c.TellOutcome):
        assert state.trials[command.trial - 1].valid is command.valid
    elif isinstance(command, c.ImportEarlier):
        own = command.discount == 1.0
        assert len(state.trials) - len(before.trials) >= (3 if own else 0)
        assert sum(t["earlier"] for t in model_input(state)["state"]["trials"]) == 3 * sum(
            one.discount < 1.0 for one in state.imports
        )
    elif isinstance(command, c.ChangeLot):
        assert state.lot == command.lot
    elif isinstance(command, c.GoHome):
        assert isinstance(wanted(state), ReturnHome | Run)
    elif isinstance(command, c.Resume | c.Start):
        assert state.mode in (Mode.EXECUTE, Mode.COMPLETE)
    elif isinstance(command, c.Hold | c.Stop | c.Abort):
        assert not isinstance(wanted(state), Send | ComputeNext)
    elif isinstance(command, c.SendSetting | c.BeginTrial):
        assert before.mode is Mode.EXECUTE


def holds(driver: Driver) -> None:
    state = driver.state
    assert all(not trial.open for trial in state.trials[:-1])
    assert all(not duel.open for duel in state.duels[:-1])
    assert state.spent <= state.terms.budget.trials
    if state.duel is not None:
        assert all(state.trials[number - 1].usable for number in state.duel.pair)
    if state.champion is not None:
        assert state.trials[state.champion - 1].usable
    if state.mode is Mode.ABORTED and state.machine.home_wanted is None:
        assert wanted(state) is None
    if state.mode is Mode.HELD:
        assert not isinstance(wanted(state), ComputeNext)
    if state.terms.policy.approval:
        sent = {one.event.trial for one in driver.recorded if one.event.type == "setting_sent"}
        approved = {one.event.trial for one in driver.recorded if one.event.type == "proposal_approved"}
        assert sent <= approved
    by_hand = [parameter.name for parameter in state.terms.parameters if parameter.manual]
    if state.trial is not None and state.trial.stage in (Stage.SENT, Stage.APPLIED, Stage.RUNNING):
        fitted = state.change is None and all(state.manual[name] == state.trial.setting[name] for name in by_hand)
        assert fitted or state.machine.home_wanted is not None, "a part is made only with what somebody confirmed"
    told = model_input(state)
    optimizer = Optimizer.from_state(space_from_json(told["space"]), told["state"])
    earlier = sum(len(one.judgments) for one in state.imports if one.discount < 1.0)
    assert len(optimizer.ledger.active) == len(state.told) + earlier
    assert optimizer.champion == state.champion
    if model_due(state):  # else each would wait for the other to ask
        told = (optimizer.ledger.active, *optimizer.ledger.decided)
        asked = Asked([*optimizer.ledger.trials.values()], *told, hand=optimizer.hand)
        assert asked.question(repeat_after=None) is None


def test_every_answer_that_comes_was_foreseen():
    driver = Driver(terms(trials=20)).begun()
    for new_wins in (True, False, True, True):
        driver.propose(x=len(driver.state.trials) / 10)
        driver.send()
        early = {basis(future) for future in futures(driver.state, driver.now, (ANNA.name,))}
        driver.tell(c.MachineOutcome(trial=driver.state.trial.number, valid=True))
        late = {basis(future) for future in futures(driver.state, driver.now, (ANNA.name,))}
        driver.judge(new_wins)
        assert isinstance(wanted(driver.state), ComputeNext)
        assert basis(driver.state) in early & late
    driver.propose(x=9.0)
    driver.send()
    early = {basis(future) for future in futures(driver.state, driver.now, (ANNA.name,))}
    driver.tell(c.MachineOutcome(trial=driver.state.trial.number, valid=False, reason="r"))
    assert basis(driver.state) in early


def test_a_trial_that_was_dropped_or_rejected_never_becomes_champion():
    driver = Driver().begun()
    driver.propose()
    driver.tell(c.Stop())
    assert driver.state.trials[1].stage is Stage.DROPPED
    assert driver.state.champion == 1
