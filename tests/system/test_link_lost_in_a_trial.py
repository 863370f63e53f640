"""A machine whose server is restarted in the middle of a part: the campaign goes on, and the part is made once."""

from tests.adapters.modbus.moulding_machine import MODE
from tests.daemon.running import daemon, until
from tests.system.plc_sites import Modbus, ModbusPress
from tests.system.sites import CAMPAIGN, toml
from tests.system.test_protocol_campaigns import opened


class BusyPress(ModbusPress):
    """Not ready for a setting while it makes a part, as many machines; goes away once, in the middle of the first."""

    def __init__(self, made) -> None:
        super().__init__(made)
        self.looks_per_part = 6
        self.go_away = lambda: None
        self.cuts = 0

    def start(self, on):
        super().start(on)
        if on:
            self.memory["holding"][MODE] = 0

    def look(self):
        super().look()
        if len(self.parts) == 1 and self.looks == 3 and not self.cuts:
            self.cuts += 1
            self.go_away()

    def finish(self):
        super().finish()
        self.memory["holding"][MODE] = 1 << 3


class BusyModbus(Modbus):
    def __init__(self, directory) -> None:
        super().__init__(directory)
        self.plant.close()
        self.press = BusyPress(self.made)
        self.plant = type(self.plant)(self.press)
        self.press.go_away = self.cut

    def cut(self):
        """Close all connections, as a restart of the server does; whoever asked gets no answer."""
        for connection in list(self.plant.server.active_connections.values()):
            connection.close()


def test_a_server_that_restarts_in_the_middle_of_a_part_is_found_again_and_the_part_is_made_once():
    with opened(BusyModbus) as site:
        text = CAMPAIGN.format(
            trials=2, name=site.name, settings=toml(site.settings()), parameters=toml(site.parameters)
        )
        with daemon(text) as running:
            running.start()
            with running.client() as client:
                view = until(client, "press", lambda view: view.champion is not None or view.mode != "Execute")
                assert view.mode == "Execute", view.reason
            assert running.stop() == 0
        assert site.press.cuts == 1
        assert len(site.press.parts) == len(set(site.press.parts))
