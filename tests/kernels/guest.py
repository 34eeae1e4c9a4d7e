# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine of one kernel and an initramfs that holds strata, a Python and the programs to record."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import go  # noqa: E402
from tap import LONG  # noqa: E402

QEMU = "qemu-system-x86_64"
BUSYBOX = "/bin/busybox"
PYTHON = os.path.realpath("/usr/bin/python3")
# With ERMS the kernel clears and copies memory byte by byte, "rep stosb" and "rep movsb", which takes the emulator eight times as long
# as words do: a quarter of all that a boot takes.
# QEMU 7.2 emulates cmpxchg16b with garbage in EFLAGS now and then: of 32 boots of 6.12 with it, without strata, 5 oopsed
# with such flags; of 24 without it none.
CPU = "max,-cx16,-erms"
# The kernel takes memory in an interrupt only with cmpxchg16b (mm/slub.c, kmalloc_nolock()), and so since 7.2 for task work.
CPU_OF_TASK_WORK = "max,-erms"
MEMORY_MIB = 1500
STILL_S = 300  # no boot and no run takes that: 3 to 10 s, on a busy machine many times as much

# One of 12 boots of 7.2 stood still under emulation at its timers, before /init; see also emulator_fault(). Then it is tried
# again, and told.
BOOT_S = 40
ATTEMPTS = 3
INIT = "Run /init as init process"
UNDER_WAY = " under way: "
STILL = " still" + UNDER_WAY  # for a minute or two, and what it does follows

# What a kernel says when something is wrong with it, and the lines after that which tell nothing to people.
COMPLAINT = re.compile(r"\b(WARNING|BUG|Oops|Kernel panic|self-detected stall|detected stalls|blocked for more than)\b.*")
NOISE = re.compile(r"^(Code|Modules linked in|R\w\w|[C-G]S|CR\d|DR\d|PKRU):|^ <")


def missing():
    """What the machine lacks for a guest, as words; empty when nothing."""
    lacks = [name for name in (QEMU, "cpio", "gcc") if not shutil.which(name)]
    if not os.path.exists(BUSYBOX) or b"not a dynamic" not in subprocess.run(["ldd", BUSYBOX], stderr=subprocess.STDOUT,
                                                                             stdout=subprocess.PIPE, check=False).stdout:
        lacks.append("busybox-static")
    return ", ".join(lacks)


def has_go():
    return shutil.which("go") is not None


