"""A recorded schedule (a trace, which forge-trace reads, too) as questions need it: the steps in order, with
what each did and how the sequences stood. Format: src/trace/fields.h; values that are usual are left out."""

import json
from dataclasses import dataclass, field

PRIORITIES = ["low", "normal", "high"]


@dataclass
class Sequence:
    seq: int
    priority: str
    prompt: int
    new: int
    output: int = 0  # tokens that it has generated
    high: int = 0  # the most of its tokens that have had KV at once
    blocks: list = field(default_factory=list)


@dataclass
class Slice:
    seq: int
    first: int
    count: int = 1
    drafts: int = 0
    samples: bool = True


@dataclass
class Step:
    number: int
    running: list  # before it: sequences that are in the batch, as (seq, priority, output tokens)
    waiting: list  # and those that wait
    preempted: list
    entered: list  # admitted or resumed, in the order of their slices
    finished: list
    slices: list
    again: int = 0  # tokens that had KV before and are run again
    free: int = 0  # blocks that no table holds while it runs
    first_tokens: list = field(default_factory=list)  # sequences whose first token it yields


class Trace:
    def __init__(self, text):
        lines = [json.loads(line) for line in text.strip().split("\n")]
        self.config = lines[0]["scheduler"]
        self.sequences = {}
        self.steps = []
        self.batch, self.queue = [], []
        for line in lines[1:]:
            if "submit" in line:
                self.submit(**line["submit"])
            elif "cancel" in line:
                self.leave(line["cancel"]["seq"])
            elif "step" in line:
                self.step(line["step"], line["result"])

    def submit(self, seq, request):
        self.sequences[seq] = Sequence(
            seq, request.get("priority", "normal"), len(request["prompt"]), request["max_new_tokens"]
        )
        self.queue.append(seq)

    def leave(self, seq):
        for each in (self.batch, self.queue):
            if seq in each:
                each.remove(seq)

    def views(self, seqs):
        return [(seq, self.sequences[seq].priority, self.sequences[seq].output) for seq in seqs]

    def step(self, plan, result):
        finished = [row[0] for row in plan.get("finished", [])]
        for seq in finished:
            self.leave(seq)
        preempted = [row[0] for row in plan.get("preempted", [])]
        entered = {row[0] for row in plan.get("admitted", []) + plan.get("resumed", [])}
        slices = [Slice(*row) for row in plan.get("slices", [])]
        step = Step(
            plan["step"],
            self.views(self.batch),
            self.views(self.queue),
            preempted,
            [each.seq for each in slices if each.seq in entered],
            finished,
            slices,
        )
        self.steps.append(step)
        for seq in finished + preempted:
            self.sequences[seq].blocks = []
        for seq in preempted:
            self.leave(seq)
            self.queue.append(seq)
        for seq in step.entered:
            self.leave(seq)
            self.batch.append(seq)
        self.change_tables(plan)
        held = {block for sequence in self.sequences.values() for block in sequence.blocks}
        step.free = self.config["num_blocks"] - len(held)
        self.run(step, result)

    def change_tables(self, plan):
        appended = plan.get("appended_blocks", [])
        for seq, kept, first, *count in plan.get("tables", []):
            self.sequences[seq].blocks[kept:] = appended[first : first + (count[0] if count else 1)]

    def run(self, step, result):
        tokens_of = {row[0]: row[2] if len(row) > 2 else 1 for row in result.get("slices", [])}
        for each in step.slices:
            sequence = self.sequences[each.seq]
            tokens = tokens_of.get(each.seq, 0)
            step.again += max(0, min(sequence.high, each.first + each.count) - each.first)
            valid = each.first + each.count - each.drafts + max(0, tokens - 1)
            sequence.high = max(sequence.high, valid)
            if tokens and not sequence.output:
                step.first_tokens.append(each.seq)
            sequence.output += tokens

    @property
    def again(self):
        return sum(step.again for step in self.steps)
