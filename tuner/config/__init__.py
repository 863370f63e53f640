"""Configuration: TOML files to frozen models; every error of a file at once, as `file:line: key: what is wrong`."""

from tuner.config.campaign import AdapterChoice, Budget, Campaign, Policy, Questions, Window
from tuner.config.daemon import Daemon, Log
from tuner.config.load import Config, load_config, parse_config
from tuner.config.parameters import Choice, Continuous, Integer, Parameter, Stepped

__all__ = [
    "AdapterChoice",
    "Budget",
    "Campaign",
    "Choice",
    "Config",
    "Continuous",
    "Daemon",
    "Integer",
    "Log",
    "Parameter",
    "Policy",
    "Questions",
    "Stepped",
    "Window",
    "load_config",
    "parse_config",
]
