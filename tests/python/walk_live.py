# SPDX-License-Identifier: GPL-2.0-or-later
# walk_live.py PID FILE < facts of show_interpreter: walks the Python stack of a sleeping process by these facts and
# prints "thread ID: name name ..." from the innermost frame outwards, shims as "|". The process must not run.
import os
import struct
import sys

NONE = 0xffff


def main():
    pid, path = int(sys.argv[1]), sys.argv[2]
    facts = {}
    for line in sys.stdin:
        name, value = line.split(None, 1)
        facts[name] = int(value, 0) if value.strip().replace('0x', '').isalnum() and value[0].isdigit() else value
    fact = lambda name: facts[name]
    memory = os.open('/proc/%d/mem' % pid, os.O_RDONLY)

    def read(at, format_):
        return struct.unpack('=' + format_, os.pread(memory, struct.calcsize('=' + format_), at))[0]

    def bias():
        inode = os.stat(path).st_ino
        for line in open('/proc/%d/maps' % pid):
            fields = line.split()
            if int(fields[4]) == inode and int(fields[2], 16) == 0:
                start = int(fields[0].split('-')[0], 16)
                kind = struct.unpack_from('=H', open(path, 'rb').read(18), 16)[0]
                return start if kind == 3 else 0
        sys.exit('the file is not mapped')

    def text(at):
        state = read(at + fact('unicode_state'), 'I')
        kind = state >> fact('unicode_kind_shift') & 7
        compact = state >> fact('unicode_compact_shift') & 3
        size = read(at + fact('unicode_length'), 'q')
        data = fact('unicode_ascii_data' if compact == 3 else 'unicode_compact_data')
        if not compact & 1:
            sys.exit('a string that is not compact')
        return os.pread(memory, size * kind, at + data).decode({1: 'latin1', 2: 'utf-16', 4: 'utf-32'}[kind])

    def frames(thread):
        frame = read(thread + fact('tstate_frame'), 'Q')
        if fact('cframe_current') != NONE:
            frame = read(frame + fact('cframe_current'), 'Q')
        while frame:
            code = read(frame + fact('frame_code'), 'Q') & ~fact('code_tag_mask')
            shim = fact('entry') == 3 and read(frame + fact('frame_entry'), 'B') >= fact('shim_owner')
            yield '|' if shim else text(read(code + fact('code_name'), 'Q'))
            if fact('entry') == 2 and read(frame + fact('frame_entry'), 'B'):
                yield '|'
            frame = read(frame + fact('frame_back'), 'Q')

    interp = read(bias() + fact('interp_head'), 'Q')
    while interp:
        thread = read(interp + fact('interp_threads'), 'Q')
        while thread:
            if read(thread + fact('tstate_interp'), 'Q') != interp:
                sys.exit('a thread state that is not of its interpreter')
            print('%x: %s' % (read(thread + fact('tstate_thread_id'), 'Q'), ' '.join(frames(thread))))
            thread = read(thread + fact('tstate_next'), 'Q')
        interp = read(interp + fact('interp_next'), 'Q')


main()
