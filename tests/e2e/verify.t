#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks that are hard to unwind, held against libdw's answer by `record --verify`, and against what the program is known to do."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402
import go  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
EARLY_MOST = 0.2  # of a program's samples
ENOUGH = 250     # samples, of which each tenth is verified
TRIES = 5        # to get so many
HZ, OFTEN = 1499, 2998
NEAR = "int near_nothing(int i) { return i & 1; }"
LAST = """__asm__(".section .fini,\\"ax\\"; mov $1000000000,%ecx; 1: dec %ecx; jnz 1b; .text");
int main(void) { return 0; }
"""
# The caller's SP is in the red zone, as in OpenSSL's sha256, and SP is the first byte of a page. The rule: SP - 8, deref, + 8.
RED_ZONE = """__asm__(".globl grind; .type grind,@function; grind: .cfi_startproc; mov %rsp,%rax; .cfi_def_cfa_register %rax;"
	"and $-4096,%rsp; mov %rax,-8(%rsp); .cfi_escape 0x0f,5,0x77,0x78,6,0x23,8; mov $500000000,%ecx; 1: dec %ecx; jnz 1b;"
	"mov -8(%rsp),%rsp; .cfi_def_cfa %rsp,8; ret; .cfi_endproc; .size grind,.-grind");
void grind(void);
int main(void) { grind(); return 0; }
"""
# These use CPU time, too, so that a busy machine changes nothing.
GO = """package main
import ("fmt"; "sort"; "strings"; "syscall")
func used() int64 { var r syscall.Rusage; syscall.Getrusage(syscall.RUSAGE_SELF, &r); return r.Utime.Nano() + r.Stime.Nano() }
func work(n int) int { if n > 0 { return work(n-1) + 1 }; s := make([]string, 300)
	for i := range s { s[i] = fmt.Sprintf("%d", i*7919%300) }; sort.Strings(s); return len(strings.Join(s, ",")) }
func main() { done := make(chan int)
	go func() { for used() < 1e9 { for i := 0; i < 50; i++ { work(20) } }; done <- 1 }()
	for used() < 1e9 { for i := 0; i < 50; i++ { work(5) } }; <-done }
"""
RUST = """use std::panic;
extern "C" { fn clock() -> i64; }
#[inline(never)] fn dive(n: u32) -> u32 { struct Guard(u32); impl Drop for Guard { fn drop(&mut self) { std::hint::black_box(self.0); } }
    let g = Guard(n); if n == 0 { panic!("out") } let r = dive(n - 1) + g.0; std::hint::black_box(r) }
fn main() { panic::set_hook(Box::new(|_| {}));
    while unsafe { clock() } < 500000 { let _ = panic::catch_unwind(|| dive(30)); } }
"""
# mode, its seconds of CPU time (of each of its four clones; vforked children use twice as much beside), what is in the stack of (nearly)
# every sample that has the last of them, and the least share that agrees: libdw stops at the end of the one stack that is copied, and now
# and then before.
MODES = (("signals", "0.5", ["_start", "main", "on_signal", "deeper"], 0.9),
         ("sigaltstack", "0.5", ["_start", "main", "on_signal", "deeper"], 0.0),
         ("vfork", "0.2", ["_start", "main", "grind"], 0.97),
         ("clone", "0.15", ["__clone", "cloned", "deeper"], 0.97),
         ("aligned", "0.5", ["_start", "main", "aligned"], 0.97),
         ("exceptions", "0.5", ["_start", "main", "thrower"], 0.97),
         ("plt", "0.5", ["_start", "main", "near_nothing"], 0.97),
         ("sort", "0.5", ["_start", "main", "compare"], 0.97))


def judge_complete(tap, words, stats, least):
    """Of the samples that were not early: those end with the stack that the thread was on, of which there is a copy."""
    asked = stats["samples"] - e2e.early(stats)
    tap.ok(stats["complete"] >= least * asked and e2e.early(stats) <= EARLY_MOST * stats["samples"], "%s: %d of %d complete, %d early" % (
        words, stats["complete"], stats["samples"], e2e.early(stats)), stats["lost"])


