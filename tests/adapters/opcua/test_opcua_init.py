"""`tuner init` asks the machine itself which node a parameter is."""

from tuner.setup.interview import Ask, interview

GIVEN = {"machine": "m", "campaign": "c", "adapter": "opcua", "parameter.0.name": "heat", "parameter.0.low": 180}
GIVEN |= {"parameter.0.high": 260, "parameter.0.start": 220, "parameter.0.more": False}
GIVEN |= {"settings.trial.start.node": "ns=2;s=Start", "settings.trial.done.node": "ns=2;s=Done"}


def test_a_node_is_picked_from_what_the_machine_offers(press):
    said, typed = [], ["?", press.endpoint, "#1", "? temperature", "#7", "#1"]

    def line(prompt):
        said.append(prompt)
        return typed.pop(0)

    answers = interview(GIVEN, defaults=False, ask=Ask(line, said.append))
    assert answers["settings.parameters.heat.node"] == "nsu=urn:example:press;s=Temperature"
    assert typed == []
    assert "  there is no #1: `?` asks the machine what it offers" in said
    assert "  there is no #7: `?` asks the machine what it offers" in said
    shown = [text for text in said if text.startswith("  #1 ")]
    assert "Press.Temperature" in shown[0]
    assert "#N takes one" not in said[0]  # where it is must be told


def test_a_machine_that_does_not_answer_is_told_and_the_node_can_be_typed(monkeypatch):
    monkeypatch.setattr("tuner.setup.offered.offered.__defaults__", ("", 0.5))
    said, typed = [], ["opc.tcp://127.0.0.1:1", "?", "ns=2;s=Heat"]
    answers = interview(GIVEN, defaults=False, ask=Ask(lambda prompt: typed.pop(0), said.append))
    assert answers["settings.parameters.heat.node"] == "ns=2;s=Heat"
    assert any("127.0.0.1" in text for text in said)
