"""A schema and a tool that any model keeps to in a few tokens, if the server holds it to them."""

from typing import Literal

from pydantic import BaseModel, Field


class Person(BaseModel):
    """What is known of somebody."""

    name: Literal["Ann", "Bob"]
    age: int = Field(ge=0, le=120)
    tall: bool


PERSON_SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "person",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": ["Ann", "Bob"]},
                "age": {"type": "integer", "minimum": 0, "maximum": 120},
                "tall": {"type": "boolean"},
            },
            "required": ["name", "age", "tall"],
            "additionalProperties": False,
        },
    },
}

ADD_TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "The sum of two numbers",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": 0, "maximum": 99},
                "b": {"type": "integer", "minimum": 0, "maximum": 99},
            },
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}


def check_person(person):
    Person.model_validate(person, strict=True)


def check_sum(arguments):
    assert set(arguments) == {"a", "b"}, arguments
    assert all(isinstance(value, int) and 0 <= value <= 99 for value in arguments.values())
