import pytest

from tests.campaign.helpers import Driver


@pytest.fixture
def campaign():
    """A campaign whose first part, at the known-good setting, is made."""
    return Driver().begun()
