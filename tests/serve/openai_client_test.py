"""The official OpenAI client, unchanged, against forge-infer.

    openai_client_test.py FORGE_INFER VENV [unittest arguments]

Makes a virtual environment VENV with the packages of requirements.txt (once), starts
FORGE_INFER on a free port and talks to it. Exit status 77, "skipped", if the environment
cannot be made, for want of a network, say.
"""

import concurrent.futures
import json
import pathlib
import signal
import sys
import tempfile
import unittest

from client_venv import enter_venv
from forge_server import Server

MODEL = "forge-tiny"


def client_of(server):
    import openai

    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", timeout=30, max_retries=0)


class OpenAiClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model", "forge-tiny:seed=1")  # says another thing for every seed
        cls.client = client_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        status = cls.server.stop()
        assert status == 0, f"forge-infer ended with {status}"

    def complete(self, prompt, **options):
        options = {"max_tokens": 16, "temperature": 0} | options
        return self.client.completions.create(model=MODEL, prompt=prompt, **options)

    def text(self, prompt, **options):
        return self.complete(prompt, **options).choices[0].text

    def streamed(self, prompt, **options):
        return list(self.complete(prompt, stream=True, **options))

    def test_models_are_listed(self):
        self.assertEqual([model.id for model in self.client.models.list()], [MODEL])
        self.assertEqual(self.client.models.retrieve(MODEL).id, MODEL)

    def test_a_completion_has_text_usage_and_finish_reason(self):
        answer = self.complete("Hello", max_tokens=8)
        self.assertEqual(answer.object, "text_completion")
        self.assertEqual(answer.model, MODEL)
        self.assertRegex(answer.system_fingerprint, "^fp_[0-9a-f]{16}$")
        self.assertIsNotNone(answer.choices[0].text)
        self.assertIn(answer.choices[0].finish_reason, ("length", "stop"))
        self.assertEqual(answer.usage.prompt_tokens, 5)
        self.assertLessEqual(answer.usage.completion_tokens, 8)
        self.assertEqual(answer.usage.total_tokens, 5 + answer.usage.completion_tokens)

    def test_a_stream_says_the_same_as_a_whole_answer(self):
        for temperature in (0, 1):
            whole = self.complete("Once upon", max_tokens=50, temperature=temperature)
            chunks = self.streamed("Once upon", max_tokens=50, temperature=temperature)
            self.assertEqual(len(chunks), whole.usage.completion_tokens)
            self.assertEqual("".join(c.choices[0].text for c in chunks), whole.choices[0].text)
            self.assertEqual(chunks[-1].choices[0].finish_reason, whole.choices[0].finish_reason)
            self.assertEqual({c.choices[0].finish_reason for c in chunks[:-1]}, {None})

    def test_usage_of_a_stream_comes_when_asked_for(self):
        chunks = self.streamed("Hello", stream_options={"include_usage": True})
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.prompt_tokens, 5)
        self.assertEqual(chunks[-1].usage.completion_tokens, len(chunks) - 1)
        self.assertTrue(all(chunk.usage is None for chunk in chunks[:-1]))

    def test_a_seed_decides_what_is_sampled(self):
        def sampled(seed):
            return self.text("Hello", temperature=1, seed=seed, max_tokens=40)

        self.assertEqual(sampled(7), sampled(7))
        self.assertNotEqual(sampled(7), sampled(8))
        self.assertEqual(self.text("Hello", temperature=1), self.text("Hello", temperature=1))

    def test_a_stop_string_ends_the_text_before_it(self):
        whole = self.text("Hello", temperature=1, max_tokens=40)
        stop = whole[10:13]
        answer = self.complete("Hello", temperature=1, max_tokens=40, stop=[stop, "\0never"])
        self.assertEqual(answer.choices[0].text, whole[: whole.index(stop)])
        self.assertEqual(answer.choices[0].finish_reason, "stop")

    def test_an_answer_is_of_its_json_schema(self):
        schema = {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 6},
                "degrees": {"type": "integer", "minimum": -50, "maximum": 50},
            },
            "required": ["city", "degrees"],
            "additionalProperties": False,
        }
        response_format = {
            "type": "json_schema",
            "json_schema": {"name": "weather", "schema": schema, "strict": True},
        }

        def answer(**options):
            return self.client.chat.completions.create(
                model=MODEL,
                messages=[{"role": "user", "content": "How is the weather?"}],
                response_format=response_format,
                max_tokens=2000,
                **options,
            )

        choice = answer(seed=3).choices[0]
        self.assertEqual(choice.finish_reason, "stop")
        weather = json.loads(choice.message.content)
        self.assertEqual(set(weather), {"city", "degrees"})
        self.assertLessEqual(len(weather["city"]), 6)
        self.assertIn(weather["degrees"], range(-50, 51))
        chunks = list(answer(seed=3, stream=True))
        self.assertEqual(
            "".join(chunk.choices[0].delta.content or "" for chunk in chunks),
            choice.message.content,
        )

    def test_prompts_come_as_text_tokens_or_several(self):
        self.assertEqual(self.text([byte + 1 for byte in b"Hello"]), self.text("Hello"))
        both = self.complete(["Hello", "World"])
        self.assertEqual(
            [choice.text for choice in both.choices], [self.text("Hello"), self.text("World")]
        )

    def test_sampling_and_several_choices(self):
        fields = dict(temperature=1, top_p=0.8, presence_penalty=0.5, frequency_penalty=0.5, max_tokens=12)
        forge = dict(top_k=20, min_p=0.01, repetition_penalty=1.1)
        answer = self.complete("Hello", n=2, seed=3, logit_bias={"66": -100}, extra_body=forge, **fields)
        second = self.complete("Hello", seed=4, logit_bias={"66": -100}, extra_body={"extra": forge}, **fields)
        self.assertEqual(answer.choices[1].text, second.choices[0].text)
        self.assertNotEqual(answer.choices[0].text, answer.choices[1].text)

    def test_logprobs_of_an_echoed_prompt(self):
        answer = self.complete("Hello", max_tokens=0, echo=True, logprobs=2)
        logprobs = answer.choices[0].logprobs
        self.assertEqual(logprobs.tokens, list("Hello"))
        self.assertIsNone(logprobs.token_logprobs[0])
        self.assertTrue(all(value < 0 for value in logprobs.token_logprobs[1:]))
        self.assertEqual(logprobs.text_offset, [0, 1, 2, 3, 4])
        self.assertEqual(answer.usage.completion_tokens, 0)

    def test_chat_says_the_same_whole_and_streamed(self):
        asked = {
            "model": MODEL,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            ],
            "max_completion_tokens": 12,
            "temperature": 1.5,
            "seed": 3,
            "n": 2,
        }
        whole = self.client.chat.completions.create(**asked)
        self.assertEqual([choice.finish_reason for choice in whole.choices], ["length"] * 2)
        self.assertEqual([choice.message.role for choice in whole.choices], ["assistant"] * 2)
        streamed = ["", ""]
        usage = None
        events = self.client.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        )
        for event in events:
            usage = event.usage or usage
            for choice in event.choices:
                streamed[choice.index] += choice.delta.content or ""
        self.assertEqual(streamed, [choice.message.content for choice in whole.choices])
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    WEATHER = {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "maxLength": 12},
                    "unit": {"enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city", "unit"],
                "additionalProperties": False,
            },
        },
    }

    def ask_for_weather(self, **options):
        asked = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "How warm is it in Oslo?"}],
            "tools": [self.WEATHER],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
            "max_tokens": 400,
            "seed": 5,
        }
        return self.client.chat.completions.create(**(asked | options))

    def test_a_call_that_is_forced_has_arguments_of_its_schema(self):
        answer = self.ask_for_weather()
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        message = answer.choices[0].message
        self.assertIsNone(message.content)
        self.assertEqual(len(message.tool_calls), 1)
        call = message.tool_calls[0]
        self.assertEqual((call.type, call.function.name), ("function", "weather"))
        arguments = json.loads(call.function.arguments)
        self.assertEqual(set(arguments), {"city", "unit"})
        self.assertIn(arguments["unit"], ("celsius", "fahrenheit"))
        self.assertLessEqual(len(arguments["city"]), 12)
        tool = {"role": "tool", "tool_call_id": call.id, "content": "21"}
        messages = [{"role": "user", "content": "How warm is it in Oslo?"}, message, tool]
        after = self.ask_for_weather(messages=messages, tool_choice="none", max_tokens=4)
        self.assertIsNone(after.choices[0].message.tool_calls)

    def test_a_forced_call_is_streamed_as_it_is_answered_whole(self):
        whole = self.ask_for_weather(tool_choice="required").choices[0]
        calls = []
        finish = None
        for event in self.ask_for_weather(tool_choice="required", stream=True):
            choice = event.choices[0]
            finish = choice.finish_reason or finish
            for delta in choice.delta.tool_calls or []:
                if delta.id:
                    self.assertEqual((delta.type, delta.index), ("function", len(calls)))
                    calls.append([delta.function.name, ""])
                calls[delta.index][1] += delta.function.arguments
        self.assertEqual(finish, whole.finish_reason)
        self.assertEqual(
            calls, [[call.function.name, call.function.arguments] for call in whole.message.tool_calls]
        )

    def test_tools_that_cannot_be_are_refused(self):
        import openai

        for options in (
            {"tool_choice": {"type": "function", "function": {"name": "sing"}}},
            {"tools": [{"type": "function", "function": {"name": "a b"}}]},
            {"max_tokens": 5},
        ):
            with self.assertRaises(openai.BadRequestError):
                self.ask_for_weather(**options)

    def test_chat_tells_log_probabilities(self):
        answer = self.client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "Hello"}],
            max_tokens=4,
            logprobs=True,
            top_logprobs=3,
        )
        tokens = answer.choices[0].logprobs.content
        self.assertEqual(len(tokens), 4)
        self.assertEqual(
            bytes(byte for token in tokens for byte in token.bytes).decode(errors="replace"),
            answer.choices[0].message.content,
        )
        self.assertEqual([len(token.top_logprobs) for token in tokens], [3] * 4)

    def test_an_answer_of_chat_is_sent_back_as_it_came(self):
        messages = [{"role": "user", "content": "Hello"}]
        first = self.client.chat.completions.create(
            model=MODEL, messages=messages, max_tokens=4, temperature=0
        )
        messages += [first.choices[0].message, {"role": "user", "content": "Go on"}]
        second = self.client.chat.completions.create(
            model=MODEL, messages=messages, max_tokens=4, temperature=0
        )
        self.assertGreater(second.usage.prompt_tokens_details.cached_tokens, 0)

    def test_errors_become_exceptions(self):
        import openai

        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete("Hello", n=65)
        self.assertEqual(caught.exception.param, "n")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete("Hello", max_tokens=1_000_000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        with self.assertRaises(openai.BadRequestError):
            self.streamed("")
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.completions.create(model="gpt-4", prompt="Hello")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.NotFoundError):
            self.client.embeddings.create(model=MODEL, input="x")

    def test_concurrent_requests_say_what_each_says_alone(self):
        requests = [
            {"prompt": f"Request {i}", "max_tokens": 20 + i, "temperature": i % 3 / 2, "seed": i}
            for i in range(24)
        ]
        alone = [self.text(**request) for request in requests]
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
            together = list(pool.map(lambda request: self.text(**request), requests))
        self.assertEqual(together, alone)

    def test_usage_tells_how_much_of_the_prompt_was_cached(self):
        prompt = "A prompt of more than sixteen tokens, which nobody has sent before."
        self.assertEqual(self.complete(prompt).usage.prompt_tokens_details.cached_tokens, 0)
        self.assertEqual(self.complete(prompt).usage.prompt_tokens_details.cached_tokens, 64)
        disabled = self.complete(prompt, extra_body={"prefix_cache": "disable"})
        self.assertEqual(disabled.usage.prompt_tokens_details.cached_tokens, 0)

    def test_forges_own_fields_travel_in_the_extra_body(self):
        import openai

        text = self.text("Hello")
        for field in ({"priority": "high"}, {"prefix_cache": "disable"}, {"timeout_s": 30}):
            self.assertEqual(self.text("Hello", extra_body=field), text)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.complete("Hello", extra_body={"priority": "urgent"})
        self.assertEqual(caught.exception.param, "priority")

    def test_a_request_out_of_steps_keeps_what_it_has(self):
        answer = self.complete("Hello", temperature=1, extra_body={"deadline_steps": 3})
        self.assertEqual(answer.choices[0].finish_reason, "deadline")
        self.assertEqual(answer.usage.completion_tokens, 3)

    def test_the_turns_of_a_session_find_their_past(self):
        import openai

        client = self.client.with_options(base_url=self.server.url + "/forge/v1")
        prompt = "The first turn of a conversation."
        for turn in range(3):
            answer = self.complete(prompt, temperature=1, extra_body={"session": 11})
            cached = answer.usage.prompt_tokens_details.cached_tokens
            if turn > 0:
                self.assertGreater(cached, past - 16, "all full blocks of the turn before")
            past = answer.usage.prompt_tokens
            prompt += answer.choices[0].text + " And the next turn."
        self.assertTrue(client.delete("/sessions/11", cast_to=object)["deleted"])
        with self.assertRaises(openai.NotFoundError):
            client.delete("/sessions/11", cast_to=object)
        statistics = client.get("/cache/stats", cast_to=object)
        self.assertEqual(statistics["sessions"], 0)
        self.assertGreaterEqual(statistics["hits"], 2)
        self.assertTrue(client.post("/cache/clear", cast_to=object)["cleared"])
        self.assertEqual(client.get("/cache/stats", cast_to=object)["evictable_blocks"], 0)

    def test_a_stream_that_is_closed_early_frees_its_place(self):
        for _ in range(3):
            with self.complete("Hello", max_tokens=4000, temperature=1, stream=True) as stream:
                next(iter(stream))
        self.assertIsNotNone(self.text("Hello"))