def judge(tap, words, where, done, least, complete=0.98, longer=0, signal_return=range(0), elsewhere=False):
    if not tap.equal(done.returncode, 0, words + ": recorded"):
        print("# " + done.stderr[-400:].replace("\n", "\n# "))
        return []
    stats = e2e.load(where + "/x.json")
    verify = stats["verify"]
    told = [line for line in done.stderr.split("\n") if line.startswith("verify:")]
    tap.ok(verify["samples"] > 15 and verify["differ"] == e2e.wrong_of_libdw(told, signal_return) and verify["longer"] <= longer * verify["samples"], words + ": no frame differs, none is missing: %s" %
           verify, "\n".join(told))
    tap.ok(verify["agree"] + elsewhere * verify["cut"] >= least * verify["samples"], words + ": libdw says the same to the root",
           "\n".join(told))
    # Whatever was chosen is in one of the counts, and nothing but the ring's room keeps it from being compared.
    told = [verify[key] for key in ("agree", "differ", "longer", "shorter", "cut", "guessed")]
    tap.ok(sum(told) == verify["samples"] and verify["samples"] + sum(verify["uncompared"].values()) == verify["chosen"] and
           not set(verify["uncompared"]) - {"stack-missing"}, words + ": the counts make up what was chosen", verify)
    judge_complete(tap, words, stats, complete)
    return e2e.folded(where + "/x.folded")


def record(where, *command, hz=HZ):
    """
    Of the samples that came before the program was known there is no second opinion, and they end with the stack that they are on.
    On a busy machine these may be most.
    """
    for _ in range(TRIES):
        done = e2e.record("--verify", "-v", "-F", hz, "-o", where + "/x.folded", "--stats", where + "/x.json", "--", *command)
        if done.returncode:
            break
        stats = e2e.load(where + "/x.json")
        if stats["samples"] - stats["late_samples"] >= ENOUGH and e2e.early(stats) <= EARLY_MOST * stats["samples"]:
            break
        print("# %s: again, %d of %d samples came too early" % (command[:2], stats["late_samples"], stats["samples"]))
    return done


def through(frames, chain):
    names = [f.split("(")[0].split(" [")[0].split("@")[0].strip() for f in frames]
    rest = iter(names)
    return all(any(name == wanted or wanted in name.split("::") for name in rest) for wanted in chain)


def hard(tap, where):
    program = where + "/truth"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-xc", "-", "-o", where + "/libnear.so"], input=NEAR.encode(), check=True)
    flags = ["-O2", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-Wl,-z,lazy", "-L" + where, "-lnear",
             "-Wl,-rpath," + where, "-lpthread"]
    subprocess.run(["g++", "-o", program, HERE + "/truth.cpp"] + flags, check=True)
    for mode, seconds, chain, least in MODES:
        done = record(where, program, mode, seconds)
        stacks = judge(tap, mode, where, done, least)
        stats = e2e.load(where + "/x.json")
        mine = [(f, c) for f, c in stacks if f[0] == "truth" and any(x.startswith(chain[-1]) for x in f)]
        through_all = e2e.total([(f, c) for f, c in mine if through(f, chain)])
        tap.ok(mine and through_all >= 0.99 * (e2e.total(mine) - e2e.early(stats)), "%s: %s in %d of %d" % (
            mode, " > ".join(chain), through_all, e2e.total(mine)), [f for f, _ in mine if not through(f, chain)][:2])
    # The start files' code has no unwind information. libdw then follows frame pointers, and leaves out the caller.
    subprocess.run(["gcc", "-O2", "-xc", "-", "-o", where + "/last"], input=LAST.encode(), check=True)
    stacks = judge(tap, "_fini", where, record(where, where + "/last", hz=OFTEN), 0.0)
    verify = e2e.load(where + "/x.json")["verify"]
    tap.ok(verify["guessed"] >= 0.9 * verify["samples"], "_fini: libdw guesses in %(guessed)d of %(samples)d" % verify)
    mine = [(f, c) for f, c in stacks if any(x.startswith("_fini") for x in f)]
    share = e2e.share(mine, lambda f: through(f, ["_start", "exit", "_dl_fini", "_fini"]))
    tap.ok(e2e.total(mine) > 100 and share >= 0.98, "_fini: called by _dl_fini, as gdb says, in %.1f %%" % (100 * share), mine[:2])
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", where + "/below"], input=RED_ZONE.encode(), check=True)
    stacks = judge(tap, "red zone", where, record(where, where + "/below", hz=OFTEN), 0.97)
    mine = [(f, c) for f, c in stacks if any(x.startswith("grind") for x in f)]
    tap.ok(e2e.total(mine) > 100 and all(through(f, ["_start", "main", "grind"]) for f, _ in mine), "red zone: _start > main > grind", mine[:2])
    # Split stacks: a function that needs more room gets another stack, and its caller stays on the old one.
    if subprocess.call(["g++", "-fsplit-stack", "-o", where + "/split", HERE + "/truth.cpp"] + flags, stderr=subprocess.DEVNULL):
        tap.skip("split stacks", "this compiler cannot")
        return
    stacks = judge(tap, "split stacks", where, record(where, where + "/split", "split", "0.75", hz=OFTEN), 0.0)
    whole = [sum(x.startswith("deeper") for x in f) for f, _ in stacks
             if any(x.startswith("grind") for x in f) and not f[1].startswith("[")]  # a late sample's copy has one stack only
    tap.equal(set(whole), {3001}, "split stacks: 3,001 frames of the recursion, in each sample at its end")


