#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernels of other releases, through the machine's own package sources with another suite's name.

    packages.py [SUITE...]      prints SUITE, RELEASE and the path of each kernel, fetched when it is not in the cache

The cache lies outside the tree: $STRATA_KERNELS, else ${XDG_CACHE_HOME:-~/.cache}/strata/kernels. A kernel that is there
is taken as it is; remove the folder to get the newest.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "newest": "sid"}
METAPACKAGE = "linux-image-cloud-amd64"  # virtual machines' drivers only: a third of the size


class Unavailable(Exception):
    """A kernel cannot be had; the words say why."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("STRATA_KERNELS") or os.path.join(base, "strata/kernels")


def own_release():
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r'^VERSION_CODENAME="?(\w+)', file.read(), re.M)
    return found.group(1) if found else "-"


def own_source():
    """(options, address) of the package source of the system's own release."""
    release = own_release()
    for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
        with open(path, encoding="utf-8") as file:
            for stanza in re.split(r"\n\s*\n", file.read()):
                fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.M))
                if release in fields.get("Suites", "").split() and fields.get("URIs"):
                    key = fields.get("Signed-By", "")
                    return "[signed-by=%s]" % key if key.startswith("/") else "", fields["URIs"].split()[0]
    for path in ["/etc/apt/sources.list"] + glob.glob("/etc/apt/sources.list.d/*.list"):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = re.search(r"^deb\s+(\[.*?\])?\s*(\S+)\s+%s\s" % release, file.read(), re.M)
            if found:
                return found.group(1) or "", found.group(2)
    raise Unavailable("no package source of this system's release (%s) was found" % release)


class Apt:
    """apt with a private configuration: one suite and machine, its own lists and archives; the system's stay untouched."""

    def __init__(self, folder, suite, machine="amd64"):
        self.folder = folder
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        options, address = own_source()
        with open(os.path.join(folder, "sources.list"), "w", encoding="utf-8") as file:
            file.write("deb %s %s %s main\n" % (options, address, suite))
        self.options = ["-oDir::Etc::sourcelist=%s/sources.list" % folder, "-oDir::Etc::sourceparts=-",
                        "-oDir::Etc::preferences=-", "-oDir::Etc::preferencesparts=-", "-oDir::State::Lists=%s/lists" % folder,
                        "-oDir::Cache=%s" % folder, "-oAPT::Sandbox::User=root", "-oAcquire::Languages=none",
                        "-oAPT::Architecture=" + machine, "-oAPT::Get::List-Cleanup=0"]

    def run(self, *command):
        done = subprocess.run([command[0]] + self.options + list(command[1:]), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, cwd=self.folder, timeout=300)
        if done.returncode:
            raise Unavailable("%s failed: %s" % (" ".join(command), done.stderr.strip().split("\n")[-1]))
        return done.stdout


def images(folder):
    found = glob.glob(os.path.join(folder, "**/vmlinuz*"), recursive=True)
    return sorted(path for path in found if os.path.isfile(path))


def depends(apt, package, wanted):
    found = re.search(r"Depends: (%s\S*)" % wanted, apt.run("apt-cache", "depends", package))
    if not found:
        raise Unavailable("%s names no %s" % (package, wanted))
    return found.group(1)


def unpack(apt, package):
    """Takes the kernel out of a package, if there is one in it."""
    apt.run("apt-get", "-q", "download", package)
    archive, = glob.glob(os.path.join(apt.folder, "*.deb"))
    subprocess.run("dpkg-deb --fsys-tarfile '%s' | tar -x --wildcards '*/vmlinuz*'" % archive, shell=True, cwd=apt.folder,
                   stderr=subprocess.DEVNULL, check=False)
    os.unlink(archive)


def download(folder, suite):
    apt = Apt(folder, suite)
    apt.run("apt-get", "-q", "update")
    package = depends(apt, METAPACKAGE, "linux-image-[0-9]")
    unpack(apt, package)
    if not images(folder):  # newer releases have it in a package of its own
        unpack(apt, depends(apt, package, "linux-binary-"))
    for name in ("lists", "archives"):
        shutil.rmtree(os.path.join(folder, name))


def kernel(suite):
    """The path of a suite's kernel image."""
    folder = os.path.join(cache(), suite)
    if not images(folder):
        fresh = "%s.%d" % (folder, os.getpid())  # another run may be fetching it too
        try:
            os.makedirs(fresh)
            download(fresh, suite)
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(fresh, folder)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise Unavailable("the kernel of %s cannot be fetched: %s" % (suite, error)) from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    if not images(folder):
        raise Unavailable("the package of %s holds no kernel" % suite)
    return images(folder)[-1]


def main():
    for suite in sys.argv[1:] or SUITES.values():
        try:
            path = kernel(suite)
            print(suite, os.path.basename(path).replace("vmlinuz-", ""), path)
        except Unavailable as error:
            print("%s: %s" % (suite, error), file=sys.stderr)


if __name__ == "__main__":
    main()
