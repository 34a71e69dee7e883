"""scripts/book: what it finds, and that it would find every change.

    book_tool_test.py PROGRAMS [unittest arguments]

PROGRAMS is the folder of the built programs.
"""

import contextlib
import io
import json
import pathlib
import re
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book/tool"))

import charts  # noqa: E402
import consoles  # noqa: E402
import kernel_figures  # noqa: E402
import listings  # noqa: E402
import main  # noqa: E402
import owners  # noqa: E402
import state_figures  # noqa: E402
from pages import Page  # noqa: E402
from site_tree import Site, in_order  # noqa: E402
from svg import Drawing  # noqa: E402


class BookTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def page(self, text):
        path = self.folder / "page.md"
        path.write_text(textwrap.dedent(text))
        return path

    def run_tool(self, *words, root=ROOT):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = main.main(["--programs", PROGRAMS, "--root", str(root), *map(str, words)])
        return status, said.getvalue()

    def faults(self, text, **options):
        """What --check says of a page of this text."""
        status, said = self.run_tool("--check", self.page(text), **options)
        self.assertEqual(status, 1, said)
        return said

    def assert_holds(self, text, **options):
        status, said = self.run_tool("--check", self.page(text), **options)
        self.assertEqual(status, 0, said)


class Listings(BookTest):
    SOURCE = """\
        // What is above it.
        int one(int a) { return a; }

        namespace forge {

        /// Of two lines,
        /// both of which belong to it.
        template <class T>
        T Thing::two(const T& b,
                     int c) const {
          return one(c) + b;
        }

        struct Value {
          int number = 0;
        };

        struct alignas(16) Four {
          float x[4];
        };

        int three() { return Value().number; }

        }  // namespace forge
        """

    def setUp(self):
        super().setUp()
        (self.folder / "README.md").write_text("")
        (self.folder / "source.cc").write_text(textwrap.dedent(self.SOURCE))

    def listing(self, name):
        return "\n".join(listings.listing(self.folder, "source.cc", name))

    def test_what_is_named_is_shown_with_its_comment(self):
        self.assertEqual(
            self.listing("one"), "// What is above it.\nint one(int a) { return a; }"
        )
        self.assertTrue(self.listing("Thing::two").startswith("/// Of two lines,\n"))
        self.assertTrue(self.listing("Thing::two").endswith("  return one(c) + b;\n}"))
        self.assertEqual(self.listing("Value"), "struct Value {\n  int number = 0;\n};")
        self.assertEqual(self.listing("Four"), "struct alignas(16) Four {\n  float x[4];\n};")

    def test_what_is_not_there_once_is_refused(self):
        for name in ("four", "two", "number"):
            with self.assertRaisesRegex(listings.NotFound, f"{name} is there 0 times"):
                self.listing(name)
        source = self.folder / "source.cc"
        source.write_text(source.read_text() + "int one(long a) { return 0; }\n")
        with self.assertRaisesRegex(listings.NotFound, "one is there 2 times: 2, 25"):
            self.listing("one")
        self.assertEqual(self.listing("one(long"), "int one(long a) { return 0; }")

    def test_a_byte_that_changes_is_found_and_written(self):
        text = "```cpp source.cc Value\nstruct Value {\n  int number = 1;\n};\n```\n"
        said = self.faults(text, root=self.folder)
        self.assertRegex(said, r"page.md:2: the block is stale(.|\n)*-  int number = 1;\n +\+  int number = 0;")
        status, _ = self.run_tool(self.page(text), root=self.folder)
        self.assertEqual(status, 0)
        self.assertEqual((self.folder / "page.md").read_text(), text.replace("= 1", "= 0"))

    def test_what_is_left_out_may_be_anything(self):
        self.assert_holds("```cpp source.cc Value\nstruct Value {\n  // ...\n};\n```\n", root=self.folder)
        self.faults("```cpp source.cc Value\n// ...\n  int other;\n```\n", root=self.folder)

    def test_every_source_of_the_project_that_a_page_may_show_ends(self):
        shown = listings.listing(ROOT, "src/core/policy.cc", "has_turn_before")
        self.assertTrue(shown[-1] == "}" and len(shown) > 3)