def others(tap, where):
    if shutil.which("openssl"):
        for what in ("aes-256-gcm", "sha256", "rsa2048", "chacha20-poly1305"):
            words = ["-evp", what] if what[0] in "ac" else [what]
            # For a second of the clock: beside others it would get too little CPU time.
            sizes = [] if e2e.LONG or what[0] == "r" else ["-bytes", "8192"]  # of blocks; else six
            judge(tap, "libcrypto's " + what, where, record(where, "nice", "-n", "-10", "openssl", "speed", "-seconds", "1", *sizes, *words), 0.9)
    else:
        tap.skip("libcrypto", "no openssl")
    if shutil.which("go"):
        with open(where + "/work.go", "w") as file:
            file.write(GO)
        subprocess.run(["go", "build", "-o", where + "/gone", where + "/work.go"], check=True,
                       env=go.environment())
        subprocess.run(["strip", "-o", where + "/stripped", where + "/gone"], check=True)
        # libdw goes on below mcall(), where the scheduler's stack begins. What Go's runtime does on a thread's own stack has its
        # caller on another one, of which there is no copy.
        stacks = judge(tap, "Go", where, record(where, where + "/gone", hz=OFTEN), 0.95, longer=0.05, elsewhere=True,
                       signal_return=e2e.go_signal_return(where + "/gone"))
        mine = [(f, c) for f, c in stacks if any(x.startswith("main.work") for x in f)]
        share = e2e.share(mine, lambda f: through(f, ["runtime.goexit.abi0", "main.work"]))
        tap.ok(mine and share > 0.99, "Go: work() down to the goroutine's start: %.1f %%" % (100 * share), mine[:2])
        depths = {sum(x.startswith("main.work") for x in f) for f, _ in mine if any(x.startswith("fmt.Sprintf") for x in f)}
        tap.equal(depths - {6, 21}, set(), "Go: 6 or 21 calls, as the program makes them")
        # Then libdw has nothing to go by, and guesses; strata has the same rules as before.
        done = record(where, where + "/stripped", hz=OFTEN)
        tap.equal(done.returncode, 0, "Go, stripped: recorded")
        figures = e2e.load(where + "/x.json")
        judge_complete(tap, "Go, stripped", figures, 0.98)
    else:
        tap.skip("Go", "no go")
    compiler = shutil.which("rustc") or os.path.expanduser("~/.cargo/bin/rustc")
    with open(where + "/dive.rs", "w") as file:
        file.write(RUST)
    if not os.path.exists(compiler) or subprocess.call([compiler, "-O", "-o", where + "/rusty", where + "/dive.rs"],
                                                       stderr=subprocess.DEVNULL):
        tap.skip("Rust", "no working rustc")
        return
    judge(tap, "Rust's panics", where, record(where, where + "/rusty", hz=OFTEN), 0.9, complete=0.95)


tap = e2e.Tap()
with e2e.folder() as where:
    hard(tap, where)
    others(tap, where)
tap.done()
