"""What a client can rely on in an answer, whatever the model said: which fields there are, and what
is in them.

The shape of a JSON value is a set of lines, `choices[].text: string`. That of a stream of events is
the union of its events' shapes, without the last one, `[DONE]`, which is no JSON. That of a page of
metrics is what it says of their types: `vllm:num_requests_running gauge`.
"""

import json

DONE = "[DONE]"
TYPE = "# TYPE "

# The keys of this object are tokens.
TOKEN_MAPS = {"choices[].logprobs.top_logprobs[]"}


def kind_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def shape(value, path=""):
    if isinstance(value, dict):
        if not value:
            return {f"{path}: empty object"}
        lines = set()
        for key, member in value.items():
            name = "TOKEN" if path in TOKEN_MAPS else key
            lines |= shape(member, f"{path}.{name}" if path else name)
        return lines
    if isinstance(value, list):
        if not value:
            return {f"{path}: empty array"}
        return set().union(*(shape(element, f"{path}[]") for element in value))
    return {f"{path}: {kind_of(value)}"}


def events_of(body):
    """The data of each event of a stream; AssertionError where it is framed in another way."""
    text = body.decode()
    assert text.endswith("\n\n"), f"a stream that ends with {text[-20:]!r}"
    events = text.removesuffix("\n\n").split("\n\n")
    for event in events:
        assert event.startswith("data: ") and "\n" not in event, f"an event is {event!r}"
    return [event.removeprefix("data: ") for event in events]


def answer_shape(content_type, body):
    if content_type.startswith("text/event-stream"):
        events = [event for event in events_of(body) if event != DONE]
        return set().union(*(shape(json.loads(event)) for event in events))
    if content_type.startswith("text/plain"):
        lines = body.decode().splitlines()
        return {line.removeprefix(TYPE) for line in lines if line.startswith(TYPE)}
    return shape(json.loads(body)) if body else set()