class TrainedModel(unittest.TestCase):
    """stories260K, which knows neither chat nor tools, and has 512 tokens of context."""

    def test_calls_the_tool_that_is_forced_by_name(self):
        model = pathlib.Path(__file__).resolve().parents[3] / "shared/data/stories260K"
        if not model.exists():
            self.skipTest(f"no folder {model}")
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write("{{ messages[0].content }}{{ tools[0].function.name }}<tool_call>")
            template.flush()
            server = Server("--model", str(model), "--chat-template", template.name)
            tool = OpenAiClient.WEATHER
            with client_of(server) as client:
                answer = client.chat.completions.create(
                    model="stories260K",
                    messages=[{"role": "user", "content": "How warm is it?"}],
                    tools=[tool],
                    tool_choice={"type": "function", "function": {"name": "weather"}},
                    temperature=0,
                )
            self.assertEqual(server.stop(), 0)
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        arguments = json.loads(answer.choices[0].message.tool_calls[0].function.arguments)
        self.assertEqual(set(arguments), {"city", "unit"})


class BuiltInModel(unittest.TestCase):
    """The trained one, whose answers are known."""

    KEY = (
        "Ada is at the mill. Ben is at the inn. Here is the key, which is red. The key is given to Ada. "
        "Ada goes to the barn. Where is the key?"
    )
    AT_THE_BARN = "The key is now with Ada. Ada is at the barn."

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--draft", "ngram")
        cls.client = client_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def ask(self, text, **options):
        messages = [{"role": "user", "content": text}]
        return self.client.chat.completions.create(
            model=MODEL, messages=messages, temperature=0, **options
        )

    def test_answers_and_ends_its_turn(self):
        for text, right in (
            ("What is a slice?", "The tokens of one sequence that run in a step."),
            ("What is 34+52?", "86"),
            (self.KEY, self.AT_THE_BARN),
        ):
            choice = self.ask(text).choices[0]
            self.assertEqual(choice.message.content, right)
            self.assertEqual(choice.finish_reason, "stop")

    def test_streams_the_same_answer(self):
        parts = [chunk.choices[0].delta.content or "" for chunk in self.ask(self.KEY, stream=True)]
        self.assertEqual("".join(parts), self.AT_THE_BARN)

    def test_goes_on_with_a_story(self):
        told = [
            {"role": "user", "content": self.KEY},
            {"role": "assistant", "content": self.AT_THE_BARN},
        ]
        answer = self.client.chat.completions.create(
            model=MODEL,
            messages=[*told, {"role": "user", "content": "Where is Ben?"}],
            temperature=0,
        )
        self.assertEqual(answer.choices[0].message.content, "Ben is at the inn.")

    def test_answers_by_a_schema(self):
        schema = {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema}}
        answer = self.ask("As JSON: name Ada, age 42.", response_format=form)
        self.assertEqual(json.loads(answer.choices[0].message.content), {"name": "Ada", "age": 42})

    def test_calls_a_tool_that_is_named(self):
        light = {
            "name": "light",
            "parameters": {
                "type": "object",
                "properties": {"on": {"type": "boolean"}},
                "required": ["on"],
                "additionalProperties": False,
            },
        }
        answer = self.ask(
            "Light, please.",
            tools=[{"type": "function", "function": light}],
            tool_choice={"type": "function", "function": {"name": "light"}},
        )
        call = answer.choices[0].message.tool_calls[0].function
        self.assertEqual(call.name, "light")
        self.assertIsInstance(json.loads(call.arguments)["on"], bool)

    def test_tells_how_many_drafts_were_kept(self):
        usage = self.ask(self.KEY).usage
        self.assertEqual(usage.drafts["source"], "ngram")
        self.assertEqual(
            usage.drafts["accepted"], usage.completion_tokens_details.accepted_prediction_tokens
        )