class Consoles(BookTest):
    def test_what_is_printed_is_run(self):
        self.assert_holds("```console\n$ echo one; echo two\none\ntwo\n```\n")
        self.assertIn("-two\n", self.faults("```console\n$ echo one\none\ntwo\n```\n"))
        self.assertIn("+two\n", self.faults("```console\n$ echo one; echo two\none\n```\n"))
        self.assert_holds("```console\n$ seq 9\n1\n...\n8\n9\n```\n")
        self.assertIn("stale", self.faults("```console\n$ seq 9\n1\n...\n8\n```\n"))

    def test_a_section_has_a_folder_of_its_own(self):
        self.assert_holds(
            """\
            ```console
            $ echo there > file
            ```

            ```console
            $ cat file
            there
            ```

            ## Another

            ```console
            $ ls file 2> /dev/null || echo nothing
            nothing
            ```
            """
        )

    def test_a_file_that_is_shown_is_there(self):
        self.assert_holds(
            "```python writes say.py\nprint(1 + 1)\n```\n\n```console\n$ python3 say.py\n2\n```\n"
        )

    def test_a_command_that_fails_in_another_way_than_by_refusing_is_a_fault(self):
        self.assertIn("ends with 127", self.faults("```console\n$ no-such-program\n```\n"))
        self.assertIn("ends with 5", self.faults("```console\n$ exit 5\n```\n"))

    def test_what_needs_something_that_is_not_here_is_told(self):
        text = "```console needs=no-such-data\n$ cat no-such-data\n```\n"
        status, said = self.run_tool("--check", self.page(text))
        self.assertEqual(status, 0)
        self.assertIn("page.md:2: not run, for want of no-such-data", said)

    def test_a_server_is_asked_at_its_port(self):
        self.assert_holds(
            "```console\n$ curl -s http://127.0.0.1:8080/health/live\n{\"status\":\"ok\"}\n```\n"
        )

    def test_scripts_run_ends_in_the_server_that_is_run_for_it(self):
        script = (ROOT / "scripts/run").read_text()
        self.assertIn('\nexec build/release/bin/forge-infer "$@"', script)

    def test_each_pattern_that_is_forgiven_is_on_a_page(self):
        lines = []
        for path in owners.pages_of(ROOT):
            for block in Page(path).blocks:
                if block.language == "console":
                    lines += consoles.unwrapped(block.lines)
        for pattern, _ in consoles.FORGIVEN:
            self.assertTrue(any(re.search(pattern, line) for line in lines), pattern)

    def test_a_digest_or_a_count_of_steps_is_not_forgiven(self):
        row = (
            "continuous         64        0      2470    0.0%       4096     186352       257          0"
            "            61/72         -"
        )
        end = "continuous   digest 1ff31548bc952f69  0.02 s, 2.90 s on the virtual clock"
        for line, old, new, is_forgiven in (
            (row, "186352", " 90001", True),
            (row, "61/72", "8/125", True),
            (row, "257", "258", False),
            (row, "4096", "4097", False),
            (end, "0.02", "1.5", True),
            (end, "2.90", "2.91", False),
            (end, "f69", "f68", False),
        ):
            same = consoles.generalized(line) == consoles.generalized(line.replace(old, new))
            self.assertEqual(same, is_forgiven, (old, new))


