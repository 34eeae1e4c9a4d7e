#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs for probes.py: NAME HOW runs one, and prints to standard error what it took: seconds of CPU, or calls and returns."""
import json
import re
import sys
import threading
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def mix(rounds):
    for i in range(rounds):
        json.loads(json.dumps({"a": [1.5] * 20, "b": {"c": str(i)}}, indent=1))
        re.purge()
        re.sub("(a|b)+%d" % (i % 7), "x", "aabb3 " * 20)


def web(requests):
    from http.client import HTTPConnection
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"path": self.path, "numbers": list(range(50))}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    for i in range(requests):
        client = HTTPConnection("127.0.0.1", server.server_port)
        client.request("GET", "/%d" % i)
        client.getresponse().read()
        client.close()
    server.shutdown()


RUN = {"fib": lambda: fib(24), "json + re": lambda: mix(300), "web": lambda: web(200)}


def count(run):
    events = [0]

    def tell(frame, event, argument):
        events[0] += event in ("call", "return")

    threading.setprofile(tell)
    sys.setprofile(tell)
    run()
    sys.setprofile(None)
    return events[0]


def watched(run):
    """By sys.monitoring, with callbacks that do nothing."""
    events, tool = sys.monitoring.events, 3
    sys.monitoring.use_tool_id(tool, "bench")
    for event in (events.PY_START, events.PY_RETURN):
        sys.monitoring.register_callback(tool, event, lambda *words: None)
    sys.monitoring.set_events(tool, events.PY_START | events.PY_RETURN)
    run()


def profiled(run):
    import cProfile
    profiles = []

    # As one profiler is of one thread only, each thread that begins gets its own.
    def thread(*_):
        profiles.append(cProfile.Profile())
        profiles[-1].enable()

    if sys.version_info < (3, 12):
        threading.setprofile(thread)
    profile = cProfile.Profile()
    profile.runcall(run)


def main():
    run, how = RUN[sys.argv[1]], sys.argv[2]
    if how == "count":
        print(count(run), file=sys.stderr)
        return
    began = time.process_time()
    {"alone": lambda run: run(), "cProfile": profiled, "monitoring": watched}[how](run)
    print("%.4f" % (time.process_time() - began), file=sys.stderr)


main()
