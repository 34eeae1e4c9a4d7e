#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What another user lays under the name of an output, in a directory where everybody may write: it leads root's files nowhere,
and gets nothing of them. Where the directory is not shared, links and old files are as ever."""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402

OTHER = 65534
TRACE = "begin { printf(\"traced\\n\"); exit(); }"


def as_other(*command):
    subprocess.run(["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", "--"] + list(command), check=True)


def trace(path):
    return subprocess.run([e2e.STRATA, "trace", "-o", path, "-e", TRACE], stdin=subprocess.DEVNULL, capture_output=True,
                          universal_newlines=True, timeout=e2e.PATIENCE_S)


def runs(path):
    """Each way to write to `path`: words and the finished process."""
    yield "record -o", e2e.record("-o", path, "--", "true")
    yield "record --stats", e2e.record("-o", "/dev/null", "--stats", path, "--", "true")
    yield "trace -o", trace(path)


def as_tool(folder, tool, *arguments):
    """strata under the name of another tool."""
    link = folder + "/" + tool
    if not os.path.exists(link):
        os.symlink(os.path.abspath(e2e.STRATA), link)
    return subprocess.run([link] + list(arguments), stdin=subprocess.DEVNULL, capture_output=True, universal_newlines=True, timeout=e2e.PATIENCE_S)


def tool_runs(tools, path):
    """The same of other tools' dialects: words, the finished process, and the status when that is refused."""
    yield "dtrace -o", as_tool(tools, "dtrace", "-qn", "BEGIN { printf(\"traced\"); exit(0); }", "-o", path), 1
    yield "freopen()", as_tool(tools, "dtrace", "-wqn", "BEGIN { freopen(\"%s\"); printf(\"traced\"); freopen(\"\"); printf(\"back\"); exit(0); }" % path), 0
    yield "stap -o", as_tool(tools, "stap", "-e", "probe begin { print(\"traced\") exit() }", "-o", path), 1


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def unchanged(path, before, secret):
    after = os.lstat(path)
    return (before.st_ino, before.st_size, before.st_uid) == (after.st_ino, after.st_size, after.st_uid) and \
        content(secret) == "root's" and not os.path.exists(secret + ".new")


def refused(tap, words, shared, secret, lay):
    """lay(path) is done by the other user; nothing that strata does then changes `secret` or gives him anything."""
    path = shared + "/strata.folded"
    lay(path)
    before = os.lstat(path)
    for way, done in runs(path):
        tap.ok(done.returncode == 1 and len(done.stderr.strip().split("\n")) == 1 and path in done.stderr,
               "%s, %s: refused in one line" % (words, way), done.returncode, done.stderr)
        tap.ok(unchanged(path, before, secret), "%s, %s: nothing was written" % (words, way), os.lstat(path))
    for way, done, status in tool_runs(os.path.dirname(shared) + "/own", path):
        tap.ok(done.returncode == status and "Permission denied" in done.stderr and unchanged(path, before, secret),
               "%s, %s: refused, and nothing was written" % (words, way), done.returncode, done.stdout, done.stderr)
    tap.equal(os.listdir(shared), ["strata.folded"], "%s: nothing is left" % words)
    os.unlink(path)


def allowed(tap, words, path, target):
    for way, done in runs(path):
        tap.ok(done.returncode == 0, "%s, %s: written" % (words, way), done.stderr)
        found = os.stat(target)
        tap.ok(content(target) != "old" and found.st_uid == 0 and stat.S_ISREG(found.st_mode) and
               os.path.islink(path) == (path != target), "%s, %s: the file is root's, and stands where it was meant" % (words, way), found)
        with open(target, "w", encoding="utf-8") as file:
            file.write("old")


def allowed_tools(tap, own):
    for way, done, _ in tool_runs(own, own + "/new"):
        tap.ok(done.returncode == 0 and not done.stderr and content(own + "/new").startswith("traced"), "%s: written" % way, done.stderr)
        if way == "freopen()":
            tap.ok(done.stdout.strip() == "back" and "back" not in content(own + "/new"), "freopen(\"\"): the output is the first again",
                   done.stdout)
        os.unlink(own + "/new")
    with open(own + "/old", "w", encoding="utf-8") as file:
        file.write("old\n")
    done = as_tool(own, "dtrace", "-qn", "BEGIN { printf(\"traced\"); exit(0); }", "-o", own + "/old")
    tap.ok(done.returncode == 0 and content(own + "/old").startswith("old\ntraced"), "dtrace -o appends", done.stderr)


def default_name(tap, shared, secret):
    as_other("ln", "-s", secret, shared + "/strata.html")
    done = e2e.record("-d", "0.1", cwd=shared)
    tap.ok(done.returncode == 1 and "strata.html" in done.stderr and content(secret) == "root's", "the default name", done.stderr)
    os.unlink(shared + "/strata.html")


def laid_meanwhile(tap, shared, secret):
    """After the outputs were checked: the command lays it."""
    path = shared + "/strata.folded"
    script = "setpriv --reuid %d --regid %d --clear-groups -- ln -s %s %s" % (OTHER, OTHER, secret, path)
    done = e2e.record("-o", path, "--", "sh", "-c", script)
    tap.ok(done.returncode == 1 and content(secret) == "root's" and os.path.islink(path), "a link laid while strata records", done.stderr)
    kept = [word for word in done.stderr.split() if word.startswith("/tmp/strata-") and not word.startswith(os.path.dirname(shared))]
    tap.ok(len(kept) == 1 and os.stat(kept[0]).st_uid == 0 and os.stat(kept[0]).st_mode & 0o777 == 0o600, "  the result is kept elsewhere", done.stderr)
    for name in kept:
        os.unlink(name)
    os.unlink(path)


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        os.chmod(where, 0o755)
        shared, own, secret = where + "/shared", where + "/own", where + "/secret"
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        os.mkdir(own)
        with open(secret, "w", encoding="utf-8") as file:
            file.write("root's")
        refused(tap, "a link to root's file", shared, secret, lambda path: as_other("ln", "-s", secret, path))
        refused(tap, "a link to nothing", shared, secret, lambda path: as_other("ln", "-s", secret + ".new", path))
        refused(tap, "a link to the other's own file", shared, secret, lambda path: as_other("ln", "-s", "/proc/self/exe", path))
        refused(tap, "the other's file", shared, secret, lambda path: as_other("sh", "-c", "echo his >" + path))
        refused(tap, "the other's FIFO", shared, secret, lambda path: as_other("mkfifo", path))
        allowed_tools(tap, own)
        default_name(tap, shared, secret)
        laid_meanwhile(tap, shared, secret)
        allowed(tap, "a new file, then root's own", shared + "/new.folded", shared + "/new.folded")
        os.symlink("../own/target.folded", shared + "/link.folded")
        with open(own + "/target.folded", "w", encoding="utf-8"):
            pass
        allowed(tap, "root's own link", shared + "/link.folded", own + "/target.folded")
        with open(own + "/his", "w", encoding="utf-8"):
            pass
        os.chown(own + "/his", OTHER, OTHER)
        done = e2e.record("-o", own + "/his", "--", "true")
        tap.equal(done.returncode, 2, "a name without a known suffix is wrong usage")
        os.rename(own + "/his", own + "/his.folded")
        done = e2e.record("-o", own + "/his.folded", "--", "true")
        tap.ok(done.returncode == 0 and os.stat(own + "/his.folded").st_uid == OTHER,
               "in a directory that is not shared a file keeps its owner", done.stderr)
    tap.done()


main()
