#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Native stacks without frame pointers: to the root, demangled, in threads and under signal handlers."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

SECONDS, HZ = 1.5, 199  # CPU time of each program
RUST = """extern "C" { fn clock() -> i64; }
fn running() -> bool { unsafe { clock() < 1500000 } }
mod layers { pub struct Stone(pub u64);
impl Stone { #[inline(never)] pub fn press(&self) -> u64 { let mut x = self.0;
while super::running() { for i in 0..20000u64 { x = std::hint::black_box(x.wrapping_mul(31) ^ i); } } x } } }
fn main() { println!("{}", layers::Stone(3).press() & 1); }
"""


def run(tap, where, words, command):
    out, stats = where + "/n.folded", where + "/n.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", *command)
    if not tap.ok(done.returncode == 0, "%s: recorded" % words, done.stderr):
        return [], []
    stacks = [(f, c) for f, c in e2e.folded(out) if f[0] == os.path.basename(command[0])[:15]]
    # The program's own stacks; those of its start (the loader's) are complete, too, but have other frames.
    figures = e2e.load(stats)
    tap.ok(e2e.complete(figures) >= 0.99, "%s: complete %.2f %%" % (words, 100 * e2e.complete(figures)), figures["lost"])
    tap.ok(e2e.total(stacks) >= e2e.due(SECONDS, HZ), "%s: %d samples" % (words, e2e.total(stacks)))
    mangled = {f for frames, _ in stacks for f in frames if f.startswith(("_ZN", "_RNv", "_R"))}
    tap.equal(mangled, set(), "%s: no mangled name" % words)
    return stacks, [[e2e.native_name(f) for f in frames] for frames, _ in stacks]


def deep(tap, where, program):
    stacks, _ = run(tap, where, "1,000 calls", [program, "deep"])
    wanted = [(f, c) for f, c in stacks if "grind" in ";".join(f)]
    depths = {sum("shapes::descend(" in x for x in frames) for frames, _ in wanted}
    tap.equal(depths, {1001}, "1,000 calls: each of them, in every sample of the leaf")
    tap.ok(all(any(e2e.native_name(x) == "main" for x in f) for f, _ in wanted) and wanted, "1,000 calls: main is there")
    tap.ok(wanted and all(e2e.THREAD_START.match(f[1]) for f, _ in wanted), "1,000 calls: and the root is _start",
           {f[1] for f, _ in wanted})
    tap.ok(any("shapes::Grinder<unsigned long>::grind(unsigned long)" in x for f, _ in wanted for x in f),
           "1,000 calls: templates are demangled", {x for f, _ in wanted for x in f[-2:]})


def threads(tap, where, program):
    stacks, _ = run(tap, where, "threads", [program, "threads"])
    wanted = [(f, c) for f, c in stacks if any("thread_body" in x for x in f)]
    tap.ok(e2e.total(wanted) >= e2e.due(SECONDS, HZ), "threads: samples in their bodies")
    tap.ok(wanted and all(e2e.THREAD_START.match(f[1]) for f, _ in wanted), "threads: the root is where a thread starts",
           {f[1] for f, _ in wanted})
    tap.equal(sum(any(e2e.native_name(x) == "main" for x in f) for f, _ in wanted), 0, "threads: main is not below them")


def handler(tap, where, program):
    _, names = run(tap, where, "signal handler", [program, "signal"])
    wanted = [n for n in names if "on_alarm" in n]
    tap.ok(len(wanted) > 0, "signal handler: its samples")
    # The first ticks may come before the loop; main is below every one.
    bad = [n for n in wanted if "main" not in n[:n.index("on_alarm")]]
    tap.equal(bad[:2], [], "signal handler: what it interrupted is below it, down to main")
    through = [n for n in wanted if "interrupted_loop" in n[:n.index("on_alarm")]]
    tap.ok(len(through) > 0.8 * len(wanted), "signal handler: nearly always the loop: %d of %d" % (len(through),
                                                                                              len(wanted)))


def rust(tap, where):
    compiler = shutil.which("rustc") or "/root/.cargo/bin/rustc"
    with open(where + "/layers.rs", "w") as file:
        file.write(RUST)
    program = where + "/rusty"
    if not os.path.exists(compiler) or subprocess.call([compiler, "-O", "-o", program, where + "/layers.rs"],
                                                       stderr=subprocess.DEVNULL):
        tap.skip("Rust", "no working rustc")
        return
    stacks, names = run(tap, where, "Rust", [program])
    tap.ok(any("layers::Stone::press" in x for n in names for x in n), "Rust: names are demangled", names[:2])
    tap.ok(not any("17h" in x and x.endswith("E") for n in names for x in n), "Rust: no hash is left in a name")


tap = e2e.Tap()
with e2e.folder() as where:
    program = where + "/depths"
    subprocess.check_call(["g++", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", program,
                           HERE + "/native.cpp"])
    deep(tap, where, program)
    threads(tap, where, program)
    handler(tap, where, program)
    rust(tap, where)
tap.done()
