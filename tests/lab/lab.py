#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: CPythons of many kinds, made from the machine's own package sources, kept outside the tree and used again.

    lab.py [NAME...]     makes what is missing of the lab, or of the entries named; speaks TAP: an entry whose source
                         cannot be had is skipped, one that cannot be made of it has failed
    lab.py --list        the entries, and whether each is made

The lab is $STRATA_LAB, else /var/tmp/strata-lab. It holds
    SUITE/               Debian's Pythons of that release, with what they need: a tree to chroot into
    builds/NAME/         one built from a Debian source package: obj/python, its stripped twin obj/python-stripped, and
                         build.json, written last, which says so
    src/, deps/          the unpacked sources; libraries for musl
What was interrupted is made again from that entry's beginning. Needs root (apt, chroot), 5 GB, and for each build some
minutes of two processors.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../kernels"))
sys.dont_write_bytecode = True
from packages import Apt, Unavailable  # noqa: E402

LAB = os.environ.get("STRATA_LAB") or "/var/tmp/strata-lab"
JOBS = os.environ.get("LAB_JOBS", "2")

# Release: the packages of its tree.
ROOTS = {
    "bullseye": ["python3.9", "python3.9-dbg"],
    "bookworm": ["python3.11", "python3.11-dbg", "uwsgi", "uwsgi-plugin-python3"],
    "trixie": ["python3.13", "python3.13-dbg"],
    "forky": ["python3.14", "python3.14-dbg", "python3.15"],
    "sid": ["python3.13", "python3.14", "python3.15", "python3.15-dbg", "libpython3.15"],
}

PLAIN = {"OPT": "-DNDEBUG -O3 -Wall"}  # no -g: half the time; the symbols that are the truth are there all the same
# Name: release and package of the source; the compiler; arguments of configure; its environment. `of`: a copy of another
# build, changed by the function `change`.
BUILDS = {
    "3.13-gcc": {"source": ("trixie", "python3.13")},
    "3.13-os": {"source": ("trixie", "python3.13"), "env": {"OPT": "-DNDEBUG -Os -Wall"}},
    "3.13-cold": {"of": "3.13-gcc", "change": "make_cold"},
    "3.13-clang": {"source": ("trixie", "python3.13"), "cc": "clang-19"},
    "3.13-musl": {"source": ("trixie", "python3.13"), "before": "musl_libraries"},
    "3.13-nogil": {"source": ("trixie", "python3.13"), "configure": ["--disable-gil"]},
    "3.13-pydebug": {"source": ("trixie", "python3.13"), "configure": ["--with-pydebug"], "env": {"OPT": "-O1 -Wall"}},
    "3.14-tailcall": {"source": ("forky", "python3.14"), "cc": "clang-19", "configure": ["--with-tail-call-interp"]},
    "3.14-nogil": {"source": ("forky", "python3.14"), "configure": ["--disable-gil"]},
    "3.14-musl-os": {"source": ("forky", "python3.14"), "before": "musl_libraries", "env": {"OPT": "-DNDEBUG -Os -Wall"}},
    "3.14-nogil-tailcall": {"source": ("forky", "python3.14"), "cc": "clang-19",
                            "configure": ["--disable-gil", "--with-tail-call-interp"]},
    "3.14-clang": {"source": ("forky", "python3.14"), "cc": "clang-19"},
    "3.15-tailcall": {"source": ("sid", "python3.15"), "cc": "clang-19", "configure": ["--with-tail-call-interp"]},
    "3.15-nogil": {"source": ("sid", "python3.15"), "configure": ["--disable-gil"]},
    "3.15-clang": {"source": ("sid", "python3.15"), "cc": "clang-19"},
    "3.11-shared": {"source": ("bookworm", "python3.11"), "configure": ["--enable-shared"]},
}


class Failed(Exception):
    """Something could be had, and could not be made into an entry."""


def run(command, cwd=None, env=None, log=None, **more):
    done = subprocess.run(command, cwd=cwd, env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL,
                          stdout=log or subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, **more)
    if done.returncode:
        tail = (done.stdout or "see %s" % (log.name if log else "?")).strip().split("\n")[-1]
        raise Failed("%s failed: %s" % (" ".join(command)[:120], tail))
    return done.stdout


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


class Sources(Apt):
    """packages.py's apt of one release, which also knows source packages and believes nothing to be installed."""

    def __init__(self, suite):
        super().__init__(os.path.join(LAB, "apt", suite), suite)
        listed = os.path.join(self.folder, "sources.list")
        with open(listed, encoding="utf-8") as file:
            line = file.readline()
        with open(listed, "a", encoding="utf-8") as file:
            file.write(line.replace("deb ", "deb-src ", 1))
        status = os.path.join(self.folder, "status")
        open(status, "w", encoding="utf-8").close()
        self.options += ["-oDir::State::status=" + status, "-oAPT::Install-Recommends=0", "-oDebug::NoLocking=1"]
        if not glob.glob(os.path.join(self.folder, "lists/*Sources*")):
            self.run("apt-get", "-q", "update")

    def fetch(self, address):
        path = os.path.join(self.folder, os.path.basename(address))
        self.run("/usr/lib/apt/apt-helper", "download-file", address, path)
        return path


