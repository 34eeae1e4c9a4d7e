#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""inspect: what `strata inspect` says of every interpreter at hand, compared with what others say: the interpreter itself
(version), nm (the loop's symbols, also from separate debug files), readelf (markers, build id); of running processes with three
threads; with and without the cache. How long it takes is printed, not judged."""
import collections
import glob
import json
import os
import pty
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/..")
from tap import Tap  # noqa: E402

STRATA = os.environ.get("STRATA", os.path.join(HERE, "../../build/strata"))
LAYERS = ("interpreter_ms", "eval_loop_ms", "thread_state_ms")
KEYS = {
    "interpreter": {"kind", "version", "build_id", "free_threaded", "tail_call"},
    "thread_state": {"source", "verified", "tried"},
    "offsets": {"source", "known"},
    "unwind": {"rows", "bytes", "text_covered", "text_derived", "derived_functions", "refused_functions"},
    "symbols": {"source"},
}
VERSION = """import sys
print("%d.%d.%d" % sys.version_info[:3], int(not getattr(sys, "_is_gil_enabled", lambda: True)()))"""
THREADS = """import sys, threading, time
def busy():
    while True: sum(range(1000))
def idle():
    while True: time.sleep(1)
for f in (busy, idle): threading.Thread(target=f, daemon=True).start()
print("ready"); sys.stdout.flush()
time.sleep(600)"""
LOOP = re.compile(r"^_PyEval_EvalFrameDefault($|\.)|^_TAIL_CALL_")

tap = Tap()


def run(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)


def inspect(target, *options):
    done = run(STRATA, "inspect", "--json", *options, str(target))
    if done.returncode:
        raise SystemExit(f"strata inspect {target}: {done.stderr}")
    return json.loads(done.stdout)


def facts(found):
    """What must not depend on the cache."""
    return {key: value for key, value in found.items() if key != "timings"}


def notes(file):
    """Build id and markers by readelf."""
    text = run("readelf", "-nW", file).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", text)
    markers = collections.Counter(re.findall(r"Provider: (\S+)\s+Name: (\S+)", text))
    return build_id and build_id[1], [{"provider": p, "name": n, "sites": c} for (p, n), c in sorted(markers.items())]


def loop_symbols(root, file, build_id):
    """[(start, end, part)] by nm: of the file, or of its debug file, or of the dynamic symbols."""
    debug = f"{root.rstrip('/')}/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug" if build_id else ""
    for argv in (["nm", "-S", file], ["nm", "-S", debug], ["nm", "-DS", file]):
        found = set()
        for line in run(*argv).stdout.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tT" and LOOP.match(fields[3]):
                start, size = int(fields[0], 16), int(fields[1], 16)
                found.add((start, start + size, "cold" if ".cold" in fields[3] else "hot"))
        if found:
            return found, argv[1] != "-DS"
    return set(), False


def check_loop(found, root, file):
    symbols, local = loop_symbols(root, file, found["interpreter"]["build_id"])
    parts = {(p["start"], p["end"], p["part"]) for p in found["eval_loop"]}
    tap.ok(symbols and symbols <= parts, f"  each symbol of the loop is a part: {len(symbols)}", symbols, parts)
    if local:
        tap.ok(parts <= symbols, "  and each part has its symbol", sorted(parts - symbols))


def layers_ms(found):
    return sum(found["timings"][layer] for layer in LAYERS)


def check_cache(file, cache):
    plain = inspect(file, "--no-cache")
    times = [layers_ms(inspect(file, "--no-cache")) for _ in range(5)]
    print(f"# found in {min(times):.2f} ms")
    kept = [inspect(file) for _ in range(6)]
    times = [layers_ms(found) for found in kept[1:]]
    tap.ok(all(found["timings"]["cached"] for found in kept[1:]), "  is cached")
    print(f"# cached: in {min(times):.2f} ms")
    tap.ok(all(facts(found) == facts(plain) for found in kept), "  the cache changes nothing")
    # A stripped twin has the same build id, but says other things.
    twin = os.path.join(cache, "twin")
    run("strip", "-o", twin, file)
    tap.ok(facts(inspect(twin)) == facts(inspect(twin, "--no-cache")), "  nor of a stripped twin")
    tap.ok(facts(inspect(file)) == facts(plain), "  nor after it")
    os.unlink(twin)


def check_process(root, program, file):
    argv = [] if root == "/" else ["chroot", root]
    child = subprocess.Popen(argv + [program, "-I", "-c", THREADS], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        found = inspect(child.pid)
        state = found["thread_state"]
        tap.ok(found["pid"] == child.pid and os.path.basename(found["file"]) == os.path.basename(file),
               f"  a process of it: {found['file']}")
        tap.ok(state["verified"], f"  {state['source']}: verified", state)
        tap.ok(state["tried"][-1]["source"] == "thread list" and
               not any("disagree" in tried["result"] for tried in state["tried"]), "  no way disagrees", state)
        tap.ok(any("3 thread states, 3 of threads" in tried["result"] for tried in state["tried"]),
               "  its three threads", state["tried"])
        tap.ok(facts(found)["eval_loop"] == facts(inspect(file))["eval_loop"], "  the same loop as in the file")
    finally:
        child.kill()
        child.wait()


def check_interpreter(root, program, file, cache):
    argv = [] if root == "/" else ["chroot", root]
    version, free_threaded = run(*argv, program, "-I", "-c", VERSION).stdout.split()
    found = inspect(file)
    interpreter = found["interpreter"]
    build_id, markers = notes(file)
    tap.ok(interpreter["kind"] == "cpython" and interpreter["version"] == version, f"{file}: {version}", interpreter)
    tap.ok(interpreter["free_threaded"] == bool(int(free_threaded)), "  free-threaded or not", interpreter)
    tap.ok(all(set(found[key]) == keys for key, keys in KEYS.items()) and
           all(set(part) == {"start", "end", "part", "evidence"} and part["part"] in ("hot", "cold")
               for part in found["eval_loop"]) and
           all(set(tried) == {"source", "result"} for tried in found["thread_state"]["tried"]), "  the keys", found)
    tap.ok(interpreter["build_id"] == build_id, f"  build id {build_id}", interpreter)
    tap.ok(found["markers"] == markers, f"  {len(markers)} markers", found["markers"], markers)
    listed = {line.rpartition(":")[2] for line in run(STRATA, "list", f"python:{file}:*").stdout.splitlines()}
    sourced = {probe["name"].rpartition(":")[2] for probe in found["probes"] if probe["source"]}
    tap.ok(listed and listed == sourced, f"  {len(listed)} probes have a source: those that strata list has", listed, sourced)
    tap.ok(0.9 < found["unwind"]["text_covered"] <= 1 and found["unwind"]["rows"] > 10000,
           f"  {100 * found['unwind']['text_covered']:.1f} % of the text can be unwound", found["unwind"])
    tap.ok(found["offsets"]["source"] == ("_Py_DebugOffsets" if tuple(map(int, version.split("."))) >= (3, 13)
                                          else "table " + version.rpartition(".")[0]), "  offsets", found["offsets"])
    tap.ok(found["thread_state"]["source"] and not found["thread_state"]["verified"],
           "  a file's thread state is found, not verified", found["thread_state"])
    check_loop(found, root, file)
    check_cache(file, cache)
    check_process(root, program, file)


def is_to_be_proved(found, _):
    """A version that strata does not know: read by its own offsets, which a process has to bear out."""
    return found["interpreter"]["version"] == "3.99.0" and found["offsets"] == {"source": "_Py_DebugOffsets", "known": False}


def is_refused(found, reason):
    return (found["interpreter"]["kind"] == "cpython" and found["interpreter"]["version"] is None and found["eval_loop"] == [] and
            found["thread_state"]["source"] is None and any(reason in problem for problem in found["problems"]))


def check_damaged(interpreters, work):
    """What cannot be walked has a reason, and no facts; what has to be proved is no fact yet."""
    for root, program, file in interpreters:
        with open(file, "rb") as original:
            image = original.read()
        at = image.rfind(b"xdebugpy")
        if at < 0:
            continue
        path = os.path.join(work, "damaged")
        for name, offset, bytes_, judge, reason in (
                ("a version to come", at + 8, b"\xf0\x00\x63\x03", is_to_be_proved, "the version is not known"),
                ("offsets that cannot be", at + 48, b"\xff" * 64, is_refused, "impossible values")):
            with open(path, "wb") as copy:
                copy.write(image[:offset] + bytes_ + image[offset + len(bytes_):])
            for options in ((), ("--no-cache",)):
                found = inspect(path, *options)
                tap.ok(judge(found, reason), f"{file} with {name}: {found['problems']}", found)
            text = run(STRATA, "inspect", path)
            tap.ok(text.returncode == 0 and reason in text.stdout, "  and in words", text)
        with open(path, "wb") as copy:
            copy.write(image[:len(image) // 3])
        done = run(STRATA, "inspect", path)
        tap.ok(done.returncode in (0, 1), "  cut off", done)
        os.unlink(path)
        return


def check_version_to_come():
    """A real interpreter that is newer than what strata knows: Debian's, in a tree of the lab."""
    for file in glob.glob(os.environ.get("STRATA_LAB", "/-") + "/*/usr/bin/python3.1[5-9]"):
        found = inspect(file)
        tap.ok(found["interpreter"]["kind"] == "cpython" and found["eval_loop"] == [] and
               found["thread_state"]["source"] is None and
               any("is not known to this version of strata" in problem for problem in found["problems"]),
               f"{file}: {found['problems']}", found)


def check_derived():
    """musl's libc has no unwind tables: what its machine code tells is kept, and the same the second time."""
    file = "/usr/lib/x86_64-linux-musl/libc.so"
    if not os.path.exists(file):
        tap.skip(f"{file}: its machine code", "musl is not installed")
        return
    plain, kept = inspect(file, "--no-cache"), [inspect(file) for _ in range(4)]
    tap.ok(plain["unwind"]["derived_functions"] > 1000 and not plain["timings"]["derived_cached"] and
           [found["timings"]["derived_cached"] for found in kept] == [False, True, True, True] and
           all(facts(found) == facts(plain) for found in kept), f"{file}: its machine code is read once", plain, kept[-1])
    print("# found in %.2f ms, cached: in %.2f ms" % (kept[0]["timings"]["analysis_ms"],
                                                      min(found["timings"]["analysis_ms"] for found in kept[1:])))


def check_others(work):
    for file in ["/bin/sh"] + glob.glob("/usr/lib/x86_64-linux-gnu/libstdc++.so.6") + [sys.executable + "-missing"]:
        if not os.path.exists(file):
            continue
        found = inspect(file)
        build_id, markers = notes(file)
        tap.ok(found["interpreter"] == {"kind": None, "version": None, "build_id": build_id, "free_threaded": False,
                                        "tail_call": False}, f"{file} is no interpreter", found["interpreter"])
        tap.ok(found["eval_loop"] == [] and found["thread_state"] == {"source": None, "verified": False, "tried": []} and
               found["offsets"] == {"source": None}, "  and has none of its layers", found)
        tap.ok(found["markers"] == markers, f"  {len(markers)} markers", found["markers"], markers)
        tap.ok(found["unwind"]["text_covered"] > 0.9, "  unwinding")
    child = subprocess.Popen(["sleep", "600"])
    found = inspect(child.pid)
    tap.ok(found["interpreter"]["kind"] is None and os.path.basename(found["file"]) in ("sleep", "coreutils"),
           f"a process without an interpreter: {found['file']}")
    child.kill()
    child.wait()
    path = os.path.join(work, "12345678")
    os.symlink("/bin/sh", path)
    done = run(os.path.abspath(STRATA), "inspect", "./12345678", cwd=work)
    tap.ok(done.returncode == 0 and "\033" not in done.stdout and max(map(len, done.stdout.splitlines())) < 200,
           "a file whose name is a number; no colour in a pipe", done)


def terminal(env):
    """The report on a terminal."""
    pid, fd = pty.fork()
    if not pid:
        os.execve(STRATA, [STRATA, "inspect", "/bin/sh"], dict(os.environ, **env))
    text = b""
    try:
        while True:
            more = os.read(fd, 4096)
            if not more:
                break
            text += more
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    return text


def main():
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        listed = [line.split("\t") for line in run(os.path.join(HERE, "../python/interpreters")).stdout.splitlines()]
        for root, program, file in listed:
            check_interpreter(root, program, file, work)
        check_damaged(listed, work)
        check_version_to_come()
        tap.ok(bool(listed), f"{len(listed)} interpreters")
        check_derived()
        check_others(work)
        os.environ.pop("NO_COLOR", None)
        tap.ok(b"\033[" in terminal({}), "colour on a terminal")
        tap.ok(b"\033[" not in terminal({"NO_COLOR": "1"}), "but not with NO_COLOR")
    tap.done()


main()