class Figures(BookTest):
    TEXT = "<!-- figure: blocks tests/trace/corpus/preemption.jsonl -->\n![Blocks](figures/x.svg)\n"

    def test_a_figure_is_drawn_and_a_byte_of_it_is_missed(self):
        path = self.page(self.TEXT)
        self.assertIn("page.md:2: the figure x.svg is stale", self.faults(self.TEXT))
        self.assertEqual(self.run_tool(path)[0], 0)
        self.assert_holds(self.TEXT)
        figure = self.folder / "figures/x.svg"
        figure.write_text(figure.read_text().replace(">112", ">113").replace(">1<", ">2<", 1))
        self.assertIn("the figure x.svg is stale", self.faults(self.TEXT))

    def strip(self, trace, at):
        path = self.page(f"<!-- figure: strip tests/trace/corpus/{trace} --at {at} -->\n![Plan](figures/strip.svg)\n")
        self.assertEqual(self.run_tool(path)[0], 0)
        return (self.folder / "figures/strip.svg").read_text()

    def test_a_strip_has_every_word_of_the_plan(self):
        for trace, at, words in (
            ("eventful.jsonl", 8, "+3@12 +2@8 [2>9] 3:0+0,1,2,5 5:0+0,1,9 3:12+3* 5:11+1*"),
            ("eventful.jsonl", 9, "3:15+3/2"),
            ("eventful.jsonl", 12, "-5"),
            ("eventful.jsonl", 13, "-4~ 2:4+12 3:21+1"),
            ("preemption.jsonl", 6, "!2"),
        ):
            drawing = self.strip(trace, at)
            for word in words.split():
                self.assertIn(f'font-weight="bold">{word.replace(">", "&gt;")}</text>', drawing)

    def test_slices_of_a_strip_share_the_budget_in_their_order(self):
        drawing = self.strip("eventful.jsonl", 8)
        self.assertIn(">budget: 12 of 12 tokens<", drawing)
        box = r'<rect x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)" height="17"[^>]*/>\n<text[^>]*>(\d+)<'
        boxes = [(float(x), float(width), int(sign)) for x, width, sign in re.findall(box, drawing)]
        slices = [entry for entry in boxes if entry[1] != 20]  # that wide are blocks
        self.assertEqual([(width / 30, sign) for _, width, sign in slices], [(n, n) for n in (3, 2, 6, 1)])
        for (x, width, _), (after, _, _) in zip(slices, slices[1:]):
            self.assertAlmostEqual(x + width, after, delta=0.02)

    def test_a_figure_may_be_of_what_a_command_has_made(self):
        made = "```console\n$ cp tests/trace/corpus/preemption.jsonl t.jsonl\n```\n\n"
        text = made + self.TEXT.replace("tests/trace/corpus/preemption.jsonl", "t.jsonl")
        self.assertEqual(self.run_tool(self.page(text))[0], 0)
        self.assert_holds(text)

    def states_of(self, *runs):
        """Of runs in which a sequence computes so many tokens of its prompt of 9 after each step."""

        def moment(computed):
            who = {"seq": 1, "prompt_tokens": 9, "output_tokens": 0, "computed_tokens": computed}
            return {"running": [who], "waiting": [], "swapped": [], "asked": [], "blocks": [[1]], "cached": []}

        lines = {str(at): "\n".join(json.dumps(moment(computed)) for computed in run) for at, run in enumerate(runs)}
        return state_figures.States(lambda program, command, trace, *options: lines[trace], lines)

    def test_a_state_that_two_runs_pass_through_is_one(self):
        states = self.states_of([3, 6, 9], [2, 6, 9])
        self.assertEqual([states.label(state) for state in range(5)], ["-", "3/9", "6/9", "9/9", "2/9"])
        self.assertEqual(list(states.edges), [(0, 1), (1, 2), (2, 3), (0, 4), (4, 2)])
        self.assertEqual((states.columns(), states.back), ([0, 1, 2, 3, 1], set()))
        self.assertEqual(states.rows(states.columns()), {0: 0, 1: 0, 4: 1, 2: 0, 3: 0})

    def test_a_run_that_comes_back_to_a_state_is_a_cycle(self):
        states = self.states_of([3, 6, 3, 6])
        self.assertEqual((states.columns(), states.back), ([0, 1, 2], {(2, 1)}))
        self.assertEqual(self.states_of([3, 3]).back, {(1, 1)})

    def test_states_of_a_run_are_drawn(self):
        text = "<!-- figure: states tests/trace/corpus/preemption.jsonl -->\n![Its states](figures/x.svg)\n"
        self.assertEqual(self.run_tool(self.page(text))[0], 0)
        self.assert_holds(text)
        self.assertIn(">+2 w+1 w+1<", (self.folder / "figures/x.svg").read_text())

    def test_what_cannot_be_drawn_is_told(self):
        for command, fault in (
            ("pies t.jsonl", "no figure of the kind 'pies'"),
            ("blocks gone.jsonl", "gone.jsonl"),
            ("prefixes tests/trace/corpus/shared.jsonl", "--at"),
            ("states gone.jsonl", "gone.jsonl"),
            ("curves gone.csv", "gone.csv"),
            ("bars README.md", "README.md: "),
        ):
            self.assertIn(fault, self.faults(f"<!-- figure: {command} -->\n![x](x.svg)\n"))
        self.assertIn("no line above says what it is of", self.faults("![x](x.svg)\n"))

    def test_a_curve_has_a_point_for_each_number_and_rises_where_they_rise(self):
        text = "length,with,without\n1,2,2\n10,3,200\n100,4,20000\n"
        drawing = str(charts.curves(text, "t.csv", True, False, "tokens"))
        [rising] = re.findall(r'points="([^"]*)" class="sline2"', drawing)
        xs, ys = zip(*(map(float, point.split(",")) for point in rising.split()))
        self.assertEqual(len(xs), 3)
        self.assertAlmostEqual(xs[1] - xs[0], xs[2] - xs[1], delta=0.02)
        self.assertTrue(ys[0] > ys[1] > ys[2])
        for word in ("length", "with", "without", "tokens", "20,000"):
            self.assertIn(f">{word}<", drawing)

    def test_a_bar_is_as_high_as_its_number(self):
        drawing = str(charts.bars("token,drawn,expected\na,10,5\nb,0,20\n", "t.csv", ""))
        heights = [float(height) for height in re.findall(r'height="([0-9.]+)" class="c[01] ', drawing)][:4]
        self.assertEqual([heights[0] / heights[1], heights[2], heights[3] / heights[0]], [2, 0, 2])

    def test_a_bank_has_as_many_words_to_give_as_lanes_want_different_ones_of_it(self):
        said = "lane     index    bank  value\n   0         0       0  1.5\n   1        32       0  2\n   2        33       1  -3\n   3        33       1  -3\n"
        drawing = str(kernel_figures.banks(lambda *words: said, "kernel"))
        self.assertEqual(drawing.count("<polyline"), 4)
        self.assertIn("4 lanes want words of 2 of 32 banks; the busiest has 2 to give", drawing)

    def test_what_is_no_table_of_numbers_is_told(self):
        for text, fault in (
            ("a,b\n", "has 1 lines"),
            ("a,b\n1\n", "'1' has 1 columns; accepted are 2"),
            ("a,b\n1,x\n", "'x' is no number"),
        ):
            with self.assertRaisesRegex(charts.NoNumbers, fault):
                charts.curves(text, "t.csv", False, False, "")

    def test_a_chart_is_of_what_a_command_has_written(self):
        made = "```console\n$ printf 'x,y\\n1,2\\n3,4\\n' > t.csv\n```\n\n"
        text = made + "<!-- figure: curves t.csv --y 'how many' -->\n![Some](figures/x.svg)\n"
        self.assertEqual(self.run_tool(self.page(text))[0], 0)
        self.assert_holds(text)
        self.assertIn(">how many<", (self.folder / "figures/x.svg").read_text())

    def test_what_a_head_looks_at_is_dark(self):
        text = "<!-- figure: heat 'Ada is at the mill. Where is Ada? Ada is at the' -->\n![A](figures/x.svg)\n"
        self.assertEqual(self.run_tool(self.page(text))[0], 0)
        drawing = (self.folder / "figures/x.svg").read_text()
        self.assertIn("class=\"cheat5 ", drawing)
        self.assertIn("the next token is &#x27; mill&#x27;".replace("&#x27;", "'"), drawing)

    def test_every_figure_of_the_book_is_on_a_page(self):
        shown = set()
        for path in owners.pages_of(ROOT):
            shown |= {(path.parent / figure.target).resolve() for figure in Page(path).figures}
        self.assertEqual(shown, set((ROOT / "book/figures").glob("*.svg")))

    def test_text_is_escaped_and_both_papers_have_a_colour(self):
        drawing = Drawing("a < b")
        drawing.labelled_box(0, 0, 20, 20, "<&", "3")
        text = str(drawing)
        self.assertIn("<title>a &lt; b</title>", text)
        self.assertIn(">&lt;&amp;</text>", text)
        self.assertEqual(text.count(".c3{fill:"), 2)


