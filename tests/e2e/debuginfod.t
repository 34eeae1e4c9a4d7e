#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols from debuginfod: Debian's server, on this machine, gives those of a stripped program; its answers are kept; other
answers are not believed; and recordings do without."""
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

PROGRAM = r"""
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void hidden_name(void) { for (unsigned i = 0; i < 100000; i++) sink += i * 7; }
int main(void) { do hidden_name(); while (clock() < CLOCKS_PER_SEC / 2); return 0; }
"""
tap = e2e.Tap()


def build(where, name):
    """A stripped program, and its debug file in a folder of its own: (program, debug file, build id)."""
    program, debug = os.path.join(where, name), os.path.join(where, "served", name + ".debug")
    os.makedirs(os.path.dirname(debug), exist_ok=True)
    with open(program + ".c", "w") as file:
        file.write(PROGRAM + "/* %s */ const char *name = \"%s\";" % (name, name))
    subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", program, program + ".c"], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    notes = subprocess.run(["readelf", "-n", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return program, debug, re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serves(url, build_id):
    try:
        with urllib.request.urlopen("%s/buildid/%s/debuginfo" % (url, build_id), timeout=10) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


class Server:
    def __init__(self, where):
        self.url = "http://127.0.0.1:%d" % free_port()
        self.log = open(os.path.join(where, "server.log"), "w")
        self.process = subprocess.Popen(["debuginfod", "-F", "-p", self.url.rpartition(":")[2], "-d", ":memory:", "-t", "1",
                                         os.path.join(where, "served")], stdout=self.log, stderr=self.log, cwd=where,
                                        env=dict({k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}, HOME=where))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Stranger(http.server.BaseHTTPRequestHandler):
    """Gives another program's debug file, whatever is asked for; or, told so, a byte in ten seconds."""
    content, stalls, asked = b"", False, 0

    def do_GET(self):
        Stranger.asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        try:
            for i in range(3 if self.stalls else 0):
                self.wfile.write(self.content[i:i + 1])
                self.wfile.flush()
                time.sleep(10)
            self.wfile.write(self.content)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def record(where, program, url, *options, cache="cache", **more):
    """The folded file's text, and what was said."""
    output = os.path.join(where, "r.folded")
    env = dict(os.environ, DEBUGINFOD_CACHE_PATH=os.path.join(where, cache), DEBUGINFOD_TIMEOUT="2", **more)
    env.pop("DEBUGINFOD_URLS", None)
    if url:
        env["DEBUGINFOD_URLS"] = url
    done = subprocess.run([e2e.STRATA, "record", "-F", "199", "-o", output, *options, "--", program], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S)
    if done.returncode:
        return "", done.stderr
    with open(output, encoding="utf-8") as file:
        return file.read(), done.stderr


def trace(where, program, url, *options, cache):
    """What `strata trace` printed, of the stacks of a program: a map at the end."""
    env = dict(os.environ, DEBUGINFOD_CACHE_PATH=os.path.join(where, cache), DEBUGINFOD_TIMEOUT="2", DEBUGINFOD_URLS=url)
    done = subprocess.run([e2e.STRATA, "trace", *options, "-e", "profile:hz:199 /comm == \"first\"/ { @[ustack] = count(); }", "-c",
                           program], env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=e2e.PATIENCE_S)
    return done.stdout, done.stderr


def check_strangers(where, program, debug):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d" % server.server_port
    with open(debug, "rb") as file:
        Stranger.content = file.read()
    text, said = record(where, program, url, cache="stranger")
    tap.ok(Stranger.asked and "hidden_name" not in text and re.search(r"0x[0-9a-f]+ \(first\)", text),
           "another program's debug file is not believed", text[-300:], said)
    Stranger.content = b"\x7fELF" + bytes(4096)
    text, said = record(where, program, url, cache="garbage")
    tap.ok(re.search(r"0x[0-9a-f]+ \(first\)", text), "neither is garbage", text[-300:], said)
    Stranger.stalls = True
    text, said = record(where, program, url, cache="stalls")
    tap.ok(re.search(r"0x[0-9a-f]+ \(first\)", text) and re.search(r"debuginfod gave symbols for 0 of \d+ files", said),
           "a server that does not get on is given up, which is told", text[-300:], said)
    # Ctrl-C while it waits for the server: the recording is there.
    output, asked = os.path.join(where, "interrupted.folded"), Stranger.asked
    running = subprocess.Popen([e2e.STRATA, "record", "-F", "199", "-o", output, "--", program], text=True, stderr=subprocess.PIPE,
                               env=dict(os.environ, DEBUGINFOD_CACHE_PATH=os.path.join(where, "interrupted"), DEBUGINFOD_URLS=url))
    e2e.until(lambda: Stranger.asked > asked)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=e2e.PATIENCE_S)[1]
    tap.ok(os.path.exists(output) and "it was interrupted" in said, "Ctrl-C goes on without", running.returncode, said)
    server.shutdown()


def check(where):
    program, _, build_id = build(where, "first")
    _, other, _ = build(where, "second")
    server = Server(where)
    try:
        e2e.until(lambda: serves(server.url, build_id))
        text, said = record(where, program, None)
        tap.ok("hidden_name" not in text and re.search(r"0x[0-9a-f]+ \(first\)", text), "without servers it has no names", said)
        text, said = record(where, program, server.url, "--no-debuginfod")
        tap.ok(text and "hidden_name" not in text and not os.path.exists(where + "/cache"), "--no-debuginfod asks nobody", said)
        script = os.path.join(where, "script")
        with open(script, "w") as file:
            file.write("#!/bin/sh\n[ \"$DEBUGINFOD_URLS\" = %s ] && exec %s\n" % (server.url, program))
        os.chmod(script, 0o755)
        text, said = record(where, script, server.url, "--no-debuginfod")
        tap.ok("(first)" in text and "hidden_name" not in text, "nor does it change the command's environment", text[-300:], said)
        text, said = record(where, program, server.url)
        tap.ok("hidden_name (first)" in text, "debuginfod gives the names", text[-300:], said)
        text, said = trace(where, program, server.url, "--no-debuginfod", cache="traced")
        tap.ok("@[" in text and "hidden_name" not in text and not os.path.exists(where + "/traced"), "trace --no-debuginfod asks nobody",
               text[-300:], said)
        text, said = trace(where, program, server.url, cache="traced")
        tap.ok("hidden_name+" in text, "trace asks at its end", text[-300:], said)
    finally:
        server.stop()
    text, said = record(where, program, server.url)
    tap.ok("hidden_name (first)" in text, "they are kept", text[-300:], said)
    text, said = record(where, program, None)
    tap.ok("hidden_name" not in text, "and used only where servers are named", text[-300:], said)
    text, said = record(where, program, server.url, cache="other")
    tap.ok(text and "hidden_name" not in text and "debuginfod gave symbols for 0 of" in said, "no server: it does without, and says so",
           said)
    text, said = trace(where, program, server.url, cache="nobody")
    tap.ok("@[" in text and "debuginfod gave symbols for 0 of" in said, "trace without a server says so", text[-300:], said)
    check_strangers(where, program, other)


def main():
    if not shutil.which("debuginfod"):
        print("1..0 # SKIP debuginfod is not installed")
        return
    with e2e.folder() as where:
        check(where)
    tap.done()


main()
