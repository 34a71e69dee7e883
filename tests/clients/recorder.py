"""A proxy that keeps what clients send, and the shape of what they get.

Kept are the method, the path, the headers that an answer can depend on, the body, and of the answer
its status, its Content-Type and its shape (tests/serve/shapes.py). So that a recording is the same
whenever it is made, and can be sent to any server: no ports, keys or dates are kept, the model is
"MODEL", and token ids are taken modulo 256, which every vocabulary has.
"""

import http.client
import http.server
import json
import threading
import urllib.parse

import shapes

HEADERS = ("accept", "content-type")
MODEL = "MODEL"


def normal_prompt(prompt):
    if isinstance(prompt, list):
        return [normal_prompt(part) for part in prompt]
    return prompt % 256 if isinstance(prompt, int) else prompt


def normal_body(body):
    body = dict(body)
    if "model" in body:
        body["model"] = MODEL
    if "prompt" in body:
        body["prompt"] = normal_prompt(body["prompt"])
    return body


def form_of(request):
    """Two requests of the same form differ in their texts alone: one of them is enough."""
    body = request.get("body", {})
    texts = {key: value for key, value in body.items() if key in ("prompt", "messages", "stop")}
    rest = {key: value for key, value in body.items() if key not in texts}
    return json.dumps([request["method"], request["path"], rest, sorted(shapes.shape(texts))])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = urllib.parse.urlsplit(self.server.target)
        connection = http.client.HTTPConnection(target.hostname, target.port, timeout=120)
        kept = ("host", "connection", "content-length")
        headers = {key: value for key, value in self.headers.items() if key.lower() not in kept}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(key, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.server.keep(self.command, self.path, self.headers, body, self.passed_on(answer))
        connection.close()
        self.close_connection = True

    def passed_on(self, answer):
        """The answer, which the client has by then."""
        whole = b""
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()
            whole += piece
        return answer.status, answer.getheader("Content-Type", ""), whole

    do_GET = do_POST = do_DELETE = handle_any

    def log_message(self, *_):
        pass


class Recorder(http.server.ThreadingHTTPServer):
    """Listens on `url` and passes everything on to `target`."""

    daemon_threads = True

    def __init__(self, target):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = target
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.exchanges = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def keep(self, method, path, headers, body, answer):
        status, content_type, answer_body = answer
        request = {
            "method": method,
            "path": path,
            "headers": {name: headers[name] for name in HEADERS if headers.get(name)},
        }
        if body:
            request["body"] = normal_body(json.loads(body))
        shape = sorted(shapes.answer_shape(content_type, answer_body))
        found = {"status": status, "content_type": content_type, "shape": shape}
        exchange = {"request": request, "answer": found}
        form = form_of(request)
        with self.lock:
            # Of several at a time, which come in any order, always the same one.
            self.exchanges[form] = min(self.exchanges.get(form, exchange), exchange, key=json.dumps)

    def taken(self):
        """What was recorded since the last call, by its form."""
        with self.lock:
            exchanges, self.exchanges = self.exchanges, {}
        return exchanges
