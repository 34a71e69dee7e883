"""What other clients send, sent again: a regression shows without installing them.

    recorded_requests_test.py FORGE_INFER [unittest arguments]

recorded/CLIENT.json has what the client of that name sent when `scripts/clients --record` ran it, and
the shape of the answers with which it was content (shapes.py). Here the built-in model answers, whose
words are others: each answer must have the same status and type, and all that the recorded one had.
"""

import http.client
import json
import pathlib
import sys
import unittest
import urllib.parse

import shapes
from forge_server import Server

RECORDED = pathlib.Path(__file__).with_name("recorded")
CLIENTS = {"aiperf", "guidellm", "langchain", "litellm", "lm-eval"}


class RecordedRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(stderr=None)
        assert cls.server.said == f"listening on {cls.server.url}\n", cls.server.said
        address = urllib.parse.urlsplit(cls.server.url)
        cls.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        cls.connection.request("GET", "/v1/models")
        cls.model = json.load(cls.connection.getresponse())["data"][0]["id"]

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        status = cls.server.stop()
        assert status == 0, f"forge-infer ended with {status}"

    def answer_to(self, request):
        """Status, Content-Type, body."""
        body = request.get("body")
        if body is not None:
            body = json.dumps(body | {"model": self.model})
        self.connection.request(request["method"], request["path"], body, request["headers"])
        answer = self.connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()

    def check_stream(self, options, body):
        """The end of a stream, and where usage is."""
        events = shapes.events_of(body)
        self.assertEqual(events.pop(), shapes.DONE)
        events = [json.loads(event) for event in events]
        if options.get("include_usage"):
            last = events.pop()
            self.assertEqual(last["choices"], [])
            self.assertGreater(last["usage"]["completion_tokens"], 0)
            if options.get("continuous_usage_stats"):
                told = [event["usage"]["completion_tokens"] for event in events]
                self.assertEqual(told, sorted(told))
            else:
                self.assertEqual({event["usage"] for event in events}, {None})
        self.assertTrue(all(len(event["choices"]) == 1 for event in events))

    def check(self, exchange):
        request, recorded = exchange["request"], exchange["answer"]
        status, content_type, body = self.answer_to(request)
        self.assertEqual(status, recorded["status"], body)
        self.assertEqual(content_type, recorded["content_type"])
        lacks = set(recorded["shape"]) - shapes.answer_shape(content_type, body)
        self.assertEqual(lacks, set(), body)
        if request.get("body", {}).get("stream"):
            self.check_stream(request["body"].get("stream_options") or {}, body)

    def test_each_client_gets_what_it_got_when_it_was_content(self):
        for client in sorted(CLIENTS):
            recording = json.loads((RECORDED / f"{client}.json").read_text())
            self.assertGreater(len(recording["exchanges"]), 1)
            for exchange in recording["exchanges"]:
                with self.subTest(client=recording["client"], request=exchange["request"]):
                    self.check(exchange)

    def test_every_recording_is_replayed(self):
        self.assertEqual({path.stem for path in RECORDED.glob("*.json")}, CLIENTS)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
