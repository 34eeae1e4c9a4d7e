#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Interpreters inside programs of other names: a C host with libpython in it, statically and dynamically, stripped and not;
one that carries its libpython, unpacks and removes it; the python program under another name; uwsgi, of the system or of
the lab's bookworm (STRATA_LAB). The loop of a stripped host is where its unstripped twin's symbols say; recorded, each stack
of the work is outer, a native frame or more, key. Needs root, gcc, and libpython's development files."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import e2e  # noqa: E402

STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
LOOP = re.compile(r"^_PyEval_EvalFrameDefault($|\.)|^_TAIL_CALL_")
PYTHON = re.compile(r"^(.+) \(.*:\d+\)$")
SECONDS, HZ = 1, 199

tap = e2e.Tap()


def run(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)


def inspect(target):
    done = run(STRATA, "inspect", "--json", "--no-cache", str(target))
    return json.loads(done.stdout) if done.returncode == 0 else {"problem": done.stderr}


def parts(file):
    return {(p["start"], p["end"]) for p in inspect(file).get("eval_loop", ())}


def symbols(file):
    """The loop's parts. A cold one of a few bytes is what the compiler left of code that is never reached: nothing jumps there."""
    found = set()
    for line in run("nm", "-S", file).stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tT" and LOOP.match(fields[3]) and int(fields[1], 16) > 8:
            found.add((int(fields[0], 16), int(fields[0], 16) + int(fields[1], 16)))
    return found


