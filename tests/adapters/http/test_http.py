"""Machines with a REST interface: templates, paths into JSON, headers from a file, TLS, and a first contact."""

import json
import ssl
from pathlib import Path

import pytest

from adapters.http import HttpAdapter
from adapters.http.requests import HttpConnection, HttpSettings
from tests.adapters.certificates import self_signed
from tests.adapters.helpers import PressConformance
from tests.adapters.http.moulding_machine import GOOD, PARAMETERS, Press, made_from, table
from tests.patience import PATIENT_S
from tuner.adapter import LinkError, RefusedError
from tuner.config import load_config
from tuner.config.plugins import load_adapter


@pytest.fixture
def press():
    press = Press()
    yield press
    press.off()


@pytest.fixture
def adapter(press):
    adapter = made_from(press.base)
    adapter.open(PATIENT_S)
    return adapter


class TestConformance(PressConformance):
    adapter = HttpAdapter
    parameters = PARAMETERS

    @pytest.fixture
    def settings(self, press):
        return HttpSettings.model_validate_json(json.dumps({"base": press.base, **table()}))


def test_it_is_found_by_its_entry_point_and_its_sample_configuration_is_right():
    assert load_adapter("http") is HttpAdapter
    config = load_config(Path(__file__).parents[3] / "configs" / "http.toml")
    assert config.campaigns[0].adapter.settings.trial.result.path == "/parts/{tag}"


def test_a_setting_fills_the_template_with_numbers_as_numbers_and_parts_are_made_once(adapter, press):
    adapter.apply(GOOD, PATIENT_S)
    assert press.recipe == {"heat": 230.5, "bar": 400, "medium": "O"}
    assert adapter.read_back(PATIENT_S) == GOOD
    for tag in ("A1", "A2", "A2"):
        outcome = adapter.run_trial(tag, PATIENT_S)
        assert (outcome.valid, outcome.measurements) == (True, {"weight_g": 42.5})
    adapter.apply({**GOOD, "temperature": 260.0}, PATIENT_S)
    assert adapter.run_trial("A3", PATIENT_S).reason == "short shot"
    assert press.order == ["A1", "A2", "A3"]


def test_a_part_that_is_in_work_is_waited_for_by_a_new_adapter(press):
    press.parts["A1"] = 3
    adapter = made_from(press.base)
    adapter.open(PATIENT_S)
    assert adapter.run_trial("A1", PATIENT_S).valid
    assert press.order == []


def test_parameters_can_be_sent_one_by_one(press):
    each = {"method": "POST", "path": "/parts", "body": {"tag": "{name}={value}"}}
    adapter = made_from(press.base, set=each)
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    assert press.order == ["temperature=230.5", "pressure=400", "cooling=O"]


def test_health_tells_readiness_alarm_and_interlocks(adapter, press):
    assert adapter.health(PATIENT_S).interlocks == {"guard": True}
    press.status["alarm"] = "the mould does not close"
    assert adapter.health(PATIENT_S).text == "the mould does not close"
    press.status.update(alarm="", mode="manual")
    assert not adapter.health(PATIENT_S).ok


@pytest.mark.parametrize(
    ("status", "error", "sentence"),
    [
        (401, RefusedError, "wants to know who asks: look at headers_file"),
        (404, RefusedError, "there is nothing at this path: look for a slip in base and path"),
        (409, RefusedError, r"refuses set \(status 409\).*not today"),
        (302, RefusedError, "to another address"),
        (503, LinkError, r"cannot answer to set now \(status 503\)"),
    ],
)
def test_what_the_machine_answers_is_a_sentence(adapter, press, status, error, sentence):
    press.failures["/recipe"] = status
    with pytest.raises(error, match=sentence):
        adapter.apply(GOOD, PATIENT_S)


