"""Who follows the prefix cache of forge-infer, with the libraries that followers have.

    kv_events_test.py FORGE_INFER VENV [unittest arguments]

Makes a virtual environment VENV with pyzmq and msgspec (once), and follows servers of the built-in model
in both forms of events. The structs are those of vLLM (its module distributed/kv_events): what is read by
them is written again and compared, byte for byte. Exit status 77, "skipped", if the environment cannot
be made.
"""

import pathlib
import re
import sys
import unittest

from client_venv import enter_venv
from forge_server import Server

REQUIREMENTS = pathlib.Path(__file__).with_name("kv_events_requirements.txt")
MODEL = "forge-tiny"
TOPIC = "kv@127.0.0.1:8080@forge-tiny"
BLOCK_SIZE = 16
PATIENCE_MS = 30_000
END = b"\xff" * 8


def batch_type(array_like):
    """The struct of a batch whose events are arrays, or maps."""
    import msgspec

    options = {"array_like": array_like, "omit_defaults": not array_like, "frozen": True}

    class BlockStored(msgspec.Struct, tag="BlockStored", **options):
        block_hashes: list[int]
        parent_block_hash: int | None
        token_ids: list[int]
        block_size: int
        lora_id: int | None
        medium: str | None
        lora_name: str | None
        extra_keys: list | None = None
        group_idx: int | None = None
        kv_cache_spec_kind: str | None = None
        kv_cache_spec_sliding_window: int | None = None

    class BlockRemoved(msgspec.Struct, tag="BlockRemoved", **options):
        block_hashes: list[int]
        medium: str | None
        group_idx: int | None = None

    class AllBlocksCleared(msgspec.Struct, tag="AllBlocksCleared", **options):
        pass

    class Batch(msgspec.Struct, array_like=True, frozen=True):
        ts: float
        events: list[BlockStored | BlockRemoved | AllBlocksCleared]
        data_parallel_rank: int | None = None

    return Batch


class FollowedServer(Server):
    def __init__(self, *flags):
        super().__init__(
            *["--kv-events", "tcp://127.0.0.1:*", "--kv-events-replay", "tcp://127.0.0.1:*"],
            *["--kv-events-topic", TOPIC, *flags],
        )
        self.events, self.replays = re.findall(r"tcp://[\d.]+:\d+", self.said)

    def complete(self, prompt):
        """Runs `prompt`, a list of token ids."""
        body = {"model": MODEL, "prompt": prompt, "max_tokens": 1, "temperature": 0}
        self.ask("/v1/completions", body)


class Follower:
    """What somebody knows who gets the events: hash -> (hash of the parent, tokens)."""

    def __init__(self, server, array_like):
        import msgspec
        import zmq

        self.zmq = zmq
        self.context = zmq.Context()
        self.server = server
        self.decoder = msgspec.msgpack.Decoder(batch_type(array_like))
        self.encode = msgspec.msgpack.encode
        self.blocks = {}
        self.next = 0
        self.clears = 0
        self.removed = 0
        self.gaps = 0
        self.replays = self.socket(zmq.DEALER, server.replays)
        self.subscribe()

    def socket(self, kind, endpoint):
        socket = self.context.socket(kind)
        socket.linger = 0
        socket.rcvtimeo = PATIENCE_MS
        socket.connect(endpoint)
        return socket

    def subscribe(self):
        self.live = self.socket(self.zmq.SUB, self.server.events)
        self.live.subscribe("kv@")

    def leave(self):
        self.live.close()

    def close(self):
        self.live.close()
        self.replays.close()
        self.context.term()

    def take(self):
        """The next live batch; if some were missed, they are asked for first."""
        topic, sequence, payload = self.live.recv_multipart()
        assert topic.decode() == TOPIC, topic
        number = int.from_bytes(sequence, "big")
        if number > self.next:
            self.gaps += 1
            self.replay()
        if number >= self.next:
            self.apply(number, payload)

    def replay(self):
        self.replays.send_multipart([b"", self.next.to_bytes(8, "big")])
        while True:
            empty, sequence, payload = self.replays.recv_multipart()
            assert empty == b"", empty
            if sequence == END:
                assert payload == b"", payload
                return
            self.apply(int.from_bytes(sequence, "big"), payload)

    def apply(self, number, payload):
        assert number == self.next, f"batch {number} after {self.next - 1}"
        self.next = number + 1
        batch = self.decoder.decode(payload)
        assert self.encode(batch) == payload, "msgspec writes other bytes"
        assert batch.data_parallel_rank == 0 and batch.ts > 1.5e9, batch
        for event in batch.events:
            self.apply_event(type(event).__name__, event)

    def apply_event(self, kind, event):
        if kind == "AllBlocksCleared":
            self.blocks.clear()
            self.clears += 1
        elif kind == "BlockRemoved":
            for block_hash in event.block_hashes:
                del self.blocks[block_hash]
            self.removed += len(event.block_hashes)
        else:
            assert event.block_size == BLOCK_SIZE and event.medium == "GPU", event
            assert len(event.token_ids) == BLOCK_SIZE * len(event.block_hashes), event
            parent = event.parent_block_hash
            assert parent is None or parent in self.blocks, "a child before its parent"
            for i, block_hash in enumerate(event.block_hashes):
                assert block_hash not in self.blocks, "stored twice"
                tokens = tuple(event.token_ids[i * BLOCK_SIZE : (i + 1) * BLOCK_SIZE])
                self.blocks[block_hash] = (parent, tokens)
                parent = block_hash

    def knows(self, prompt):
        """Whether all full blocks of `prompt` are there, each after the one before it."""
        child_of = {place: block_hash for block_hash, place in self.blocks.items()}
        parent = None
        for i in range(0, len(prompt) - BLOCK_SIZE + 1, BLOCK_SIZE):
            parent = child_of.get((parent, tuple(prompt[i : i + BLOCK_SIZE])))
            if parent is None:
                return False
        return True

    def wait_for(self, condition):
        while not condition():
            self.take()


