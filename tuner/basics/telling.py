"""Models with sentences among their fields: beside the texts stand the codes, in one field `told`."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tuner.basics.sentences import TOLD, Sentence, codes_of, from_json, to_json, with_code


class _AsText:
    """A sentence whose code stands elsewhere: in JSON it is its text."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(_kept, core_schema.str_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}


class _Whole(_AsText):
    """A sentence with its code in one place, for what only the daemon itself reads."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(to_json, when_used="json")
        return core_schema.no_info_wrap_validator_function(_whole, core_schema.str_schema(), serialization=written)


Said = Annotated[str, _AsText]
Kept = Annotated[str, _Whole]


def _kept(value: Any, check: Any) -> str:
    if isinstance(value, Sentence):
        return value
    text: str = check(value)
    return text


def _whole(value: Any, check: Any) -> str:
    return from_json(value) if isinstance(value, dict) else _kept(value, check)


class Code(BaseModel):
    """A sentence for programs and for readers of other languages."""

    code: str = Field(description="which sentence it is")
    values: dict[str, Any] = Field(
        default_factory=dict, description="texts, numbers, sentences with `text`, `code` and `values`, lists of these"
    )


class Telling(BaseModel):
    """Base of models with sentences: `told` is made of those that have a code, and gives it back to them."""

    told: dict[str, Code] = Field(
        default_factory=dict,
        exclude_if=lambda told: not told,
        repr=False,
        description="the sentences among the fields as codes with values, by the field's name; the first of a list as "
        "`name.0`; a sentence that is not here has its text only",
    )

    @model_validator(mode="after")
    def _with_codes(self) -> Self:
        own = self.__dict__
        for place, code in own[TOLD].items():
            name, _, number = place.partition(".")
            said, value = {"code": code.code, "values": code.values}, own.get(name)
            if isinstance(value, str) and not number:
                own[name] = with_code(value, said)
            elif isinstance(value, list) and number.isdecimal() and int(number) < len(value):
                own[name] = [*value[: int(number)], with_code(value[int(number)], said), *value[int(number) + 1 :]]
        codes = codes_of((name, value) for name, value in own.items() if name != TOLD)
        own[TOLD] = {name: Code(**said) for name, said in codes.items()}
        return self
