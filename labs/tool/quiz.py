"""scripts/lab quiz N: five questions about a run of your own. A schedule made from a seed is played by your
program and recorded; the answers are computed from the trace, whatever rule your program follows. The trace
is kept beside your file, to be looked at.

An answer is a line of numbers: ids of sequences or a count, or `none`. On a terminal you are asked;
otherwise the lines are read from standard input.
"""

import random
import re
import sys
from dataclasses import dataclass

import builder
import lab as labs
from check import SEED
from program import Program
from traces import Trace
from work import NotStarted, Work

SCHEDULES = 800  # are looked through for one about which all can be asked


@dataclass
class Question:
    text: str
    answer: list  # numbers; the first is the one that is asked for first, the others have no order
    why: str

    def is_right(self, line):
        numbers = [int(number) for number in re.findall(r"\d+", line)]
        if not numbers and line.strip().lower() != "none":
            return False
        return numbers[:1] == self.answer[:1] and sorted(numbers) == sorted(self.answer)


def ids(seqs):
    return " ".join(map(str, seqs)) or "none"


def who_gives_way(trace, draw):
    def tied(step):
        views = {seq: (priority, output) for seq, priority, output in step.running}
        victim = step.preempted[0]
        return [seq for seq in views if seq != victim and views[seq] == views[victim]]

    steps = [step for step in trace.steps if len(step.preempted) == 1 and len(step.running) > 1]
    if not steps:
        return None
    step = draw.choice([step for step in steps if tied(step)] or steps)
    stood = "; ".join(f"{seq} {priority}, {output}" for seq, priority, output in step.running)
    return Question(
        f"Which sequence gives way in step {step.number}, and which others in the batch had the same "
        "priority and as many output tokens then? The one that gives way first.",
        [step.preempted[0], *tied(step)],
        f"priorities and output tokens before the step: {stood}",
    )


def what_runs_again(trace, _draw):
    if not trace.again:
        return None
    where = ", ".join(f"{step.again} in step {step.number}" for step in trace.steps if step.again)
    return Question(
        "How many tokens are run again in all, because their KV was given up? One may count several times.",
        [trace.again],
        f"{where}: their positions had run before",
    )


def what_is_free(trace, draw):
    steps = [step for step in trace.steps if 0 < step.free < trace.config["num_blocks"]]
    if not steps:
        return None
    step = draw.choice(steps)
    held = trace.config["num_blocks"] - step.free
    return Question(
        f"How many blocks does no sequence hold while step {step.number} runs?",
        [step.free],
        f"tables name {held} of {trace.config['num_blocks']} blocks",
    )


def who_comes_next(trace, draw):
    """After a step in which somebody waits."""
    found = []
    for at, step in enumerate(trace.steps):
        waiting = {seq for seq, *_ in step.waiting} | set(step.preempted)
        later = next((each for each in trace.steps[at + 1 :] if each.entered), None)
        if len(waiting - set(step.entered)) > 1 and later and len(later.entered) == 1:
            found.append((step, later))
    if not found:
        return None
    step, later = draw.choice(found)
    return Question(
        f"Which sequence is the next to come into the batch after step {step.number}?",
        later.entered,
        f"{ids(later.entered)} comes in step {later.number}, and nobody in between",
    )


def when_it_begins(trace, draw):
    first = {seq: step.number for step in trace.steps for seq in step.first_tokens}
    late = [seq for seq, number in first.items() if number > 0]
    if not late:
        return None
    seq = draw.choice(late)
    return Question(
        f"In which step does sequence {seq} get its first token?",
        [first[seq]],
        f"in step {first[seq]} the last token of its prompt of {trace.sequences[seq].prompt} has run",
    )


KINDS = [who_gives_way, what_runs_again, what_is_free, who_comes_next, when_it_begins]


def questions_of(trace, draw):
    """One of each kind, or none where there is nothing to ask."""
    asked = [kind(trace, draw) for kind in KINDS]
    return asked if all(asked) else None


def find(lab, program, seed):
    """A schedule, its trace, and the questions; one in which a tie is broken, if there is one."""
    draw = random.Random(f"quiz/{seed}/{lab.number}")
    made_up = lab.module().RANDOM
    found = None
    for at in range(SCHEDULES):
        case = made_up[lab.tasks[at % len(lab.tasks)].name](draw)
        got = program.ask("trace", case)
        if "answer" not in got:
            raise NotStarted(f"your program cannot be asked yet: {got.get('died', 'not begun')}")
        questions = questions_of(Trace(got["answer"]), draw)
        if questions:
            found = found or (case, got["answer"], questions)
            if len(questions[0].answer) > 1:
                return case, got["answer"], questions
    if not found:
        raise NotStarted("nothing happens in your schedules that could be asked about; does a check pass?")
    return found


def ask(questions):
    """How many were answered rightly."""
    right = 0
    for number, question in enumerate(questions, 1):
        print(f"\n{number}. {question.text}", flush=True)
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        line = sys.stdin.readline()
        good = question.is_right(line)
        right += good
        print(f"   {'right' if good else 'wrong'}: {ids(question.answer)}; {question.why}")
    print(f"\n{right} of {len(questions)}")
    return right


def add_to(commands):
    command = commands.add_parser("quiz")
    command.add_argument("lab", metavar="N")
    command.add_argument("--seed", default=SEED, help=f"of the schedule ({SEED})")
    command.add_argument("--answers", action="store_true", help="prints them, for who asks")


def run(options):
    lab = labs.find(options.lab)
    if not lab.recorded:
        recorded = ", ".join(str(int(each.number)) for each in labs.all_labs() if each.recorded)
        raise labs.NoSuchLab(f"lab {int(lab.number)} records nothing; there is a quiz for {recorded}")
    work = Work(lab, options.work)
    builder.own_program(lab)
    program = builder.build(lab, work.must_be_there(), work.folder / "program")
    with Program([program]) as asked:
        case, trace, questions = find(lab, asked, options.seed)
    path = work.folder / "quiz.jsonl"
    path.write_text(trace)
    print(f"Lab {int(lab.number)}, a schedule that your program played:")
    print("\n".join(lab.module().describe(case)))
    print(f"Its trace is {path}: forge-trace step and the page show it.")
    if options.answers:
        for number, question in enumerate(questions, 1):
            print(f"\n{number}. {question.text}\n   {ids(question.answer)}; {question.why}")
        return 0
    return 0 if ask(questions) == len(questions) else 1