def make_root(suite):
    """Unpacks the packages and what they depend on; nothing is configured, no maintainer's script runs."""
    root = fresh(os.path.join(LAB, suite + ".part"))
    apt = Sources(suite)
    shutil.rmtree(os.path.join(apt.folder, "archives"), ignore_errors=True)
    os.makedirs(os.path.join(apt.folder, "archives/partial"))
    apt.run("apt-get", "-q", "-y", "--download-only", "install", "base-files", "coreutils", *ROOTS[suite])
    for name in ("bin", "lib", "lib64", "sbin"):
        os.makedirs(os.path.join(root, "usr", name), exist_ok=True)
        os.symlink("usr/" + name, os.path.join(root, name))
    for package in sorted(glob.glob(os.path.join(apt.folder, "archives/*.deb"))):
        run(["sh", "-c", "dpkg-deb --fsys-tarfile '%s' | tar -x --keep-directory-symlink -C '%s'" % (package, root)])
        os.unlink(package)
    for name, device in (("null", (1, 3)), ("zero", (1, 5)), ("random", (1, 8)), ("urandom", (1, 9))):
        path = os.path.join(root, "dev", name)
        if not os.path.exists(path):
            os.mknod(path, 0o20666, os.makedev(*device))
            os.chmod(path, 0o666)
    for name in ("proc", "tmp", "dev/shm"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    run(["ldconfig", "-r", root])
    os.rename(root, os.path.join(LAB, suite))


def described(apt, package):
    """The description (.dsc) of a source package: the one that the index names. What apt fetches it has checked."""
    apt.run("apt-get", "-q", "source", "--download-only", package)
    return glob.glob(os.path.join(apt.folder, package + "_*.dsc"))[0]


def described_before(apt, package):
    """
    The same of the newest older one that is still there: an index can name what its server no longer has, or does not have
    yet. No index vouches for it; its maintainer's signature does.
    """
    apt.run("apt-get", "-q", "download", "debian-keyring")
    keys, = glob.glob(os.path.join(apt.folder, "debian-keyring_*.deb"))
    run(["dpkg", "-x", keys, os.path.join(apt.folder, "keys")])
    os.unlink(keys)
    named = apt.run("apt-get", "-q", "source", "--print-uris", package)
    place, last = re.search(r"'(\S+/%s_[\d.]+\.)(\d+)-\S+\.dsc'" % re.escape(package), named).groups()
    for patch in range(int(last) - 1, -1, -1):
        try:
            path = apt.fetch("%s%d-1.dsc" % (place, patch))
        except Unavailable:
            continue
        run(["gpgv", "-q", "--keyring", os.path.join(apt.folder, "keys/usr/share/keyrings/debian-keyring.gpg"), path])
        with open(path, encoding="utf-8") as file:
            files = re.search(r"^Files:\n((?: .*\n)+)", file.read(), re.M).group(1)
        for line in files.splitlines():
            apt.fetch(os.path.join(os.path.dirname(place), line.split()[2]))
        return path
    raise Unavailable("neither the %s that the index names is there, nor an older one" % package)


def source(suite, package):
    """The folder of an unpacked source package. Unavailable when it cannot be had."""
    folder = os.path.join(LAB, "src", package)
    if not os.path.isdir(folder):
        part = fresh(folder + ".part")
        apt = Sources(suite)
        try:
            path = described(apt, package)
        except Unavailable:
            path = described_before(apt, package)
        run(["dpkg-source", "-x", path, os.path.join(part, "tree")], cwd=part)
        for path in glob.glob(os.path.join(apt.folder, "*.dsc")) + glob.glob(os.path.join(apt.folder, "*.tar.*")):
            os.unlink(path)
        os.rename(part, folder)
    return os.path.join(folder, "tree")


def musl_libraries(log):
    """zlib and libffi for musl: what the modules need that the oracle's programs import."""
    prefix, kernel = os.path.join(LAB, "deps/musl"), os.path.join(LAB, "deps/kernel")
    os.makedirs(kernel, exist_ok=True)
    for name, path in (("linux", "/usr/include/linux"), ("asm-generic", "/usr/include/asm-generic"),
                       ("asm", "/usr/include/x86_64-linux-gnu/asm")):
        if not os.path.islink(os.path.join(kernel, name)):
            os.symlink(path, os.path.join(kernel, name))
    if not os.path.isdir(prefix):
        part = fresh(prefix + ".part")
        for package, arguments in (("zlib", ["--static"]), ("libffi", ["--disable-shared", "--disable-docs", "--disable-multi-os-directory"])):
            tree = fresh(os.path.join(LAB, "deps", package))
            shutil.copytree(source("bookworm", package), tree, symlinks=True, dirs_exist_ok=True)
            env = {"CC": "musl-gcc", "CFLAGS": "-O2 -fPIC -idirafter " + kernel, "CHOST": "x86_64-linux-musl"}
            run(["./configure", "--prefix=" + prefix] + arguments, cwd=tree, env=env, log=log)
            run(["make", "-j", JOBS, "install", "DESTDIR=" + part], cwd=tree, env=env, log=log)
        os.rename(part + prefix, prefix)
        shutil.rmtree(part)
    # CPython's configure asks the compiler for its platform, and musl-gcc says what the gcc behind it is for.
    compiler = os.path.join(LAB, "deps/musl-cc")
    with open(compiler, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n[ "$1" = --print-multiarch ] && echo x86_64-linux-musl && exit\nexec musl-gcc "$@"\n')
    os.chmod(compiler, 0o755)
    return {"CC": compiler, "PKG_CONFIG_LIBDIR": prefix + "/lib/pkgconfig", "CFLAGS": "-I%s/include -idirafter %s" % (prefix, kernel),
            "LIBFFI_CFLAGS": "-I%s/include" % prefix, "LIBFFI_LIBS": "-L%s/lib -lffi" % prefix}


def make_cold(folder, log):
    """
    The interpreter loop, compiled with a profile by which nearly all of it is cold: one run of Python code among so many that
    only ask for the version that what ran seldom counts as never executed (gcc's unlikely-bb-count-fraction).
    """
    obj = os.path.join(folder, "obj")
    profile = os.path.join(folder, "profile")
    makefile = os.path.join(obj, "Makefile")

    def build_loop(options, libraries=""):
        os.unlink(os.path.join(obj, "Python/ceval.o"))
        with open(makefile, encoding="utf-8") as file:
            text = re.sub(r"\n# lab\n.*", "", file.read(), flags=re.S)
        with open(makefile, "w", encoding="utf-8") as file:
            file.write("%s\n# lab\nPython/ceval.o: PY_CORE_CFLAGS += %s\nLIBS += %s\n" % (text, options, libraries))
        run(["make", "-s", "python"], cwd=obj, log=log)

    build_loop("-fprofile-generate -fprofile-update=single -fprofile-dir=%s" % profile, "-lgcov")
    shutil.rmtree(profile, ignore_errors=True)  # of the program that froze modules
    run(["./python", "-S", "-E", "-c", "sum(i for i in range(10**5))"], cwd=obj, log=log)
    run(["sh", "-c", "for i in $(seq 2000); do ./python --version; done >/dev/null"], cwd=obj, log=log)
    data, = glob.glob(profile + "/**/*ceval.gcda", recursive=True)
    build_loop("-fprofile-use=%s -Wno-missing-profile -Wno-coverage-mismatch" % data)


def build(name):
    recipe = BUILDS[name]
    folder = fresh(os.path.join(LAB, "builds", name))
    obj = os.path.join(folder, "obj")
    with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        if "of" in recipe:
            make(recipe["of"])
            shutil.copytree(os.path.join(LAB, "builds", recipe["of"], "obj"), obj, symlinks=True)
            globals()[recipe["change"]](folder, log)
        else:
            tree = source(*recipe["source"])
            os.makedirs(obj)
            env = dict(PLAIN, **recipe.get("env", {}), CC=recipe.get("cc", "gcc"))
            env.update(globals()[recipe["before"]](log) if "before" in recipe else {})
            arguments = recipe.get("configure", [])
            if "--enable-shared" in arguments:
                env["LDFLAGS"] = "-Wl,-rpath,%s" % obj
            run([tree + "/configure", "--quiet", "--without-ensurepip", "--disable-test-modules"] + arguments, cwd=obj,
                env=env, log=log)
            run(["nice", "-n", "10", "make", "-s", "-j", JOBS, "python", "sharedmods"], cwd=obj, log=log)
    run(["strip", "-o", os.path.join(obj, "python-stripped"), os.path.join(obj, "python")])
    said = run([os.path.join(obj, "python-stripped"), "-c", "import sys; print(sys.version)"]).strip()
    with open(os.path.join(folder, "build.json.part"), "w", encoding="utf-8") as file:
        json.dump({"name": name, "version": said, "program": obj + "/python", "stripped": obj + "/python-stripped",
                   "recipe": recipe}, file)
    os.rename(file.name, os.path.join(folder, "build.json"))


def made(name):
    return os.path.exists(os.path.join(LAB, name) if name in ROOTS else os.path.join(LAB, "builds", name, "build.json"))


def make(name):
    if not made(name):
        (make_root if name in ROOTS else build)(name)


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(ROOTS) + list(BUILDS)
    unknown = [name for name in names if name not in ROOTS and name not in BUILDS]
    if unknown:
        sys.exit("lab.py: no entry %s; there are: %s" % (unknown[0], " ".join(list(ROOTS) + list(BUILDS))))
    if "--list" in sys.argv:
        for name in names:
            print("%-14s %s" % (name, "made" if made(name) else "missing"))
        return 0
    failed = 0
    print("1..%d" % len(names), flush=True)
    for number, name in enumerate(names, 1):
        try:
            make(name)
            print("ok %d - %s" % (number, name), flush=True)
        except Unavailable as error:
            print("ok %d - %s # SKIP no source: %s" % (number, name, error), flush=True)
            print("%s is skipped, its source cannot be had: %s" % (name, error), file=sys.stderr, flush=True)
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print("not ok %d - %s\n# %s" % (number, name, error), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
