"""langchain-openai's ChatOpenAI: invoke, stream, batch, logprobs, structured output, tools."""

import asyncio

import openai
from examples import ADD_TOOL, Person, check_person, check_sum
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAI

HELLO = [SystemMessage("Be brief."), HumanMessage("Hello")]


class LangChain:
    def __init__(self, server):
        self.common = {
            "model": server.model,
            "base_url": server.url + "/v1",
            "api_key": "none",
            "max_retries": 0,
        }

    def chat(self, **fields):
        return ChatOpenAI(**{"temperature": 0, "max_tokens": 12} | self.common | fields)

    def invoke_tells_text_and_usage(self):
        message = self.chat().invoke(HELLO)
        assert message.text
        assert message.response_metadata["finish_reason"] in ("stop", "length")
        assert message.usage_metadata["input_tokens"] > 0
        assert message.usage_metadata["output_tokens"] <= 12

    def stream_says_the_same_as_invoke(self):
        chat = self.chat(temperature=0.9, seed=4, max_tokens=24)
        whole = chat.invoke(HELLO)
        chunks = list(chat.stream(HELLO, stream_usage=True))
        message = sum(chunks[1:], chunks[0])
        assert message.text == whole.text, (message, whole)
        assert message.usage_metadata == whole.usage_metadata, (message, whole)
        assert len(chunks) > 2

    def batch_says_what_each_says_alone(self):
        chat = self.chat(temperature=0.9, seed=4)
        questions = ["One", "Two", "Three", "Four"]
        together = chat.batch(questions)
        assert [message.text for message in together] == [chat.invoke(q).text for q in questions]

    def the_asynchronous_calls_say_the_same(self):
        async def said():
            chat = self.chat()
            whole = await chat.ainvoke(HELLO)
            return whole.text, "".join([chunk.text async for chunk in chat.astream(HELLO)])

        whole, streamed = asyncio.run(said())
        assert whole == streamed == self.chat().invoke(HELLO).text

    def several_choices(self):
        [choices] = self.chat(n=2, temperature=1, seed=1).generate([HELLO]).generations
        assert len(choices) == 2

    def log_probabilities(self):
        message = self.chat(logprobs=True, top_logprobs=2).invoke(HELLO)
        told = message.response_metadata["logprobs"]["content"]
        assert len(told) == message.usage_metadata["output_tokens"]
        assert all(len(token["top_logprobs"]) == 2 for token in told)

    def a_stop_text_ends_the_answer_before_it(self):
        whole = self.chat(max_tokens=24).invoke(HELLO).text
        stop = whole[len(whole) // 2 :][:2]
        assert self.chat(max_tokens=24).invoke(HELLO, stop=[stop]).text == whole[: whole.index(stop)]

    def an_answer_is_sent_back_as_it_came(self):
        first = self.chat().invoke(HELLO)
        second = self.chat().invoke([*HELLO, first, HumanMessage("And then?")])
        assert isinstance(second, AIMessage)

    def completions_whole_and_streamed(self):
        llm = OpenAI(**self.common, temperature=0, max_tokens=12)
        assert llm.invoke("Once upon") == "".join(llm.stream("Once upon"))

    def check_structured(self, method):
        chat = self.chat(max_tokens=400).with_structured_output(Person, method=method)
        check_person(chat.invoke("Who is Ann?").model_dump())

    def a_schema_is_kept(self):
        self.check_structured("json_schema")

    def a_schema_is_kept_as_a_tool(self):
        self.check_structured("function_calling")

    def a_json_object_is_one(self):
        chat = self.chat(max_tokens=400).with_structured_output(
            None, method="json_mode", include_raw=True
        )
        try:
            assert isinstance(chat.invoke("Describe Ann as JSON.")["parsed"], dict)
        except openai.LengthFinishReasonError:
            pass  # not every model ends one

    def a_bound_tool_is_called(self):
        chat = self.chat(max_tokens=400)
        forced = chat.bind_tools([ADD_TOOL], tool_choice="add")
        message = forced.invoke("What is 2 + 3?")
        [call] = message.tool_calls
        assert call["name"] == "add"
        check_sum(call["args"])
        chunks = list(forced.stream("What is 2 + 3?"))
        [streamed] = sum(chunks[1:], chunks[0]).tool_calls
        assert streamed["args"] == call["args"]
        told = [HumanMessage("What is 2 + 3?"), message, ToolMessage("5", tool_call_id=call["id"])]
        chat.bind_tools([ADD_TOOL]).invoke(told)

    def checks(self, server):
        yield self.invoke_tells_text_and_usage
        yield self.stream_says_the_same_as_invoke
        yield self.batch_says_what_each_says_alone
        yield self.the_asynchronous_calls_say_the_same
        yield self.several_choices
        yield self.log_probabilities
        yield self.a_stop_text_ends_the_answer_before_it
        yield self.an_answer_is_sent_back_as_it_came
        yield self.completions_whole_and_streamed
        if server.path:
            return  # stories260K writes blanks for ever, and its context is too short for tools
        if "response_format" in server.honours:
            yield self.a_schema_is_kept
            yield self.a_json_object_is_one
        if "tools" in server.honours:
            yield self.a_schema_is_kept_as_a_tool
            yield self.a_bound_tool_is_called


def checks(server):
    for check in LangChain(server).checks(server):
        yield check.__name__.replace("_", " "), check
