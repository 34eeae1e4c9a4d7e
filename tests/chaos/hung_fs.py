#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A FUSE file system that stops answering: hung_fs.py SOURCE MOUNTPOINT

Shows the regular files of SOURCE, to be read and written, by the kernel's protocol itself (include/uapi/linux/fuse.h, 7.31). Says "ready", then
takes commands, a line each: "hang" takes requests from then on and answers none, so that who asks cannot even be
killed; "hang-exec" does so from the next open on that an exec makes, "hang-lookup N" from the Nth look-up of a name on,
the next one being the first; "answer" answers them and all that follow, and says how many look-ups there were since the
last "answer". It ends, and unmounts, when its standard input does.
"""
import ctypes
import errno
import os
import select
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, RENAME, OPEN, READ, WRITE = 1, 2, 3, 4, 10, 12, 14, 15, 16
RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS, CREATE, INTERRUPT, BATCH_FORGET = 18, 25, 26, 27, 29, 34, 35, 36, 42
ROOT = 1
MNT_DETACH = 2
FMODE_EXEC = 0x20  # include/linux/fs.h: among the flags of an open

source, mountpoint = sys.argv[1:3]
names = sorted(os.listdir(source))
libc = ctypes.CDLL(None, use_errno=True)
# A request can be withdrawn between select() and read(): whoever asked was killed.
device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)


def attributes(node):
    status = os.stat(os.path.join(source, names[node - 2]) if node != ROOT else source)
    times = (int(status.st_atime), int(status.st_mtime), int(status.st_ctime))
    return struct.pack("<6Q10I", node, status.st_size, status.st_blocks, *times, 0, 0, 0, status.st_mode, 1, 0, 0, 0, 4096, 0)


def answer(unique, error, body=b""):
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
    except OSError:
        pass  # whoever asked is gone


def entry(node):
    """Valid for no time at all: whoever looks again asks again."""
    return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + attributes(node)


def named(body):
    return os.fsdecode(body.rstrip(b"\0"))


def handle(opcode, unique, node, body):
    if opcode == INIT:
        answer(unique, 0, struct.pack("<4I2H2I2H8I", 7, 31, 1 << 20, 0, 16, 12, 1 << 17, 1, 0, 0, *[0] * 8))
    elif opcode == LOOKUP:
        if named(body) in names:
            answer(unique, 0, entry(names.index(named(body)) + 2))
        else:
            answer(unique, errno.ENOENT)
    elif opcode == CREATE:
        names.append(named(body[16:]))
        with open(os.path.join(source, names[-1]), "xb"):
            answer(unique, 0, entry(len(names) + 1) + struct.pack("<Q2I", 0, 0, 0))
    elif opcode == WRITE:
        _, offset, size = struct.unpack_from("<2QI", body)
        with open(os.path.join(source, names[node - 2]), "r+b") as file:
            file.seek(offset)
            file.write(body[40:40 + size])
        answer(unique, 0, struct.pack("<2I", size, 0))
    elif opcode == UNLINK:
        os.unlink(os.path.join(source, named(body)))
        names[names.index(named(body))] = None
        answer(unique, 0)
    elif opcode == RENAME:
        old, new = named(body[8:]).split("\0")
        os.rename(os.path.join(source, old), os.path.join(source, new))
        names[:] = [new if name == old else None if name == new else name for name in names]
        answer(unique, 0)
    elif opcode in (GETATTR, SETATTR):
        answer(unique, 0, struct.pack("<Q2I", 0, 0, 0) + attributes(node))
    elif opcode in (OPEN, OPENDIR):
        answer(unique, 0, struct.pack("<Q2I", 0, 0, 0))
    elif opcode == READ:
        _, offset, size = struct.unpack_from("<2QI", body)
        with open(os.path.join(source, names[node - 2]), "rb") as file:
            file.seek(offset)
            answer(unique, 0, file.read(size))
    elif opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
        answer(unique, 0)
    elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
        answer(unique, errno.ENOSYS)


def mount():
    options = "fd=%d,rootmode=%o,user_id=0,group_id=0,allow_other" % (device, stat.S_IFDIR)
    if libc.mount(b"strata-test", os.fsencode(mountpoint), b"fuse", 0, options.encode()):
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))


def begins_to_hang(when, opcode, body, lookups):
    """Is this the request that a command waits for?"""
    if when == ["hang-exec"]:
        return opcode == OPEN and struct.unpack_from("<I", body)[0] & FMODE_EXEC
    return when[:1] == ["hang-lookup"] and lookups >= int(when[1])


def main():
    hangs, held, when, lookups = False, [], [], 0
    mount()
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([0, device], [], [])
        if 0 in ready:
            command = os.read(0, 64).decode().split()
            if not command:
                break
            hangs, when = command[0] == "hang", command
            if command[0] == "answer":
                for request in held:
                    handle(*request)
                held = []
            print(lookups if command[0] == "answer" else command[0], flush=True)
            lookups = lookups if hangs else 0
        if device in ready:
            try:
                request = os.read(device, (1 << 17) + 4096)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    break
                continue
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            lookups += opcode == LOOKUP
            hangs = hangs or begins_to_hang(when, opcode, request[40:], lookups)
            if hangs and opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
                held.append((opcode, unique, node, request[40:]))
            else:
                handle(opcode, unique, node, request[40:])
    libc.umount2(os.fsencode(mountpoint), MNT_DETACH)
    os.close(device)  # ends every request: whoever waits gets an error


if __name__ == "__main__":
    main()
