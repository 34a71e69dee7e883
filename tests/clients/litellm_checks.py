"""litellm, by the two prefixes that people give to a server of their own: `openai/`, and
`hosted_vllm/`, which passes fields of vLLM on."""

import json

import litellm
from examples import ADD_TOOL, PERSON_SCHEMA, check_person, check_sum

litellm.suppress_debug_info = True

HELLO = [{"role": "user", "content": "Hello, how are you?"}]


class Litellm:
    def __init__(self, server, prefix):
        self.model = f"{prefix}/{server.model}"
        self.common = {"api_base": server.url + "/v1", "api_key": "none", "max_retries": 0}

    def chat(self, messages=HELLO, **fields):
        fields = {"max_tokens": 12, "temperature": 0} | fields
        return litellm.completion(model=self.model, messages=messages, **fields, **self.common)

    def a_chat_has_text_usage_and_finish_reason(self):
        answer = self.chat()
        choice = answer.choices[0]
        assert choice.message.role == "assistant"
        assert choice.message.content
        assert choice.finish_reason in ("stop", "length"), choice.finish_reason
        usage = answer.usage
        assert usage.prompt_tokens > 0
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens

    def a_streamed_chat_says_the_same_as_a_whole_one(self):
        whole = self.chat(temperature=0.8, seed=3, max_tokens=24)
        chunks = list(
            self.chat(
                temperature=0.8,
                seed=3,
                max_tokens=24,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == whole.choices[0].message.content, (text, whole)
        assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens

    def several_choices(self):
        answer = self.chat(n=3, temperature=2, seed=5)
        assert len(answer.choices) == 3
        assert len({choice.message.content for choice in answer.choices}) > 1

    def log_probabilities(self):
        answer = self.chat(max_tokens=3, logprobs=True, top_logprobs=2)
        told = answer.choices[0].logprobs.content
        assert len(told) == answer.usage.completion_tokens
        for token in told:
            assert token.logprob <= 0
            assert len(token.top_logprobs) == 2
            assert token.top_logprobs[0].logprob == token.logprob, "greedy is the likeliest"

    def a_stop_text_ends_the_answer_before_it(self):
        whole = self.chat(max_tokens=24).choices[0].message.content
        stop = whole[len(whole) // 2 :][:2]
        answer = self.chat(max_tokens=24, stop=[stop]).choices[0]
        assert answer.message.content == whole[: whole.index(stop)]
        assert answer.finish_reason == "stop"

    def an_answer_is_sent_back_as_it_came(self):
        first = self.chat().choices[0].message
        self.chat([*HELLO, first, {"role": "user", "content": "And then?"}])

    def what_is_refused_is_an_exception_with_the_reason(self):
        try:
            self.chat(temperature=3)
        except litellm.BadRequestError as error:
            assert "temperature" in str(error)
        else:
            raise AssertionError("temperature 3 was accepted")

    def the_fields_of_vllm_pass(self):
        self.chat(top_k=20, min_p=0.02, repetition_penalty=1.1)

    def a_json_schema_is_kept(self):
        answer = self.chat(response_format=PERSON_SCHEMA, max_tokens=400)
        check_person(json.loads(answer.choices[0].message.content))

    def a_json_object_is_one(self):
        answer = self.chat(
            [{"role": "user", "content": "Describe Ann as JSON."}],
            response_format={"type": "json_object"},
            max_tokens=400,
        )
        if answer.choices[0].finish_reason == "stop":
            assert isinstance(json.loads(answer.choices[0].message.content), dict)

    def a_tool_is_called_by_name(self):
        forced = {"type": "function", "function": {"name": "add"}}
        asked = {"tools": [ADD_TOOL], "tool_choice": forced, "max_tokens": 400}
        message = self.chat(**asked).choices[0].message
        [call] = message.tool_calls
        assert call.function.name == "add"
        check_sum(json.loads(call.function.arguments))
        result = {"role": "tool", "tool_call_id": call.id, "content": "5"}
        self.chat([*HELLO, message, result], tools=[ADD_TOOL])

        streamed = ""
        for chunk in self.chat(**asked, stream=True):
            for delta in chunk.choices[0].delta.tool_calls or []:
                streamed += delta.function.arguments or ""
        assert streamed == call.function.arguments

    def checks(self, server):
        yield self.a_chat_has_text_usage_and_finish_reason
        yield self.a_streamed_chat_says_the_same_as_a_whole_one
        yield self.several_choices
        yield self.log_probabilities
        yield self.a_stop_text_ends_the_answer_before_it
        yield self.an_answer_is_sent_back_as_it_came
        yield self.what_is_refused_is_an_exception_with_the_reason
        if self.model.startswith("hosted_vllm"):
            yield self.the_fields_of_vllm_pass
        if server.path:
            return  # stories260K writes blanks for ever, and its context is too short for tools
        if "response_format" in server.honours:
            yield self.a_json_schema_is_kept
            yield self.a_json_object_is_one
        if "tools" in server.honours:
            yield self.a_tool_is_called_by_name


def completes(server, prefix):
    """/v1/completions, whole and streamed."""
    asked = {
        "model": f"{prefix}/{server.model}",
        "prompt": "Once upon a time",
        "max_tokens": 16,
        "temperature": 0.7,
        "seed": 2,
        "api_base": server.url + "/v1",
        "api_key": "none",
    }
    whole = litellm.text_completion(**asked)
    streamed = "".join(
        chunk.choices[0].text or "" for chunk in litellm.text_completion(**asked, stream=True)
    )
    assert whole.choices[0].text == streamed
    assert whole.usage.completion_tokens <= 16
    assert len(litellm.text_completion(**asked, n=2, logprobs=2).choices) == 2


def checks(server):
    for prefix in ("openai", "hosted_vllm"):
        client = Litellm(server, prefix)
        for check in client.checks(server):
            yield f"{prefix}/ {check.__name__.replace('_', ' ')}", check
    for prefix in ("text-completion-openai", "hosted_vllm"):
        yield (
            f"{prefix}/ text completions, whole and streamed",
            lambda prefix=prefix: completes(server, prefix),
        )
