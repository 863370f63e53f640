"""The base of all that the daemon says."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from tuner.basics.times import text_of

Moment = Annotated[str, BeforeValidator(lambda given: text_of(given) if isinstance(given, datetime) else given)]


class Told(BaseModel):
    """Base of what the daemon says: a newer one may say more in the same version, and that is left aside.

    It is made of whatever has attributes of the same names; where a field has another name on the wire, that is its
    alias.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        allow_inf_nan=False,
        from_attributes=True,
        serialize_by_alias=True,
        validate_by_name=True,
        defer_build=True,
    )
