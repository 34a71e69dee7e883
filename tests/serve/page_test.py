"""The page at "/" of forge-infer, in headless Chromium.

    page_test.py FORGE_INFER VENV [--screenshots FOLDER] [unittest arguments]

Makes a virtual environment VENV with Playwright (once), which drives the Chromium of this machine, and
uses the page as a person would. --screenshots keeps pictures of it, for a person to look at. Exit
status 77, "skipped", where there is no Chromium or the environment cannot be made.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from client_venv import SKIPPED, enter_venv
from forge_server import Server

REQUIREMENTS = pathlib.Path(__file__).with_name("page_requirements.txt")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TALES = ROOT / "tests/golden/models/tales"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOSTILE = '</script><img src=x onerror="window.harmed = 1"><b>bold</b> & <script>window.harmed = 1</script>'
PATIENCE_MS = 60_000


def browser_path():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def enter():
    """Goes on inside the environment, if there is a browser to be driven."""
    if browser_path() is None:
        print("skipped: no Chromium here; Debian has it as the package chromium")
        sys.exit(SKIPPED)
    enter_venv(sys.argv[2], REQUIREMENTS)


class PageTest(unittest.TestCase):
    """Each test has a server (`flags`), and a page that must ask that server alone."""

    flags = ()
    waits_for_model = True
    expected_errors = ()  # of the console, which tells each answer that is no success

    @classmethod
    def setUpClass(cls):
        from playwright.sync_api import sync_playwright

        cls.playwright = sync_playwright().start()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        cls.browser = cls.playwright.chromium.launch(executable_path=browser_path(), args=sandbox)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.server = Server(*self.flags, waits_for_model=self.waits_for_model)
        self.addCleanup(self.stop_server)
        self.open()

    def stop_server(self):
        self.assertEqual(self.server.stop(), 0)

    def open(self, **options):
        """A page of its own, as a person would open it in a new window."""
        self.context = self.browser.new_context(**options)
        self.addCleanup(self.close, self.context)
        self.asked, self.errors = [], []
        self.context.on("request", lambda request: self.asked.append(request))
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.goto(self.server.url + "/")

    def close(self, context):
        for request in self.asked:
            self.assertTrue(request.url.startswith(self.server.url + "/"), request.url)
        for error in self.errors:
            self.assertTrue(any(part in error for part in self.expected_errors), error)
        context.close()

    # What a person does and sees.

    def is_ready(self):
        self.page.locator("#state", has_text="ready").wait_for()

    def ask(self, message):
        """Returns the turn, once its answer is there."""
        self.is_ready()
        before = self.page.locator(".turn").count()
        self.page.get_by_label("Message").fill(message)
        self.page.get_by_label("Message").press("Enter")
        return self.ended(self.page.locator(".turn").nth(before))

    def complete(self, prompt):
        self.is_ready()
        self.page.get_by_role("tab", name="Completion").click()
        self.page.get_by_label("Prompt", exact=True).fill(prompt)
        self.page.get_by_role("button", name="Complete").click()
        return self.ended(self.page.locator("#continuation"))

    def ended(self, place):
        place.locator(".answer:not(.running) summary", has_text="The request").wait_for()
        return place

    def text_of(self, place):
        return place.locator(".said").first.text_content()

    def last_request(self, path):
        asked = [request for request in self.asked if request.url.endswith(path)]
        return asked[-1].post_data_json

    def repeated(self, path):
        """The same request, whole, and not by the page."""
        request = {**self.last_request(path), "stream": False}
        del request["stream_options"]
        return self.server.ask(path, request)["choices"][0]

    def says_nothing_wider_than_the_window(self):
        wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(wide, 0)

    def screenshot(self, name):
        if SCREENSHOTS:
            self.page.screenshot(path=pathlib.Path(SCREENSHOTS) / f"{name}.png", full_page=True)


class Playground(PageTest):
    def test_an_answer_is_the_one_that_the_api_gives(self):
        first = self.ask("What is a slice?")
        self.assertEqual(self.text_of(first), self.repeated("/v1/chat/completions")["message"]["content"])
        self.assertIn("step", self.text_of(first))
        second = self.ask("What is 7+8?")
        self.assertEqual(self.text_of(second), self.repeated("/v1/chat/completions")["message"]["content"])
        self.assertEqual(self.text_of(second), "15")
        sent = self.last_request("/v1/chat/completions")["messages"]
        self.assertEqual([each["role"] for each in sent], ["user", "assistant", "user"])
        self.assertEqual(sent[1]["content"], self.text_of(first))
        self.assertIn("complete", second.inner_text())
        self.assertIn("3 tokens of answer", second.inner_text())
        self.assertEqual(self.page.locator("#announce").text_content(), "15")

    def test_a_system_prompt_and_fields_are_sent_and_empty_ones_are_not(self):
        self.page.get_by_text("System prompt").first.click()
        self.page.get_by_label("System prompt").fill("Be brief.")
        self.page.get_by_label("Temperature").fill("0.5")
        self.page.get_by_label("Seed").fill("7")
        self.page.get_by_label("Most tokens").fill("")
        self.page.get_by_text("Penalties, stop texts").click()
        self.page.get_by_label("Stop texts").fill("story\n\nsum")
        turn = self.ask("Hello")
        sent = self.last_request("/v1/chat/completions")
        self.assertEqual(sent["messages"][0], {"role": "system", "content": "Be brief."})
        self.assertEqual((sent["temperature"], sent["seed"], sent["stop"]), (0.5, 7, ["story", "sum"]))
        self.assertFalse({"max_tokens", "top_p", "top_k", "min_p", "logprobs"} & set(sent))
        self.assertEqual(self.text_of(turn), self.repeated("/v1/chat/completions")["message"]["content"])

    def test_a_conversation_is_cleared(self):
        self.ask("Hello")
        self.page.get_by_role("button", name="Clear").click()
        self.assertEqual(self.page.locator(".turn").count(), 0)
        self.ask("What is 7+8?")
        self.assertEqual(len(self.last_request("/v1/chat/completions")["messages"]), 1)

    def test_a_prompt_is_completed(self):
        place = self.complete("What is a slice?")
        self.assertEqual(self.text_of(place), self.repeated("/v1/completions")["text"])
        self.screenshot("completion")

    def test_an_answer_has_the_shape_that_was_asked_for(self):
        self.page.get_by_text("Structured output").click()
        self.page.get_by_label("The answer is").select_option("regex")
        self.assertRegex(self.text_of(self.complete("Call")), r"^[A-C]{3}-\d{4}$")
        self.page.get_by_label("The answer is").select_option("choice")
        self.assertIn(self.text_of(self.complete("Is it?")), ("yes", "no"))
        self.page.get_by_role("tab", name="Chat").click()
        self.page.get_by_label("The answer is").select_option("json_schema")
        self.screenshot("schema")
        self.assertEqual(set(json.loads(self.text_of(self.ask("A lamp.")))), {"color", "on"})
        self.page.get_by_label("The answer is").select_option("json_object")
        self.ask("An object.")
        self.assertEqual(self.last_request("/v1/chat/completions")["response_format"], {"type": "json_object"})

    def test_the_live_view_has_the_numbers_of_the_server(self):
        self.ask("Hello")
        health = self.server.ask("/forge/v1/health")
        self.page.locator("#numbers", has_text=f"Steps{health['steps']}").wait_for()
        cache = self.server.ask("/forge/v1/cache/stats")
        self.page.get_by_text(f"{cache['evictable_blocks']} cached").wait_for()
        self.page.get_by_text(f"{cache['free_blocks']} free").wait_for()
        self.page.get_by_text("Batch: 0 of 16 places taken, 0 waiting").wait_for()


class Errors(PageTest):
    expected_errors = ("400 (Bad Request)",)

    def test_what_the_server_refuses_is_said_in_its_words(self):
        self.page.get_by_label("Top-p").fill("1.5")
        turn = self.ask("Hello")
        self.assertEqual(turn.get_by_role("alert").text_content(), "top_p is 1.5; accepted is a number, 0 .. 1")
        self.page.get_by_label("Top-p").fill("")
        self.ask("What is 7+8?")
        self.assertEqual(len(self.last_request("/v1/chat/completions")["messages"]), 1)

    def test_a_schema_is_refused_with_its_place(self):
        self.page.get_by_text("Structured output").click()
        self.page.get_by_label("The answer is").select_option("json_schema")
        self.page.locator("[name=json_schema]").fill('{"properties": {"a": {"uniqueItems": true}}}')
        turn = self.ask("Hello")
        self.assertIn("/properties/a/uniqueItems", turn.get_by_role("alert").text_content())

    def test_a_number_that_is_none_is_not_sent(self):
        self.is_ready()
        self.page.get_by_label("Seed").press_sequentially("1e")
        self.page.get_by_label("Message").fill("Hello")
        self.page.get_by_label("Message").press("Enter")
        self.assertEqual(self.page.locator(".turn").count(), 0)
        self.assertEqual(self.page.evaluate("document.activeElement.name"), "seed")


class Tokens(PageTest):
    def told(self, message, **fields):
        for label, value in fields.items():
            self.page.get_by_label(label).fill(value)
        self.page.get_by_label("How likely each token was").check()
        return self.ask(message)

    def test_each_token_says_how_likely_it_was_and_what_else_was(self):
        turn = self.told("What is 7+8?")
        tokens = turn.get_by_role("option")
        self.assertEqual(tokens.all_text_contents(), ["1", "5", "(no text)"])
        choice = self.repeated("/v1/chat/completions")
        for i, margin in enumerate(choice["forge"]["flip_risk"]):
            shown = re.search(r"another token was (\S+) away", tokens.nth(i).get_attribute("aria-label"))[1]
            self.assertAlmostEqual(float(shown), margin, delta=0.005 * margin)
        tokens.nth(1).hover()
        rows = turn.locator(".likely").inner_text().split("\n")
        likely = choice["logprobs"]["content"][1]["top_logprobs"]
        self.assertEqual(len([row for row in rows if row.startswith('"') or row.startswith("(")]), len(likely))
        self.assertIn('"5" \u2190 picked', rows)
        self.assertIn("flip risk: low", turn.locator(".told").inner_text())
        self.screenshot("tokens")

    def test_the_keyboard_goes_from_token_to_token(self):
        turn = self.told("What is 7+8?")
        turn.get_by_role("option").first.focus()
        self.assertIn('"1": ', turn.locator(".told").inner_text())
        self.page.keyboard.press("ArrowRight")
        self.assertIn('"5": ', turn.locator(".told").inner_text())
        self.page.keyboard.press("End")
        self.assertIn("(no text)", turn.locator(".told").inner_text())
        self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("Home")
        self.assertEqual(turn.locator('[aria-selected="true"]').text_content(), "1")
        self.assertEqual(turn.locator('[role="option"][tabindex="0"]').count(), 1)

    def test_tokens_that_were_nearly_others_are_underlined(self):
        turn = self.told("Tell me a story.", Temperature="1.5", Seed="3")
        levels = {name: turn.locator(f".token.{name}").count() for name in ("high", "some", "low")}
        self.assertGreater(levels["high"] + levels["some"], 0, levels)
        line = "element => getComputedStyle(element).textDecorationStyle"
        for name, style in (("high", "wavy"), ("some", "dotted")):
            if levels[name]:
                self.assertEqual(turn.locator(f".token.{name}").first.evaluate(line), style)
        turn.locator(".token.high, .token.some").first.click()
        self.screenshot("flip_risk")

    def test_a_completion_has_them_too(self):
        self.page.get_by_label("How likely each token was").check()
        place = self.complete("What is 7+8?")
        self.assertEqual(place.get_by_role("option").all_text_contents(), [" ", "1", "5", "(no text)"])
        place.get_by_role("option").nth(0).hover()
        self.assertIn('" " \u2190 picked', place.inner_text())


class HostileText(PageTest):
    """Whatever is said, it is shown as it was said, and does nothing."""

    def is_harmless(self, *shown):
        for text in shown:
            self.assertEqual(text, HOSTILE)
        self.assertEqual(self.page.evaluate("window.harmed"), None)
        self.assertEqual(self.page.locator("img, b, iframe, main script").count(), 0)

    def answer_with(self, path, events):
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self.page.route(f"**/{path}", lambda route: route.fulfill(content_type="text/event-stream", body=body))

    def test_of_a_person(self):
        turn = self.ask(HOSTILE)
        self.is_harmless(turn.locator(".mine").text_content())

    def test_of_a_model(self):
        delta = {"content": HOSTILE, "reasoning_content": HOSTILE}
        self.answer_with("v1/chat/completions", [{"choices": [{"delta": delta, "finish_reason": HOSTILE}]}])
        turn = self.ask("Hello")
        self.is_harmless(self.text_of(turn), turn.locator(".reasoning").text_content())
        self.assertIn(HOSTILE, turn.locator(".answer > p").first.text_content())
        self.screenshot("hostile")

    def test_of_tokens(self):
        told = {"token": HOSTILE, "logprob": -0.5, "top_logprobs": [{"token": HOSTILE, "logprob": -0.5}]}
        choice = {"delta": {"content": HOSTILE}, "logprobs": {"content": [told]}, "forge": {"flip_risk": [0.01]}}
        self.answer_with("v1/chat/completions", [{"choices": [choice]}])
        turn = self.ask("Hello")
        token = turn.get_by_role("option")
        token.click()
        self.assertIn(f'"{HOSTILE}" \u2190 picked', turn.locator(".told").text_content())
        self.is_harmless(token.text_content())
        prototypes = {"__proto__": -1, "constructor": -2}
        logprobs = {"tokens": ["__proto__"], "token_logprobs": [-1], "top_logprobs": [{HOSTILE: -3} | prototypes]}
        self.answer_with("v1/completions", [{"choices": [{"text": "__proto__", "logprobs": logprobs}]}])
        place = self.complete("Hello")
        place.get_by_role("option").click()
        rows = place.locator(".likely > span:nth-child(3n + 1)").all_text_contents()
        self.assertEqual(rows, ['"__proto__" \u2190 picked', '"constructor"', f'"{HOSTILE}"'])
        self.is_harmless()

    def test_of_an_error_in_a_stream(self):
        self.answer_with("v1/chat/completions", [{"error": {"message": HOSTILE}}])
        self.is_harmless(self.ask("Hello").get_by_role("alert").text_content())

    def test_of_a_model_s_name(self):
        models = {"data": [{"id": HOSTILE, "max_model_len": 10}]}
        self.page.route("**/v1/models", lambda route: route.fulfill(json=models))
        self.page.reload()
        self.is_ready()
        self.is_harmless(self.page.get_by_label("Model").input_value())

    def test_a_stream_that_breaks_off_is_told_from_one_that_ends(self):
        event = json.dumps({"choices": [{"delta": {"content": "half"}}]})
        self.page.route(
            "**/v1/chat/completions",
            lambda route: route.fulfill(content_type="text/event-stream", body=f"data: {event}\n\n"),
        )
        turn = self.ask("Hello")
        self.assertEqual(self.text_of(turn), "half")
        self.assertIn("ended before the answer did", turn.get_by_role("alert").text_content())

    def test_markup_stays_text_even_if_the_script_forgot_to(self):
        blocked = self.page.evaluate(
            "() => { try { document.body.innerHTML = '<p>'; return ''; } catch (error) { return error.name; } }"
        )
        self.assertEqual(blocked, "TypeError")
        self.errors.clear()  # Chromium has told it


class Stopping(PageTest):
    """The target hangs in its fifth step, so an answer stays half for as long as it takes."""

    flags = ("--fault", "hangs@5")

    def stop_server(self):
        self.server.stop(signal.SIGKILL)

    def begin(self):
        self.is_ready()
        self.page.get_by_label("Message").fill("What is a slice?")
        self.page.get_by_role("button", name="Send").click()
        self.page.locator(".running .said:not(:empty)").wait_for()
        self.page.get_by_text("Batch: 1 of 16 places taken").wait_for()

    def stopped(self):
        turn = self.ended(self.page.locator(".turn"))
        self.assertIn("stopped", turn.inner_text())
        self.assertTrue("The tokens of one sequence".startswith(self.text_of(turn)), self.text_of(turn))
        self.page.get_by_role("button", name="Send").wait_for()

    def test_the_button_stops_a_stream(self):
        self.begin()
        self.assertFalse(self.page.get_by_role("button", name="Send").is_visible())
        self.screenshot("running")
        self.page.locator("#chat").get_by_role("button", name="Stop").click()
        self.stopped()

    def test_escape_stops_a_stream(self):
        self.begin()
        self.page.keyboard.press("Escape")
        self.stopped()

    def test_clear_stops_a_stream_and_forgets_it(self):
        self.begin()
        self.page.get_by_role("button", name="Clear").click()
        self.page.get_by_role("button", name="Send").wait_for()
        self.assertEqual(self.page.locator(".turn").count(), 0)


class Keys(PageTest):
    expected_errors = ("401 (Unauthorized)", "403 (Forbidden)")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.keys, lines = {}, []
        for name in ("client", "operator"):
            made = subprocess.run(
                [sys.argv[1], "--make-key", f"{name}:{name}"], check=True, capture_output=True, text=True
            ).stdout
            self.keys[name] = re.search(r"fk-\w+", made)[0]
            lines.append(re.search(rf"{name}:{name}:\w+", made)[0])
        path = pathlib.Path(self.folder.name) / "keys"
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n")
        self.flags = ("--api-key-file", str(path))
        super().setUp()

    def give(self, key):
        self.page.get_by_label("Key", exact=True).fill(key)
        self.page.get_by_role("button", name="Use this key").click()

    def test_a_key_is_asked_for_until_it_is_one(self):
        self.page.get_by_text("This server asks for a key").wait_for()
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "key")
        self.assertEqual(self.page.get_by_label("Key", exact=True).get_attribute("type"), "password")
        self.assertFalse(self.page.locator("#key-fault").is_visible())
        self.screenshot("key")
        self.give("fk-0")
        self.page.get_by_text("this key is not known here").wait_for()
        self.give(self.keys["client"])
        self.assertEqual(self.text_of(self.ask("What is 7+8?")), "15")
        self.page.get_by_text("Only operators see this").wait_for()
        self.assertFalse(self.page.locator("#live-body").is_visible())
        self.screenshot("client")

    def test_an_operator_sees_what_the_server_does(self):
        self.give(self.keys["operator"])
        self.page.get_by_text("Batch: 0 of 16 places taken").wait_for()
        self.page.get_by_role("button", name="Forget the key").click()
        self.page.get_by_text("This server asks for a key").wait_for()
        self.assertFalse(self.page.locator("#live-body").is_visible())

    def test_the_key_is_kept_nowhere(self):
        self.give(self.keys["client"])
        self.is_ready()
        kept = "[localStorage.length, sessionStorage.length, document.cookie, document.documentElement.outerHTML]"
        *stores, html = self.page.evaluate(kept)
        self.assertEqual(stores, [0, 0, ""])
        self.assertNotIn(self.keys["client"], html)
        self.assertEqual(self.page.get_by_label("Key", exact=True).input_value(), "")
        self.assertNotIn(self.keys["client"], "".join(request.url for request in self.asked))
        self.page.reload()
        self.page.get_by_text("This server asks for a key").wait_for()


class Loading(PageTest):
    """The model is there once somebody reads the trace."""

    waits_for_model = False
    expected_errors = ("503 (Service Unavailable)",)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = pathlib.Path(self.folder.name) / "trace"
        os.mkfifo(self.trace)
        self.flags = ("--model", str(TALES), "--trace", str(self.trace))
        super().setUp()

    def test_a_model_that_is_loaded_is_waited_for(self):
        self.page.locator("#state", has_text="The model is being loaded.").wait_for()
        self.assertTrue(self.page.get_by_role("button", name="Send").is_disabled())
        self.page.get_by_label("Message").fill("Once")
        self.page.get_by_label("Message").press("Enter")
        self.assertEqual(self.page.locator(".turn").count(), 0)
        threading.Thread(target=self.trace.read_bytes, daemon=True).start()
        self.ask("Once")
        self.assertEqual(self.page.locator("#suggestions button").count(), 0)

    def test_a_request_comes_again_to_a_server_that_starts_anew(self):
        threading.Thread(target=self.trace.read_bytes, daemon=True).start()
        self.is_ready()
        refused = {"error": {"message": "the model is being loaded", "code": "loading"}}
        posts = []

        def answer(route):
            posts.append(route.request.post_data)
            if len(posts) > 1:
                return route.continue_()
            return route.fulfill(status=503, headers={"Retry-After": "2"}, json=refused)

        self.page.route("**/v1/chat/completions", answer)
        self.page.get_by_label("Message").fill("Once")
        self.page.get_by_label("Message").press("Enter")
        self.page.get_by_text("The model is being loaded. Trying again in 2 s.").wait_for()
        self.ended(self.page.locator(".turn"))
        self.assertEqual(posts[0], posts[1])


class Layout(PageTest):
    def test_nothing_is_wider_than_a_narrow_window(self):
        for scheme in ("light", "dark"):
            self.open(viewport={"width": 320, "height": 640}, color_scheme=scheme, reduced_motion="reduce")
            self.is_ready()
            self.says_nothing_wider_than_the_window()
            self.screenshot(f"narrow_{scheme}_start")
            for summary in self.page.locator("summary").all():
                if summary.evaluate("summary => !summary.parentElement.open"):
                    summary.click()
            self.page.get_by_label("How likely each token was").check()
            turn = self.ask("word" * 60 + " " + HOSTILE)
            below = turn.locator(".answer").first.evaluate("answer => answer.getBoundingClientRect().bottom - innerHeight")
            self.assertLessEqual(below, 0, "a long answer is followed to its end")
            turn.get_by_role("option").first.click()
            turn.get_by_text("The request").click()
            for shape in ("json_schema", "regex", "choice"):
                self.page.get_by_label("The answer is").select_option(shape)
                self.says_nothing_wider_than_the_window()
            self.screenshot(f"narrow_{scheme}")
            self.complete("What is a slice?").get_by_role("option").first.click()
            self.says_nothing_wider_than_the_window()

    def test_it_is_light_or_dark_as_the_person_has_it(self):
        ground = {}
        for scheme in ("light", "dark"):
            self.open(color_scheme=scheme)
            self.ask("What is a slice?")
            ground[scheme] = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
            self.screenshot(f"wide_{scheme}")
        self.assertEqual(ground, {"light": "rgb(246, 247, 249)", "dark": "rgb(20, 23, 26)"})

    def test_the_example_of_a_websocket_has_its_answers(self):
        example = (ROOT / "examples/websocket/ask.js").read_text()
        self.assertIn("ws://127.0.0.1:8080/", example)
        self.is_ready()
        said = []
        self.page.on("console", lambda message: said.append(json.loads(message.text)))
        here = example.replace("ws://127.0.0.1:8080", self.server.url.replace("http", "ws"))
        self.page.evaluate("() => {" + here + "}")  # alone, its value would be called: it is a function
        while sum("chunk" not in message for message in said) < 4:
            self.page.wait_for_event("console", predicate=lambda message: '"chunk"' not in message.text)
        ends = {message["id"]: message for message in said if "chunk" not in message}
        self.assertEqual(ends["sum"], {"id": "sum", "done": True})
        self.assertEqual(ends["whole"]["answer"]["choices"][0]["text"].strip(), "15")
        self.assertEqual(ends["long"], {"id": "long", "cancelled": True})
        self.assertEqual(ends[None]["status"], 400)

    def test_the_keyboard_is_enough(self):
        self.is_ready()
        self.page.get_by_role("tab", name="Chat").focus()
        self.page.keyboard.press("ArrowRight")
        self.assertTrue(self.page.get_by_label("Prompt", exact=True).is_visible())
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "tab-completion")
        self.page.keyboard.press("Tab")
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "prompt")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        self.assertEqual(self.page.evaluate(outline), "solid")
        self.page.keyboard.press("End")
        self.page.keyboard.press("Shift+Enter")
        self.assertEqual(self.page.get_by_label("Prompt", exact=True).input_value(), "What is a slice?\n")
        self.page.keyboard.press("Backspace")
        self.page.keyboard.press("Enter")
        self.ended(self.page.locator("#continuation"))

    def test_every_field_has_a_name(self):
        names = "[...document.querySelectorAll('input, select, textarea')].map(e => [e.name || e.id, e.labels.length])"
        for name, labels in self.page.evaluate(names):
            self.assertGreater(labels, 0, name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    enter()
    SCREENSHOTS = None
    rest = sys.argv[3:]
    if rest[:1] == ["--screenshots"]:
        SCREENSHOTS, rest = rest[1], rest[2:]
        pathlib.Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=1)