def test_secret_headers_come_from_a_file_that_only_we_can_read(press, tmp_path):
    secret = tmp_path / "headers"
    secret.write_text("# for the press\nAuthorization: Bearer abc\n")
    secret.chmod(0o644)
    adapter = made_from(press.base, headers_file=str(secret), headers={"X-Line": "7"})
    with pytest.raises(RefusedError, match="can be read by others: chmod 600"):
        adapter.open(PATIENT_S)
    secret.chmod(0o600)
    adapter.open(PATIENT_S)
    assert (press.headers["Authorization"], press.headers["X-Line"]) == ("Bearer abc", "7")


def test_an_answer_without_the_value_says_what_is_there_instead(adapter, press):
    press.recipe = {"temp": 1}
    with pytest.raises(LinkError, match=r'nothing at "recipe\.heat": there is only temp'):
        adapter.read_back(PATIENT_S)


def test_every_path_and_method_is_looked_at_and_nothing_is_changed(adapter, press):
    found = adapter.inspect(PATIENT_S)
    assert [row for row in found if not row.ok] == []
    assert not [request for request in press.requests if request[0] != "GET"]
    wrong = made_from(
        press.base,
        set__method="PATCH",
        parameters__pressure={"path": "recipe.pressure"},
        state__ready={"path": "modus"},
        trial__result={"path": "/status?tag={tag}"},
    )
    wrong.open(PATIENT_S)
    bad = {row.name: row.text for row in wrong.inspect(PATIENT_S) if not row.ok}
    assert list(bad) == ["set", "parameters.pressure", "state.ready", "trial.result"]
    assert "PATCH is not allowed there, only PUT, GET" in bad["set"]


def test_browsing_lists_the_paths_into_the_answers(press):
    found = HttpAdapter.browse(HttpConnection(base=press.base, look="/recipe"), PATIENT_S)
    assert [(row.where, row.kind, row.value) for row in found] == [
        ("recipe.heat", "number", "230.0"),
        ("recipe.bar", "whole number", "400"),
        ("recipe.medium", "text", '"W"'),
    ]


def test_an_encrypted_machine_is_trusted_by_its_certificate_only(tmp_path):
    certificate, key = self_signed(tmp_path, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    press = Press(context)
    try:
        adapter = made_from(press.base, tls={"ca_file": str(certificate)})
        adapter.open(PATIENT_S)
        assert adapter.read_back(PATIENT_S)["pressure"] == 400
        with pytest.raises(LinkError, match=r"its certificate is not trusted .* into ca_file"):
            made_from(press.base).open(PATIENT_S)
        with pytest.raises(LinkError, match="wants encryption: write https"):
            made_from(press.base.replace("https", "http"), timeout_s=2.0).open(PATIENT_S)
    finally:
        press.off()


def test_a_plain_port_spoken_to_by_https_is_told(press):
    with pytest.raises(LinkError, match="does not speak TLS"):
        made_from(press.base.replace("http", "https"), timeout_s=2.0).open(PATIENT_S)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parameters__pressure": None}, "parameters.pressure is missing"),
        (
            {"parameters__pres": {"path": "x"}},
            'parameters.pres is no parameter of the campaign; did you mean "pressure"?',
        ),
        ({"set__body": {"heat": "{temperature}", "m": "{cooling}"}}, 'set has no "{pressure}"'),
        ({"set__path": "/recipe/{tag}"}, 'set: "/recipe/{tag}" has the field {tag}'),
        ({"trial__result": {"path": "/last"}}, "trial.result needs {tag} in its path, or trial.tag"),
        ({"parameters__cooling__codes": {"water": "W"}}, 'parameters.cooling.codes lacks "oil"'),
    ],
)
def test_settings_that_cannot_work_are_complained_about(changes, sentence):
    settings = HttpSettings.model_validate_json(json.dumps({"base": "http://press", **table(**changes)}))
    found = HttpAdapter.complaints(settings, PARAMETERS)
    assert len(found) == 1
    assert found[0].startswith(sentence)
