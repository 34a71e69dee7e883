"""The page at "/" of forge-infer as it goes through traces, in headless Chromium.

    page_trace_test.py FORGE_INFER VENV FORGE_TRACE [--screenshots FOLDER] [unittest arguments]

Each step of each trace of the corpus is what `forge-trace step --json` says it is, forwards and backwards,
and so are its reasons and the life of each sequence. As page_test.py otherwise.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from random import Random

import page_test
from page_test import HOSTILE, PageTest

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "trace" / "corpus"
EVENTFUL, RECOMPUTE, KILLED, ROTATED, LATER = (
    CORPUS / f"{name}.jsonl" for name in ("eventful", "recompute", "killed", "rotated", "later")
)
CONFIG = {
    "num_blocks": 600, "block_size": 2, "num_host_blocks": 0, "max_batch_size": 4, "max_batch_tokens": 64,
    "prefill_chunk_size": 64, "watermark_blocks": 0, "priority_head_start": 64, "preemption": "auto",
    "swap_setup_cost": 32, "swap_block_cost": 2, "prefix_cache": "radix", "prefix_hash_key": 0,
    "session_idle_steps": 1000,
}  # fmt: skip


def forge_trace(*words):
    command = [FORGE_TRACE, words[0], "--truncated", *map(str, words[1:])]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def trace_text(events, **header):
    lines = [{"forge_trace": 10, "scheduler": CONFIG, "target": {"model": "hash"}, **header}, *events]
    return "".join(json.dumps(line) + "\n" for line in lines)


def submitted(seq, prompt, **fields):
    return {"submit": {"seq": seq, "request": {"prompt": prompt, "max_new_tokens": 4, **fields}}}


def idle_step(step, **parts):
    return {"step": {"step": step, "decodes": 0}, "result": {"step": step}, "link": f"{step:016x}", **parts}


def first_step(seq, tokens):
    """A sequence runs its prompt, so long, and samples a token."""
    blocks = list(range((tokens + 1) // 2))
    return {
        "step": {"step": 0, "admitted": [[seq]], "tables": [[seq, 0, 0, len(blocks)]], "appended_blocks": blocks,
                 "slices": [[seq, 0, tokens]], "decodes": 0},
        "result": {"step": 0, "slices": [[seq, 0]], "tokens": [7]},
        "link": "00000000000000aa",
    }  # fmt: skip


def mutated(text, random):
    """A few places of a text changed: a number, a character, a line that is gone or there twice."""
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(text))
        line = text.rfind("\n", 0, place) + 1, text.find("\n", place) + 1
        number = next(re.finditer(r"\d+", text[place:]), None)
        text = random.choice((
            text[:place] + random.choice('0[]{},":x-') + text[place + 1 :],
            text[: line[0]] + text[line[1] :] if line[1] else text,
            text[: line[1]] + text[line[0] :],
            text[:place] + re.sub(r"\d+", str(random.choice((0, 1, 7, 2**32, 2**64))), text[place:], count=1),
            text[:place] + text[place + number.end() :] if number else text,
        ))  # fmt: skip
    return text


class TraceTest(PageTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        super().setUp()

    def file(self, text, name="run.jsonl"):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def choose(self, *paths):
        self.is_ready()
        self.page.get_by_role("tab", name="Trace").click()
        self.page.get_by_label("Trace file").set_input_files([])  # else the same file again is no change
        self.page.get_by_label("Trace file").set_input_files(paths[0])
        if paths[1:]:
            self.is_at(0)
            self.page.get_by_label("Compare with").set_input_files(paths[1])

    def drop(self, *paths):
        """Files as a person drops them on the page."""
        self.is_ready()
        files = [[path.name, list(path.read_bytes())] for path in paths]
        self.page.evaluate(
            """(files) => {
              const data = new DataTransfer();
              for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name));
              document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
            }""",
            files,
        )

    def is_at(self, step):
        self.page.locator("#announce", has_text=f"step {step} of").wait_for(state="attached")

    def refused(self, path):
        self.choose(path)
        alert = self.page.locator("#trace-fault")
        alert.wait_for()
        return alert.text_content()

    def step_through(self, turn):
        """The run that gave an answer."""
        turn.get_by_role("button", name="Step through the run").click()

    def told(self, function, *arguments):
        return json.loads(self.page.evaluate(f"(words) => forgeTrace.{function}(...words)", list(arguments)))

    def steps(self):
        return self.page.evaluate("forgeTrace.steps()")

    def is_the_same(self, path):
        lines = forge_trace("step", path, "--json", "--to", 2**40).splitlines()
        first, end = self.steps()
        self.assertEqual(end - first, len(lines))
        both_ways = [*range(first, end), *reversed(range(first, end)), (first + end) // 2, first]
        for step in both_ways:
            self.assertEqual(self.told("step", step), json.loads(lines[step - first]), f"{path.name}, step {step}")
        for step in range(first, end):
            self.assertEqual(self.told("why", step), json.loads(forge_trace("why", path, "--at", step, "--json")))
        for seq in self.page.evaluate("forgeTrace.sequences()"):
            self.assertEqual(self.told("story", seq), json.loads(forge_trace("why", path, "--seq", seq, "--json")))
        out = pathlib.Path(self.folder.name) / "out.json"
        forge_trace("export", path, "--perfetto", out)
        self.assertEqual(json.loads(self.page.evaluate("forgeTrace.perfetto()")), json.loads(out.read_text()))


class OfThisServer(TraceTest):
    flags = ("--expose-text",)

    def test_a_newcomer_steps_through_the_run_that_gave_the_answer(self):
        self.ask("What is a batch?")
        turn = self.ask("What is a slice?")
        self.step_through(turn)
        life = self.page.locator(".life")
        life.locator(".output").wait_for()
        said = life.locator(".output").text_content()
        self.assertEqual(said.removesuffix("<|im_end|>"), self.text_of(turn))
        self.assertIn("What is a slice?", life.locator(".prompt").text_content())
        first, end = self.steps()
        begun = int(self.page.get_by_label("Step", exact=True).input_value())
        self.assertTrue(first < begun < end, "it is not the first answer")
        for step in range(begun + 1, end):
            self.page.keyboard.press("ArrowRight")
            self.is_at(step)
        self.screenshot("the_run_of_an_answer")

    def test_its_steps_are_what_forge_trace_says_of_them(self):
        self.ask("What is a slice?")
        self.page.get_by_role("tab", name="Trace").click()
        self.page.get_by_role("button", name="The last steps of this server").click()
        self.is_at(0)
        self.is_the_same(self.file(self.server.text("/forge/v1/trace")))


class OfThisServerForShort(TraceTest):
    flags = ("--trace-window", "65536")

    def test_an_answer_that_is_gone_is_said_to_be(self):
        turn = self.ask("What is a slice?")
        for _ in range(20):
            more = {"model": "forge-tiny", "prompt": "Once", "max_tokens": 100, "ignore_eos": True}
            self.server.ask("/v1/completions", more)
        self.step_through(turn)
        self.page.locator("#trace-fault", has_text="no longer among the last ones").wait_for()
        first, _ = self.steps()
        self.assertGreater(first, 0)


class OfThisServerNever(TraceTest):
    flags = ("--trace-window", "0")
    expected_errors = ("404",)

    def test_a_server_without_steps_says_so(self):
        self.step_through(self.ask("What is a slice?"))
        self.page.locator("#trace-fault", has_text="this server keeps no steps").wait_for()
        self.screenshot("no_steps_are_kept")


class SameAsForgeTrace(TraceTest):
    def test_every_step_of_the_corpus_both_ways(self):
        paths = sorted(CORPUS.glob("*.jsonl"))
        self.assertGreaterEqual(len(paths), 4)
        for path in paths:
            self.choose(path)
            self.page.get_by_role("heading", name=path.name).wait_for()
            self.is_at(30 if path == LATER else 0)
            self.is_the_same(path)

    def test_files_that_follow_each_other_are_refused_unless_they_do(self):
        lines = ROTATED.read_text().splitlines(keepends=True)
        headers = [number for number, line in enumerate(lines) if line.startswith('{"forge_trace"')]
        first, second, third = ("".join(lines[begin:end]) for begin, end in zip(headers, [*headers[1:], None]))
        said = {
            first + third: "one of the sequence is missing or in another place",
            first + first: "another run begins here",
            first + second.replace('"num_blocks":14', '"num_blocks":15'): "the header of another run",
            second + lines[headers[1] + 1]: "a snapshot stands after a header, and nowhere else",
            second.replace('"running":[', '"running":[77,'): "snapshot: sequence 77 is not there",
            second.replace('"requests":[{"seq":', '"requests":[{"seq":7'): "is another one than this request",
        }
        for text, words in said.items():
            self.assertIn(words, self.refused(self.file(text)))


class Travel(TraceTest):
    def test_the_page_shows_the_step(self):
        self.drop(EVENTFUL)
        self.is_at(0)
        self.page.get_by_label("Step", exact=True).fill("13")
        self.page.get_by_label("Step", exact=True).press("Enter")
        self.is_at(13)
        shown = self.page.locator("#sides").inner_text()
        for text in (
            "step 13 of 0..31 \u00b7 line 21 \u00b7 link f3bac3be31a1e120",
            "4 (swap)",
            "4 is next and waits: a step that preempts admits nobody",
            "9 of 14 in tables, 2 of them shared (+)",
            "6 of 8 on the host",
            "swapped, 6 blocks",
        ):
            self.assertIn(text, shown)
        boxes = self.page.locator(".box")
        self.assertEqual("".join(boxes.all_text_contents()[:8]), "+2+23cc32c")
        self.screenshot("trace")

    def test_a_sequence_has_its_life_and_its_tokens_as_text(self):
        prompt = self.server.ask("/tokenize", {"prompt": "What is a slice?"})["tokens"]
        self.choose(self.file(trace_text([submitted(3, prompt, priority="high"), first_step(3, len(prompt))])))
        self.is_at(0)
        self.page.locator(".lanes .seq").click()
        life = self.page.locator(".life")
        self.assertEqual(life.locator(".prompt").text_content(), "What is a slice?")
        spelt = self.server.ask("/detokenize", {"tokens": [7]})["prompt"]
        self.assertEqual(life.locator(".output").text_content(), spelt)
        self.assertIn(f"submitted before it: {len(prompt)}+4 tokens, high", life.inner_text())
        self.assertIn("3 is admitted: no other user waits", life.inner_text())
        life.get_by_text("Token ids").click()
        self.assertIn("7 (step 0)", life.inner_text())
        self.screenshot("life")

    def test_veiled_tokens_are_not_spelt(self):
        self.choose(self.file(trace_text([submitted(3, [5, 6]), first_step(3, 2)], tokens="veiled")))
        self.is_at(0)
        self.page.locator(".lanes .seq").click()
        self.page.get_by_text("Its tokens are veiled in this trace").wait_for()
        self.assertFalse([request for request in self.asked if request.url.endswith("detokenize")])

    def test_blocks_tell_what_they_hold_and_come_in_parts(self):
        self.choose(self.file(trace_text([submitted(2**64 - 1, [5] * 530), first_step(2**64 - 1, 530)])))
        self.is_at(0)
        box = self.page.locator(".box").nth(9)
        box.hover()
        self.page.get_by_text("Block 9: held by 18446744073709551615").wait_for()
        self.assertEqual(self.page.locator(".box").count(), 256)
        self.page.get_by_role("button", name="Blocks after").click()
        self.page.get_by_text("shown: 256..511").wait_for()
        self.page.get_by_role("button", name="Blocks after").click()
        self.page.get_by_text("shown: 512..599").wait_for()
        self.assertTrue(self.page.get_by_role("button", name="Blocks after").is_disabled())
        self.page.locator(".box").first.focus()
        self.page.keyboard.press("End")
        self.page.get_by_text("Block 599: in no table").wait_for()

    def test_two_traces_stand_side_by_side_where_they_part(self):
        self.drop(EVENTFUL, RECOMPUTE)
        self.is_at(13)
        note = self.page.locator("#parting").text_content()
        self.assertIn("The two part at step 13. Here differ: link, ", note)
        self.assertIn("plan.preempted", note)
        left, right = self.page.locator(".view").all()
        self.assertIn("4 gives way (swap)", left.inner_text())
        self.assertIn("4 gives way (recompute)", right.inner_text())
        self.assertLess(left.bounding_box()["x"], right.bounding_box()["x"])
        self.screenshot("two")
        self.page.keyboard.press("ArrowLeft")
        self.is_at(12)
        self.assertIn("Here they are the same.", self.page.locator("#parting").text_content())

    def test_a_second_trace_is_compared_with_the_first(self):
        self.choose(EVENTFUL, KILLED)
        self.is_at(13)
        self.page.get_by_text("it ends here").wait_for()
        self.page.get_by_text("the last 105 bytes are no whole line and are left out").wait_for()
        self.choose(EVENTFUL, EVENTFUL)
        self.page.locator("#parting", has_text="All links are equal.").wait_for()

    def test_a_file_for_perfetto_is_saved(self):
        self.choose(EVENTFUL)
        self.is_at(0)
        with self.page.expect_download() as saved:
            self.page.get_by_role("button", name="Save for Perfetto").click()
        self.assertEqual(saved.value.suggested_filename, "eventful.perfetto.json")
        self.assertEqual(len(json.loads(pathlib.Path(saved.value.path()).read_text())["traceEvents"]), 232)

    def test_a_decision_is_guessed_before_it_is_shown(self):
        self.choose(EVENTFUL)
        self.is_at(0)
        self.page.get_by_label("Predict").check()
        self.page.get_by_label("Step", exact=True).fill("12")
        self.page.get_by_label("Step", exact=True).press("Enter")
        self.is_at(12)
        asked = self.page.locator("section.part", has=self.page.get_by_text("What does the next step decide?"))
        asked.get_by_role("button", name="Nobody gives way").wait_for()
        self.assertNotIn("4 gives way (", self.page.locator("#sides").inner_text())
        self.assertFalse(self.page.get_by_text("One request").is_visible())
        for row in self.page.locator(".lanes tr").all()[1:]:
            self.assertEqual("".join(row.locator("td").all_text_contents()[13:]), "")
        asked.get_by_label("Guess: 2 gives way").click()
        asked.get_by_text("No. Guess again").wait_for()
        self.assertEqual(self.page.locator("#score").text_content(), "0 of 1 right at the first guess")
        asked.get_by_label("Guess: 4 gives way").click()
        asked.get_by_text("Right.", exact=True).wait_for()
        self.assertIn("4 gives way (swap): blocks are short", asked.inner_text())
        self.assertEqual(self.page.locator("#score").text_content(), "0 of 1 right at the first guess")
        self.screenshot("predict")
        self.page.keyboard.press("Enter")
        self.is_at(13)
        self.page.get_by_label("Predict").uncheck()
        self.page.get_by_text("One request").wait_for()
        self.assertFalse(asked.is_visible())

    def test_each_step_that_decides_is_found_and_its_answer_is_among_the_guesses(self):
        from playwright.sync_api import expect  # which need not be there, where these tests are skipped

        self.choose(EVENTFUL)
        self.is_at(0)
        self.page.get_by_label("Predict").check()
        decisions, at = [], 0
        while at < 31:
            self.page.get_by_role("button", name="Next decision").click()
            expect(self.page.locator("#step-number")).not_to_have_value(str(at), timeout=page_test.PATIENCE_MS)
            at = int(self.page.locator("#step-number").input_value())
            if at == 31:
                break
            decisions.append(at + 1)
            why = json.loads(self.page.evaluate(f"forgeTrace.why({at + 1})"))
            for seq, what in [(each["seq"], "gives way") for each in why["victims"]] + [
                (each["seq"], "comes in") for each in why["turns"]
            ]:
                self.page.get_by_label(f"Guess: {seq} {what}").wait_for()
        reasons = [json.loads(forge_trace("why", EVENTFUL, "--at", step, "--json")) for step in range(32)]
        expected = [each["step"] for each in reasons if each["victims"] or each["turns"]]
        self.assertEqual(decisions, [step for step in expected if step > 1])

    def test_the_keyboard_is_enough(self):
        self.choose(EVENTFUL)
        self.is_at(0)
        self.page.get_by_role("tab", name="Trace").focus()
        for part in ("take-steps", "trace-file", "other-file"):
            self.page.keyboard.press("Tab")
            self.assertEqual(self.page.evaluate("document.activeElement.id"), part)
        self.page.keyboard.press("Tab")
        self.assertEqual(self.page.evaluate("document.activeElement.dataset.move"), "first")
        for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 31), ("Home", 0)):
            self.page.keyboard.press(key)
            self.is_at(step)
        self.page.keyboard.press("g")
        self.page.keyboard.type("21")
        self.page.keyboard.press("Enter")
        self.is_at(21)
        self.page.get_by_label("Step, as a slider").focus()
        self.page.keyboard.press("ArrowLeft")
        self.is_at(20)
        self.page.keyboard.press("g")
        self.page.keyboard.type("999")
        self.page.keyboard.press("Enter")
        self.is_at(31)

    def test_keys_typed_elsewhere_are_no_steps(self):
        self.choose(EVENTFUL)
        self.is_at(0)
        self.page.get_by_role("tab", name="Chat").click()
        self.page.get_by_label("Message").fill("g")
        self.page.keyboard.press("ArrowLeft")
        self.assertEqual(self.page.locator("#announce").text_content(), "step 0 of 0..31")
        self.assertEqual(self.page.get_by_label("Message").input_value(), "g")


class Refusals(TraceTest):
    def test_what_is_no_trace_is_refused_in_a_sentence(self):
        good = EVENTFUL.read_text().splitlines(keepends=True)
        broken = "".join(good[:3]) + good[3].replace("]", "", 1) + "".join(good[4:])
        cases = {
            "": "run.jsonl: not a Forge trace: the file is empty",
            "{": "run.jsonl: not a Forge trace: the file ends within its first line",
            "\x7fELF\n": "run.jsonl: line 1, byte 0: not a Forge trace: it is not JSON",
            '{"a":1}\n': 'run.jsonl: line 1, byte 0: not a Forge trace: the first line has no "forge_trace"',
            good[0].replace(":9", ":10", 1): "run.jsonl: line 1, byte 0: forge_trace: version 10; this page reads 2 to 9",
            good[0]: "run.jsonl: the trace has no steps",
            broken: f"run.jsonl: line 4, byte {len(''.join(good[:3]))}: is not JSON",
            "".join([*good[:2], *good[3:]]): f"run.jsonl: line 3, byte {len(''.join(good[:2]))}: "
            "step 1 stands where step 0 was to come",
            trace_text([{"step": {"step": 0, "decodes": -1}}]): "step.decodes: -1 is not an integer in 0..4294967295",
            trace_text([{HOSTILE: 1}]): "is not an event",
            trace_text([submitted(1, ["5"])]): 'submit.request.prompt[0]: "5" is not an integer in 0..4294967295',
            trace_text([submitted(1, [5]), submitted(1, [5])]): "line 3, byte ",
            trace_text([idle_step(0, cache={"removed": [3]})]): "block 3 of the prefix cache is removed and is not there",
        }
        for text, words in cases.items():
            self.assertIn(words, self.refused(self.file(text)))
            self.assertEqual(self.page.locator(".view").count(), 0)
        self.refused(self.file(b"\xff\xfe\n"))
        self.screenshot("refused")
        self.choose(EVENTFUL)
        self.is_at(0)
        self.assertFalse(self.page.locator("#trace-fault").is_visible())

    def test_a_file_above_200_mb_is_refused_at_once(self):
        path = self.file(EVENTFUL.read_text())
        with open(path, "r+b") as file:
            file.truncate(200_000_001)
        self.assertIn("it has 201 MB, and this page opens traces of at most 200 MB", self.refused(path))

    def test_whatever_the_bytes_they_are_shown_or_refused_in_a_sentence(self):
        self.is_ready()
        random = Random(7)
        text = (CORPUS / "shared.jsonl").read_text()
        refused = 0
        for _ in range(150):
            said = self.page.evaluate("(text) => forgeTrace.open(new File([text], 'x'))", mutated(text, random))
            refused += said != ""
            self.assertRegex(said, r"^$|^x: (line \d+, byte \d+: .+|not a Forge trace: .+|the trace has no steps)$")
        self.assertGreater(refused, 75)

    def test_one_that_is_refused_leaves_the_other_there(self):
        self.choose(EVENTFUL, self.file("nothing"))
        self.page.locator("#trace-fault", has_text="not a Forge trace").wait_for()
        self.page.get_by_role("button", name="Next step").click()
        self.is_at(1)


class HostileTraces(TraceTest):
    def is_harmless(self):
        self.assertEqual(self.page.evaluate("window.harmed"), None)
        self.assertEqual(self.page.locator("img, b, iframe, main script").count(), 0)

    def test_texts_of_a_trace_and_its_tokens_are_shown_as_text(self):
        self.page.route("**/detokenize", lambda route: route.fulfill(json={"prompt": HOSTILE}))
        grammar = {"forms": [{"kind": "regex", "text": HOSTILE}]}
        sampling = {"temperature": 0, "seed": 2**64 - 1, "grammar": grammar}
        events = [submitted(3, [5, 6], sampling=sampling), first_step(3, 2)]
        self.choose(self.file(trace_text(events, target={HOSTILE: HOSTILE}), name="<b>bold<b>.jsonl"))
        self.is_at(0)
        self.assertEqual(self.told("step", 0)["asked"][0]["submit"]["request"]["sampling"], sampling)
        self.page.get_by_role("heading", name="<b>bold<b>.jsonl").wait_for()
        self.page.locator(".lanes .seq").click()
        for name in ("prompt", "output"):
            self.assertEqual(self.page.locator(f".life .{name}").text_content(), HOSTILE)
        self.is_harmless()
        self.screenshot("hostile_trace")

    def test_so_is_what_is_wrong_with_one(self):
        for events in ([{HOSTILE: HOSTILE}], [{"cancel": {"seq": HOSTILE}}], [{"submit": {HOSTILE: 1}}]):
            self.assertIn("<img", self.refused(self.file(trace_text(events))).replace("\\", ""))
            self.is_harmless()

    def test_names_that_objects_have_anyway_are_no_fields(self):
        text = trace_text([]) + '{"__proto__":{"seq":1}}\n'
        self.assertIn("is not an event", self.refused(self.file(text)))
        text = trace_text([]) + '{"cancel":{"seq":1,"reason":"stop","__proto__":{"polluted":1}}}\n'
        self.assertIn("unknown field", self.refused(self.file(text)))
        self.assertIn("is not an event", self.refused(self.file(trace_text([{"constructor": {}}]))))
        self.assertEqual(self.page.evaluate("({}).polluted"), None)


class TokensThatCannotBeSpelt(TraceTest):
    expected_errors = ("400 (Bad Request)",)

    def test_tokens_that_no_vocabulary_has_are_numbers(self):
        self.choose(self.file(trace_text([submitted(3, [4_000_000_000, 6]), first_step(3, 2)])))
        self.is_at(0)
        self.page.locator(".lanes .seq").click()
        self.page.get_by_text("This server cannot spell its tokens").wait_for()
        self.assertIn("4000000000 6", self.page.locator(".life pre").text_content())


class TravelLayout(TraceTest):
    def test_nothing_is_wider_than_a_narrow_window(self):
        for scheme in ("light", "dark"):
            self.open(viewport={"width": 320, "height": 640}, color_scheme=scheme, reduced_motion="reduce")
            self.choose(CORPUS / "shared.jsonl")
            self.is_at(0)
            self.says_nothing_wider_than_the_window()
            self.page.get_by_label("Compare with").set_input_files(RECOMPUTE)
            self.page.locator("#parting").wait_for()
            for number in ("8", "13", "31", "52"):
                self.page.get_by_label("Step", exact=True).fill(number)
                self.page.get_by_label("Step", exact=True).press("Enter")
                self.is_at(int(number))
                self.says_nothing_wider_than_the_window()
            self.page.locator(".lanes .seq").first.click()
            self.page.locator(".life .output, .life details").first.wait_for()
            self.says_nothing_wider_than_the_window()
            self.screenshot(f"narrow_{scheme}_trace")

    def test_it_is_light_or_dark(self):
        for scheme in ("light", "dark"):
            self.open(color_scheme=scheme)
            self.choose(CORPUS / "shared.jsonl")
            self.is_at(0)
            self.page.get_by_label("Step", exact=True).fill("29")
            self.page.get_by_label("Step", exact=True).press("Enter")
            self.is_at(29)
            self.screenshot(f"trace_{scheme}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    page_test.enter()
    FORGE_TRACE, rest = sys.argv[3], sys.argv[4:]
    page_test.SCREENSHOTS = None
    if rest[:1] == ["--screenshots"]:
        page_test.SCREENSHOTS, rest = rest[1], rest[2:]
        pathlib.Path(page_test.SCREENSHOTS).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=1)