class SiteOfPages(BookTest):
    LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")

    def make(self):
        site = Site(ROOT, self.folder)
        site.make(in_order(ROOT, owners.pages_of(ROOT)))
        return self.folder / "pages"

    def test_every_link_of_a_page_leads_to_a_page(self):
        pages = self.make()
        for path in owners.pages_of(ROOT):
            page = pages / path.relative_to(ROOT)
            if not page.exists():
                continue
            for name, _ in self.LINK.findall(page.read_text()):
                if not re.match("[a-z]+:", name):
                    self.assertTrue((page.parent / name).is_file(), f"{page}: {name}")

    def test_a_source_is_a_page_and_a_listing_has_its_name_above_it(self):
        pages = self.make()
        header = (pages / "include/forge/core/step_plan.h.md").read_text()
        self.assertTrue(header.startswith("# include/forge/core/step_plan.h\n\n```cpp\n"))
        page = (pages / "book/course/11_preemption.md").read_text()
        self.assertIn("*tests/core/scheduler_test.cc Scheduler.preempts_when", page)
        self.assertIn("\n```plan\n", page)
        self.assertIn("(../figures/preemption-blocks.svg)", page)
        self.assertTrue((pages / "book/figures/preemption-blocks.svg").is_file())

    def test_every_page_of_the_book_is_in_a_menu(self):
        self.make()
        front, contents, course, reference = json.loads((self.folder / "mkdocs.yml").read_text())["nav"]
        self.assertEqual(course["Course"], sorted(course["Course"]))
        listed = {front, contents, *course["Course"], *reference["Reference"]}
        there = {str(path.relative_to(ROOT)) for path in (ROOT / "book").rglob("*.md")} | {"README.md"}
        self.assertEqual(listed, there)