class Process(unittest.TestCase):
    def test_a_server_may_limit_the_time_of_every_request(self):
        server = Server("--model", "forge-tiny:layers=64", "--request-timeout-s", "0.001")
        with client_of(server) as client:
            answer = client.completions.create(
                model=MODEL, prompt="Hello", max_tokens=8000, temperature=0
            )
        self.assertEqual(answer.choices[0].finish_reason, "deadline")
        self.assertEqual(server.stop(), 0)

    def test_signals_end_an_idle_server_with_status_zero(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.assertEqual(Server().stop(number), 0)

    def test_a_request_in_flight_is_answered_before_the_end(self):
        server = Server("--model", "forge-tiny:layers=16")
        with client_of(server) as client:
            stream = client.completions.create(
                model=MODEL, prompt="Hello", max_tokens=400, seed=1, stream=True
            )
            chunks = [next(stream)]
            server.process.send_signal(signal.SIGTERM)
            chunks.extend(stream)
        self.assertIsNotNone(chunks[-1].choices[0].finish_reason)
        server.process.communicate(timeout=30)
        self.assertEqual(server.process.returncode, 0)

    def test_speculation_changes_nothing_but_the_speed(self):
        texts = []
        swapping = ("--preemption", "swap", "--num-host-blocks", "16")
        for flags in (
            (),
            ("--speculative", "4"),
            ("--num-blocks", "16", "--max-batch-size", "2"),
            ("--num-blocks", "10", "--prefill-chunk-size", "2", *swapping),
        ):
            server = Server(*flags)
            with client_of(server) as client:
                answer = client.completions.create(
                    model=MODEL, prompt=["one", "two", "three"], max_tokens=60, seed=3
                )
                texts.append([choice.text for choice in answer.choices])
            self.assertEqual(server.stop(), 0)
        self.assertEqual(texts[1:], [texts[0]] * 3)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    enter_venv(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