def prompt_of(number, length=100):
    """Token ids that no prompt of another number begins with."""
    return [1 + (number * 7 + i * i) % 200 if i else 1 + number for i in range(length)]


class KvEvents:
    """For each form of events."""

    def follow(self, *flags):
        self.server = FollowedServer("--kv-events-format", "array" if self.array_like else "map", *flags)
        self.addCleanup(self.stop)
        self.follower = Follower(self.server, self.array_like)
        self.addCleanup(self.follower.close)
        self.number = 0
        self.ask_until_told()

    def stop(self):
        self.assertEqual(self.server.stop(), 0)

    def ask(self):
        """A prompt that was not asked before."""
        prompt = prompt_of(self.number)
        self.number += 1
        self.server.complete(prompt)
        return prompt

    def ask_until_told(self):
        """Nobody but the server knows when it has heard of a subscription."""
        while not self.follower.live.poll(0):
            self.ask()

    def test_a_follower_has_the_blocks_of_every_prompt(self):
        self.follow()
        prompts = [self.ask() for _ in range(5)]
        prompts.append(prompts[0][:48] + prompts[1])  # goes another way after three blocks
        self.server.complete(prompts[-1])
        self.follower.wait_for(lambda: self.follower.knows(prompts[-1]))
        for prompt in prompts:
            self.assertTrue(self.follower.knows(prompt), prompt)
        self.assertEqual(self.follower.removed, 0)

    def test_what_was_evicted_is_removed(self):
        self.follow("--num-blocks", "16")
        prompts = [self.ask() for _ in range(12)]
        self.follower.wait_for(lambda: self.follower.knows(prompts[-1]))
        self.assertFalse(self.follower.knows(prompts[0]))
        self.assertLessEqual(len(self.follower.blocks), 16)
        self.assertGreater(self.follower.removed, 0)

    def test_a_clear_clears(self):
        self.follow()
        before = self.ask()
        self.follower.wait_for(lambda: self.follower.knows(before))
        self.server.ask("/forge/v1/cache/clear", {})
        after = self.ask()
        self.follower.wait_for(lambda: self.follower.knows(after))
        self.assertEqual(self.follower.clears, 1)
        self.assertFalse(self.follower.knows(before))
        self.assertEqual(len(self.follower.blocks), len(after) // BLOCK_SIZE)

    def test_what_was_missed_is_replayed(self):
        self.follow()
        self.follower.wait_for(lambda: self.follower.knows(prompt_of(self.number - 1)))
        gaps = self.follower.gaps
        self.follower.leave()
        missed = [self.ask() for _ in range(4)]
        self.follower.subscribe()
        self.ask_until_told()
        last = self.ask()
        self.follower.wait_for(lambda: self.follower.knows(last))
        self.assertEqual(self.follower.gaps, gaps + 1)
        for prompt in missed:
            self.assertTrue(self.follower.knows(prompt), prompt)

    def test_a_request_that_is_none_harms_nobody(self):
        self.follow("--metrics-open")
        for frames in ([b"x"], [b"", b""], [b"", b"1234567"], [b""] * 9):
            self.follower.replays.send_multipart(frames)
        self.follower.replay()
        self.assertTrue(self.follower.knows(self.first_prompt()))

    def first_prompt(self):
        return prompt_of(0)


class MapForm(KvEvents, unittest.TestCase):
    array_like = False


class ArrayForm(KvEvents, unittest.TestCase):
    array_like = True


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    enter_venv(sys.argv[2], REQUIREMENTS)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