def judge(folded, stats):
    """(samples of the work, those whose stack is right, examples of others)."""
    right = all_ = 0
    others = []
    with open(folded, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = stack.split(";")
            python = [i for i, f in enumerate(frames) if PYTHON.match(f)]
            names = [frames[i].split(" ")[0] for i in python]
            if "outer" not in names and "key" not in names:
                continue
            all_ += int(count)
            if names[-1:] == ["outer"] or (names[-2:] == ["outer", "key"] and python[-1] - python[-2] > 1):
                right += int(count)
            else:
                others.append(line.rstrip())
    return all_, right, others


def check_record(label, folder, command, target=None):
    folded, stats = os.path.join(folder, "out.folded"), os.path.join(folder, "out.json")
    options = ["-F", HZ, "-o", folded, "--stats", stats]
    done = e2e.record_used(target, SECONDS, *options) if target else e2e.record(*(options + ["--"] + command))
    if not tap.ok(done.returncode == 0, "%s: recorded" % label, done.stderr):
        return
    with open(stats, encoding="utf-8") as file:
        quality = json.load(file)
    samples, right, others = judge(folded, quality)
    tap.ok(samples >= e2e.due(SECONDS, HZ), "  %d samples of the work" % samples, quality)
    tap.ok(right == samples, "  outer, native frames, key: in all of them", *others[:4])
    # How long it takes until the kernel is told of the interpreter is a matter of the machine's load.
    late = e2e.early(quality)
    tap.ok(quality["complete"] + late >= 0.99 * quality["samples"] and late <= 0.1 * quality["samples"],
           "  %d of %d complete, %d late" % (quality["complete"], quality["samples"], late), quality["lost"])


def build(folder):
    """[(label, unstripped program or None, program)]; what cannot be linked is skipped."""
    # The system's, whose development files it is: this may run under another python.
    config = json.loads(run("/usr/bin/python3", "-I", "-c", "import json, sysconfig; print(json.dumps(sysconfig.get_config_vars()))"
                            ).stdout)
    archive = os.path.join(config["LIBPL"], config["LIBRARY"])
    library = os.path.join(config["LIBDIR"], config["INSTSONAME"])
    more = config["LIBS"].split() + config["SYSLIBS"].split() + config["MODLIBS"].split()
    host = os.path.join(HERE, "host.c")
    made = []

    def link(label, name, *arguments):
        program = os.path.join(folder, name + "-twin")
        done = run("gcc", "-O1", host, "-o", program, *arguments)
        if done.returncode:
            tap.skip(label, done.stderr.strip().split("\n")[-1])
            return
        stripped = os.path.join(folder, name)
        run("strip", "-o", stripped, program)
        made.append((label, program, stripped))

    movable = archive.replace(".a", "-pic.a")
    movable = movable if os.path.exists(movable) else archive
    if os.path.exists(archive):
        link("a static host, stripped", "gunicorn", movable, *more)
        link("the same with fixed addresses", "daemon", "-no-pie", archive, *more)
        link("the same that exports its symbols", "blender", "-rdynamic", movable, *more)
    else:
        tap.skip(archive, "not here")
    if os.path.exists(library):
        link("a dynamic host, stripped", "httpd", library)
        link("a bundle", "bundle", "-DBUNDLED", "-ldl")
        if made and made[-1][0] == "a bundle":
            with open(library, "rb") as file, open(made[-1][2], "ab") as out:
                image = file.read()
                out.write(image + struct.pack("<q", len(image)))
    else:
        tap.skip(library, "not here")
    copy = os.path.join(folder, "java")
    shutil.copy("/usr/bin/python3", copy)
    made.append(("python under another name", None, copy))
    return made


def check_uwsgi(folder):
    program = os.path.join(HERE, "program.py")
    roots = [("", path) for path in glob.glob("/usr/bin/uwsgi-core")]
    roots += [(root, path) for root in glob.glob(os.environ.get("STRATA_LAB", "/-") + "/*")
              for path in glob.glob(root + "/usr/bin/uwsgi-core")]
    for root, path in roots:
        plugin = glob.glob(root + "/usr/lib/uwsgi/plugins/python3*_plugin.so")
        if plugin:
            break
    else:
        tap.skip("uwsgi with a Python plugin", "neither here nor in STRATA_LAB")
        return
    inside = tempfile.mkdtemp(dir=root + "/tmp")
    shutil.copy(program, inside)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = (["chroot", root] if root else []) + [
        path[len(root):], "--plugin", os.path.basename(plugin[0]).replace("_plugin.so", ""), "--http-socket",
        "127.0.0.1:%d" % port, "--wsgi-file", inside[len(root):] + "/program.py", "--master", "--processes", "1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    client = None
    try:
        client = subprocess.Popen([sys.executable, "-c", CLIENT % port], stdout=subprocess.PIPE)
        if not tap.ok(client.stdout.readline() == b"ready\n", "uwsgi%s answers" % (" in " + root if root else "")):
            return
        workers = run("pgrep", "-P", str(server.pid)).stdout.split()
        tap.ok(len(workers) == 1, "  one worker: %s" % workers)
        found = inspect(workers[0])
        tap.ok(found.get("interpreter", {}).get("kind") == "cpython" and found["thread_state"]["verified"],
               "  inspected: %s" % os.path.basename(found.get("file", "?")), found)
        check_record("  uwsgi", folder, None, int(workers[0]))
    finally:
        if client:
            client.kill()
            client.wait()
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        shutil.rmtree(inside, ignore_errors=True)


CLIENT = """
import time, urllib.request
for attempt in range(200):
    try:
        urllib.request.urlopen("http://127.0.0.1:%d/", timeout=20).read()
        if not attempt or "said" not in globals():
            said = True
            print("ready", flush=True)
    except OSError:
        time.sleep(0.1)
"""


def main():
    program = os.path.join(HERE, "program.py")
    with tempfile.TemporaryDirectory(prefix="embed-") as folder:
        os.chmod(folder, 0o755)
        for label, twin, path in build(folder):
            if twin and symbols(twin):  # of the others the loop is in a libpython
                found = inspect(path)
                tap.ok({p for p in parts(path) if p[1] - p[0] > 8} == symbols(twin), "%s: the loop is where its twin's symbols say" % label,
                       found.get("eval_loop"), symbols(twin), found.get("problems"))
                tap.ok(found["thread_state"]["source"] is not None, "  thread state: %s" % found["thread_state"]["source"])
            check_record(label, folder, [path, "-I", program, SECONDS])
        check_uwsgi(folder)
    tap.done()


main()
