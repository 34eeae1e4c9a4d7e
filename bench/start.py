#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What attaching costs by what is mapped: JAX (350 MB in one library), Chromium, clang and a small program, each busy, attached to
for two seconds, with an empty cache and again. Until sampling begins, strata's CPU time and peak memory, how many samples were late
and complete. Beside it the same for a process that does nothing: what starting takes anyway. Nothing is asserted; what is not
installed is skipped by name. JAX is looked for in the Python that $BENCH_JAX names (python3)."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

SMALL = "while True: sum(i * i for i in range(1000))"
JAX = """import jax, jax.numpy as jnp
x = jnp.ones((64, 64))
print("ready", flush=True)
while True:
    for _ in range(20):
        x = jnp.dot(x, x) / 64.0
    jax.jit(lambda y: y * 2 + x.sum())(x)
"""
PAGE = "data:text/html,<script>setInterval(function(){var s=0;for(var i=0;i<3e6;i++)s+=Math.sqrt(i);document.title=s},1)</script>"
HEADERS = ("regex", "map", "iostream", "algorithm", "functional", "random", "future", "thread")


class Target:
    """A program that is busy in a process group of its own until it is stopped."""

    def __init__(self, command, ready=False):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.is_ready = not ready or self.process.stdout.readline().strip() == b"ready"

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def targets(folder):
    """Name and command, or what is missing; and whether it says when it is ready."""
    python = os.environ.get("BENCH_JAX", sys.executable)
    has_jax = subprocess.call([python, "-c", "import jax"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    chromium, clang = shutil.which("chromium"), shutil.which("clang++")
    source = folder + "/a.cpp"
    with open(source, "w") as file:
        file.write("".join("#include <%s>\n" % name for name in HEADERS) + "int main() { return std::regex_match(\"x\", std::regex(\"x\")); }\n")
    loop = "while :; do %s -std=c++17 -O2 -c -o /dev/null %s; done" % (clang, source)
    yield "nothing", ["sleep", "1000"], False
    yield "small", [sys.executable, "-S", "-c", SMALL], False
    yield "clang", clang and ["sh", "-c", loop], False
    yield "Chromium", chromium and [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder + "/chromium",
                                    "--remote-debugging-port=0", PAGE], False
    yield "JAX", has_jax and [python, "-c", JAX], True


def attach(strata, folder, target, cache):
    stats = folder + "/stats.json"
    subprocess.run([strata, "record", "-q", "--children", "-p", str(target.process.pid), "-d", "2", "-o", folder + "/out.folded", "--stats", stats],
                   env={**os.environ, "XDG_CACHE_HOME": cache}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(stats) as file:
        return json.load(file)


def row(name, which, all_figures):
    def median(get):
        return statistics.median(map(get, all_figures))

    samples = sum(figures["samples"] for figures in all_figures)
    late, complete = (sum(figures[key] for figures in all_figures) for key in ("late_samples", "complete"))
    print("%-10s %-7s %9.0f ms %9.2f s %7.0f MB %7d %6.1f %% %6.1f %%" % (
        name, which, median(lambda figures: figures["startup_ms"]), median(lambda figures: figures["self"]["cpu_s"]),
        median(lambda figures: figures["self"]["peak_rss_kb"] / 1024), samples, 100 * late / max(samples, 1),
        100 * complete / max(samples, 1)), flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--strata", default="build/strata")
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    print("%-10s %-7s %12s %11s %10s %7s %8s %8s" % ("mapped", "cache", "starts in", "CPU", "peak RSS", "samples", "late", "complete"))
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        for name, command, ready in targets(folder):
            if not command:
                print("%-10s skipped: not installed" % name)
                continue
            target, figures = Target(command, ready), {"empty": [], "again": []}
            try:
                if not target.is_ready:
                    print("%-10s skipped: does not start" % name)
                    continue
                for _ in range(options.rounds):
                    with tempfile.TemporaryDirectory(dir=folder) as cache:
                        for which in figures:
                            figures[which].append(attach(options.strata, folder, target, cache))
                for which in figures:
                    row(name, which, figures[which])
            except subprocess.CalledProcessError as error:
                print("%-10s failed: %s" % (name, error))
            finally:
                target.stop()


main()