class Others(BookTest):
    def test_rows_are_those_that_a_test_expects(self):
        fence = "```plan tests/core/scheduler_test.cc Scheduler.preempts_when_blocks_run_out\n"
        rows = (
            "0 | +1 +2 | 1:0+0,1 2:0+2,3 | 1:0+2* 2:0+2*  # a note\n"
            "1 |       | 1:2+4 2:2+5     | 1:2+1 2:2+1\n...\n4 | !2 | |\n```\n"
        )
        self.assert_holds(fence + rows)
        self.assertIn("+1 |", self.faults(fence + rows.replace("2+5", "2+6")))
        self.assertIn("0 tests of the name", self.faults(fence.replace("run_out", "") + rows))

    def test_a_change_is_that_of_its_exhibit(self):
        path = "property_tests/changes/shortest_prompt_first.exhibit"
        block = "\n".join([f"```diff {path}", *listings.change(ROOT, path), "```\n"])
        self.assert_holds(block)
        self.assertIn("stale", self.faults(block.replace("prompt_tokens", "output_tokens")))

    def test_flags_of_commands_are_those_that_the_programs_have(self):
        self.assert_holds("```sh\nforge-trace replay t.jsonl --target sim && scripts/test\n```\n")
        self.assertIn("forge-infer has no --modle", self.faults("```sh\nforge-infer --modle x\n```\n"))
        self.assertIn("there is no scripts/tset", self.faults("```sh\nscripts/tset\n```\n"))
        self.assertIn("'forge-nothing' is no", self.faults("```sh\nforge-nothing\n```\n"))

    def test_a_drawing_is_whole(self):
        self.assert_holds("```text\na --> b\n```\n")
        self.assertIn("an arrow ends nowhere", self.faults("```text\na -->\n```\n"))
        self.assertIn("no drawing", self.faults("```text\nsome words\n```\n"))

    def test_a_block_of_no_kind_is_a_fault(self):
        for text in ("```\nx\n```\n", "```cpp\nint x;\n```\n", "Text.\n\n    indented\n", "- item\n\n      code\n"):
            self.assertRegex(self.faults(text), "no kind|nothing of its kind")
        self.assert_holds("- item\n\n  goes on\n  - deeper\n\n    goes on, too\n")

    def test_bad_arguments_are_named(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            self.run_tool("gone.md")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("there is no page 'gone.md'", said.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            main.main(["--programs", str(self.folder)])
        self.assertIn("there are no programs in", said.getvalue())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAMS = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
