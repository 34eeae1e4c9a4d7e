# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs and files that take as much as they can get of what strata keeps for all processes together."""
import array
import os
import struct
import subprocess

OTHER = 65534
# Maps files as they are given, SIZE bytes each and as often as it is told, and runs for ever, half of the time.
PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **arguments)
{
	long times = atol(arguments[1]), size = atol(arguments[2]);
	for (int i = 3; i < count; i++) {
		int file = open(arguments[i], O_RDONLY);
		for (long n = 0; n < times; n++)
			if (mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096) == MAP_FAILED)
				return perror(arguments[i]), 1;
	}
	puts("ready");
	fflush(stdout);
	for (;; usleep(2000))
		for (volatile long spins = 0; spins < 1000000; spins++)
			;
}
"""
PAGE = 4096
TEXT_AT = PAGE


def leb(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data) + bytes([value])


def one_by_one(fdes):
    """What elf() asks for, of any FDEs: (offset, size, instructions)."""
    def made(at, frame_at):
        parts, starts, places = [], [], []
        for offset, size, instructions in fdes:
            body = struct.pack("<IiIB", at + 4, TEXT_AT + offset - (frame_at + at + 8), size, 0) + instructions
            body += bytes(-len(body) % 4)
            parts.append(struct.pack("<I", len(body)) + body)
            starts.append(TEXT_AT + offset)
            places.append(frame_at + at)
            at += 4 + len(body)
        return b"".join(parts), starts, places
    return made


def two_in_turn(count, size, rules):
    """The same, of FDEs of so many bytes each, whose instructions are two bytes: these two in turn."""
    def made(at, frame_at):
        words = array.array("i", b"".join(struct.pack("<IIIIB2sx", 16, 0, 0, size, 0, rule) for rule in rules)) * (count // 2)
        places = range(frame_at + at, frame_at + at + 20 * count, 20)
        words[1::5] = array.array("i", range(at + 4, at + 4 + 20 * count, 20))
        # Where the text begins is told from where that is written: 20 bytes further each time, for `size` bytes of text.
        begin = TEXT_AT - (frame_at + at + 8)
        words[2::5] = array.array("i", range(begin, begin + (size - 20) * count, size - 20))
        return words.tobytes(), range(TEXT_AT, TEXT_AT + size * count, size), places
    return made


def elf(path, text_size, fdes, in_order=True, code=b""):
    """
    A library whose text is a hole of so many bytes but for `code`. fdes(AT, FRAME_AT), where the first FDE is in its section and
    where that is, gives the FDEs' bytes, where the text of each begins, and where each is. If they are not in order, its index
    does not serve to find some of them.
    """
    frame_at = TEXT_AT + (text_size + PAGE - 1) // PAGE * PAGE
    cie = struct.pack("<IIB4sBBB", 0, 0, 1, b"zR\0\x01", 0x78, 16, 1) + b"\x1b\x0c\x07\x08\x90\x01"
    cie = cie + bytes(-len(cie) % 4)
    cie = struct.pack("<I", len(cie) - 4) + cie[4:]
    made, starts, places = fdes(len(cie), frame_at)
    frame = cie + made + bytes(4)
    at = len(frame)
    hdr_at = frame_at + at
    index = array.array("i", bytes(8 * len(starts)))
    index[0::2] = array.array("i", (start - hdr_at for start in starts))
    index[1::2] = array.array("i", (place - hdr_at for place in places))
    if not in_order:
        index[0:4] = index[2:4] + index[0:2]
    hdr = struct.pack("<4BiI", 1, 0x1b, 3, 0x3b, frame_at - hdr_at - 4, len(starts)) + index.tobytes()
    names = b"\0.text\0.eh_frame\0.eh_frame_hdr\0.shstrtab\0"
    names_at = hdr_at + len(hdr)
    end = names_at + len(names)
    sections_at = (end + 7) // 8 * 8
    programs = [(1, 5, TEXT_AT, text_size), (1, 4, frame_at, end - frame_at), (0x6474e550, 4, hdr_at, len(hdr))]
    sections = [(0, 0, 0, 0, 0), (1, 1, 6, TEXT_AT, text_size), (7, 1, 2, frame_at, at), (17, 1, 2, hdr_at, len(hdr)),
                (31, 3, 0, names_at, len(names))]
    with open(path, "wb") as file:
        file.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, sections_at, 0, 64, 56, len(programs),
                                                             64, len(sections), 4))
        for kind, flags, offset, size in programs:
            file.write(struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, size, size, PAGE))
        file.seek(TEXT_AT)
        file.write(code)
        file.seek(frame_at)
        file.write(frame)
        file.write(hdr + names)
        file.seek(sections_at)
        for name, kind, flags, offset, size in sections:
            file.write(struct.pack("<IIQQQQIIQQ", name, kind, flags, offset if flags else 0, offset, size, 0, 0, 16, 0))
    os.chmod(path, 0o644)
    return path


def distinct_rules(path, count, first):
    """Each 16 bytes have a rule that nothing else has."""
    return elf(path, 16 * count, one_by_one((16 * i, 16, b"\x0e" + leb(8 * (first + i))) for i in range(count)))


def sparse(path, text_size):
    """Much text, of which little is said."""
    return elf(path, text_size, one_by_one((i * (text_size // 64) // 16 * 16, 4096, b"\x0e\x10") for i in range(64)))


def many_fdes(path, count):
    """FDEs that the index does not lead to in order, so that all are looked at. Two rules in turn."""
    return elf(path, 4 * count, two_in_turn(count, 4, (b"\x0e\x18", b"\x0e\x10")), in_order=False)


def without_tables(path, library, variant):
    """A library whose machine code has to be followed. Each variant is another file."""
    subprocess.run(["objcopy", "--remove-section", ".eh_frame", "--remove-section", ".eh_frame_hdr", library, path], check=True)
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        first, = struct.unpack_from("<Q", data, 32)
        for at in range(first, first + 56 * data[56], 56):
            kind, flags, offset = struct.unpack_from("<IIQ", data, at)
            if kind == 0x6474e550:  # PT_GNU_EH_FRAME
                struct.pack_into("<I", data, at, 0)
            elif kind == 1 and flags & 1:
                end = offset + struct.unpack_from("<Q", data, at + 32)[0]
                data[end - 1] = variant
        file.seek(0)
        file.write(data)
    os.chmod(path, 0o644)


def build(path):
    subprocess.run(["gcc", "-xc", "-", "-O1", "-o", path], input=PROGRAM.encode(), check=True)
    return path


def start(program, times, size, *files, other=True):
    """A running hog, by the other user if so, with all that it maps."""
    command = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", "--"] if other else []
    process = subprocess.Popen(command + ["nice", "-n", "5", program, str(times), str(size)] + list(files),
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    return process