def copy(root, path, target=None):
    """A file, and for a program the libraries that it needs, to the same place below `root`."""
    target = root + (target or path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(path, target)
    listed = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    for library in re.findall(r"(/[^ ]+\.so[^ ]*)", listed):
        if not os.path.exists(root + library):
            os.makedirs(root + os.path.dirname(library), exist_ok=True)
            shutil.copy2(library, root + library)


def loaded_libraries():
    """What strata is not linked with and loads when it needs it (base/disassembler.h)."""
    listed = subprocess.check_output(["ldconfig", "-p"], universal_newlines=True)
    return re.findall(r"=> (/[^ ]+/libcapstone\.so\.[0-9]+)$", listed, re.MULTILINE)


def python_modules():
    """The files of the modules that the programs need."""
    code = "import sys, threading, time, encodings.utf_8, encodings.ascii, encodings.latin_1\n" \
           "for m in list(sys.modules.values()):\n    print(getattr(m, '__file__', None) or '')"
    listed = subprocess.check_output([PYTHON, "-I", "-S", "-c", code], universal_newlines=True)
    return sorted({line for line in listed.split("\n") if line.startswith("/")} | {os.__file__})


def other_pythons():
    """
    Libraries of other versions of Python: those whose lines are found by other programs than the guest's (3.10 and before, 3.12).
    Only in the long form: to look through one takes 5 s under emulation.
    """
    return [found for version in (("3.8", "3.12") if LONG else ()) for found in sorted(glob.glob(
        os.path.expanduser("~/.pyenv/versions/%s.*/lib/libpython%s.so.1.0" % (version, version))))[:1]]


def make_initramfs(folder, strata, runs, traces):
    """
    The path of an archive whose /init makes the `runs`: [(name, arguments of strata record)], and the `traces`:
    {name: (program of strata trace, command or None)}.
    """
    root = os.path.join(folder, "root")
    for path, target in ((BUSYBOX, "/bin/busybox"), (strata, "/bin/strata"), (PYTHON, None)):
        copy(root, path, target)
    for library in loaded_libraries():
        copy(root, library)
    for name in ("deep", "calls"):
        program = os.path.join(folder, name)
        subprocess.check_call(["gcc", "-O2", "-fomit-frame-pointer", "-o", program, os.path.join(HERE, name + ".c")])
        copy(root, program, "/bin/" + name)
    if has_go():
        program = os.path.join(folder, "gone")
        subprocess.check_call(["go", "build", "-o", program, os.path.join(HERE, "gone.go")],
                              env=go.environment(CGO_ENABLED="0"))
        copy(root, program, "/bin/gone")
    for module in python_modules():
        copy(root, module)
    os.makedirs(root + "/pythons")
    for library in other_pythons():
        subprocess.check_call(["strip", "--strip-debug", "-o", root + "/pythons/" + os.path.basename(library), library])
    for name in ("program.py", "deep.py", "calls.py", "passing.py", "stack.py", "wait.py"):
        shutil.copy2(os.path.join(HERE, name), root)
    shutil.copy2(os.path.join(HERE, "init.sh"), root + "/init")
    os.symlink("busybox", root + "/bin/sh")
    os.symlink(PYTHON, root + "/bin/python3")
    os.chmod(root + "/init", 0o755)
    with open(root + "/runs", "w", encoding="utf-8") as file:
        for name, arguments in runs:
            file.write("%s %s\n" % (name, arguments))
    with open(root + "/traces", "w", encoding="utf-8") as file:
        for name, (program, command) in traces.items():
            file.write("%s %s\n" % (name, command or ""))
            with open(root + "/" + name + ".bt", "w", encoding="utf-8") as script:
                script.write(program)
    archive = os.path.join(folder, "initramfs")
    with open(archive, "wb") as file:
        names = subprocess.check_output(["find", ".", "-print0"], cwd=root)
        subprocess.run(["cpio", "-0", "-o", "-H", "newc", "--quiet"], input=names, stdout=file, cwd=root, check=True)
    return archive


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def complaints(console):
    return [found.group(0) for found in COMPLAINT.finditer(console)]


def what_happened(console):
    """The first complaint with the functions that it names, what was under way then and at the end, and the last words."""
    lines = [line for line in console.split("\n") if line.strip()]
    first = next((i for i, line in enumerate(lines) if STILL in line or COMPLAINT.search(line)), len(lines))
    told = [line for line in lines[:first] if UNDER_WAY in line][-1:]
    for line in lines[first:first + 60]:
        text = re.sub(r"^\[ *[\d.]+\] ?", "", line)
        function = re.match(r"(?: +|\[<0>\] )(?:\? )?([\w.]+)\+0x", text)
        if function and told:
            told[-1] += " " + function.group(1)
        elif not NOISE.search(text):
            told.append(line)
    return "\n".join(told[:8] + [line for line in lines[first:] if UNDER_WAY in line][-1:] + lines[-3:])


# QEMU 7.2, surely with a thread for each CPU, sometimes goes on running an instruction that another CPU has just put back: the int3 of a
# probe that was taken off, or of the kernel's own patching of its code. A kernel that does not know of an int3 there dies of it; 6.12
# did so 2 s after its start, too, with nothing of ours. Older ones take it without end: stuck_at().
STRAY = re.compile(r"Oops: int3:|\bint3: 0000 \[#")


def stuck_at(console):
    """The function at whose first byte a CPU stands for ever; None when there is none.

    In the kernel's reports, one after the other, it stands at the first byte of one and the same function, or is about to take the
    interrupt. Nothing that runs in the guest can do that to it.
    """
    places = re.findall(r"RIP: 0010:(\S+)", console[console.find("self-detected stall"):])
    place = max(set(places), key=places.count, default="")
    return place if "+0x0/" in place and places.count(place) >= max(3, 0.8 * len(places)) else None


def emulator_fault(console):
    """Why a boot does not count, in words; None when it does."""
    if INIT not in console:
        return "ended before /init"
    if STRAY.search(console):
        return "died of a breakpoint that is no longer there"
    place = stuck_at(console)
    return "stands at a breakpoint that is no longer there, " + place if place else None


def run_machine(command, console):
    """Runs a machine until it ends, or stands still."""
    said = None
    machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while machine.poll() is None:
            text = read(console)
            told = [line for line in text.split("\n") if INIT in line or (UNDER_WAY in line and STILL not in line)][-1:]
            if told != said:
                said, since = told, time.monotonic()
            if stuck_at(text) or time.monotonic() > since + (STILL_S if told else BOOT_S):
                break
            time.sleep(0.2)
    finally:
        machine.kill()
        machine.wait()


def boot(folder, kernel, initramfs, cpu=CPU):
    """Boots and waits for the end. (folder of the results or None, what the console said)."""
    results, console = os.path.join(folder, "results"), os.path.join(folder, "console")
    # With a thread for each CPU a boot takes three times as long, and many come to stand (STRAY, stuck_at()).
    command = [QEMU, "-accel", "tcg,thread=single", "-cpu", cpu, "-smp", "2", "-m", str(MEMORY_MIB), "-display", "none", "-no-reboot",
               "-monitor", "none", "-serial", "file:" + console, "-serial", "file:" + results + ".tar.gz",
               "-kernel", kernel, "-initrd", initramfs, "-append", "console=ttyS0 panic=-1 printk.devkmsg=on"]
    for attempt in range(1, ATTEMPTS + 1):
        run_machine(command, console)
        fault = emulator_fault(read(console))
        if not fault:
            break
        print("# boot %d of %s %s:\n# %s" % (attempt, kernel, fault, what_happened(read(console)).replace("\n", "\n# ")))
    try:
        with tarfile.open(results + ".tar.gz") as archive:
            archive.extractall(results)
    except (OSError, EOFError, tarfile.TarError) as error:
        print("# the results cannot be read: %s" % str(error).split("\n")[0])
        return None, read(console)
    return results, read(console)


if __name__ == "__main__":
    sys.exit("see kernels.t")
