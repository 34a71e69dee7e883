"""The parser of Prometheus' official Python client against GET /metrics of forge-infer.

    prometheus_client_test.py FORGE_INFER VENV [unittest arguments]

As openai_client_test.py, whose environment it shares.
"""

import sys
import time
import unittest
import urllib.request

from client_venv import enter_venv
from forge_server import Server

MODEL = "forge-tiny"


class PrometheusClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--speculative", "3", "--metrics-open")

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        assert status == 0, f"forge-infer ended with {status}"

    def families(self):
        """{name: family}, as the client's parser reads them: it drops the _total of counters."""
        from prometheus_client.parser import text_string_to_metric_families

        with urllib.request.urlopen(self.server.url + "/metrics") as answer:
            kind = answer.headers["Content-Type"]
            self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
            return {family.name: family for family in text_string_to_metric_families(answer.read().decode())}

    def complete(self, tokens):
        body = {"model": MODEL, "prompt": "What is a slice?", "max_tokens": tokens, "ignore_eos": True}
        return self.server.ask("/v1/completions", body)["usage"]

    def value(self, families, name, sample=None, **labels):
        found = [
            each.value
            for each in families[name].samples
            if each.name == (sample or name) and labels.items() <= each.labels.items()
        ]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def test_the_parser_reads_every_family_with_its_type(self):
        self.complete(20)
        families = self.families()
        self.assertGreaterEqual(len(families), 50)
        for name, family in families.items():
            self.assertIn(family.type, ("counter", "gauge", "histogram"), name)
            self.assertTrue(family.documentation.endswith("."), name)
            self.assertTrue(family.samples, name)
            if name.startswith(("vllm:", "forge:")):
                for sample in family.samples:
                    self.assertEqual((sample.labels["model_name"], sample.labels["engine"]), (MODEL, "0"))

    def test_counters_grow_by_what_was_answered(self):
        before = self.families()
        usages = [self.complete(10 + i) for i in range(3)]
        after = self.families()

        def grown(name, sample=None, **labels):
            return self.value(after, name, sample, **labels) - self.value(before, name, sample, **labels)

        prompts = sum(usage["prompt_tokens"] for usage in usages)
        self.assertEqual(grown("vllm:prompt_tokens", "vllm:prompt_tokens_total"), prompts)
        generated = sum(usage["completion_tokens"] for usage in usages)
        self.assertEqual(grown("vllm:request_generation_tokens", "vllm:request_generation_tokens_sum"), generated)
        self.assertEqual(
            grown("vllm:request_success", "vllm:request_success_total", finished_reason="length"), 3
        )
        latency = "vllm:e2e_request_latency_seconds"
        self.assertEqual(grown(latency, latency + "_bucket", le="+Inf"), 3)
        self.assertGreater(grown(latency, latency + "_sum"), 0)

    def test_the_five_that_a_router_of_kubernetes_asks_for_are_there(self):
        families = self.families()
        self.assertEqual(self.value(families, "vllm:num_requests_running"), 0)
        self.assertEqual(self.value(families, "vllm:num_requests_waiting"), 0)
        self.assertEqual(self.value(families, "vllm:kv_cache_usage_perc"), 0)
        cache = families["vllm:cache_config_info"].samples[0].labels
        self.assertGreater(int(cache["block_size"]), 0)
        self.assertGreater(int(cache["num_gpu_blocks"]), 0)

    def test_the_process_is_this_one(self):
        families = self.families()
        start = self.value(families, "process_start_time_seconds")
        self.assertLess(start, time.time() + 1)
        self.assertGreater(start, time.time() - 600)
        self.assertGreater(self.value(families, "process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(self.value(families, "process_open_fds"), 2)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    enter_venv(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
