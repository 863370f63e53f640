"""What the tests of several adapters share: settings with some changes, and a clock that hurries."""


def changed(settings: dict, changes: dict) -> dict:
    """The settings with some keys changed, `a__b` for a key of a table, None to leave it out."""
    for key, value in changes.items():
        *path, last = key.split("__")
        at = settings
        for step in path:
            at = at[step]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return settings


class Hurry:
    """A clock that only goes on while one waits, a second at a time: deadlines pass without waiting for them."""

    def __init__(self):
        self.now_s = 0.0

    def clock(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += 1.0
