# SPDX-License-Identifier: GPL-2.0-or-later
# Run inside gdb on an interpreter that has debug information:
#   gdb -batch -nx -x layout_from_debuginfo.py FILE
# Prints, as "name value" lines, every field of struct py_layout and of py_objects that the debug information can tell, the offset
# of interpreters.head in _PyRuntime, and a mask of the 8-byte words of PyCodeObject that hold listed fields.
import gdb

NONE = 0xffff

# Members of PyCodeObject that are set when it is created and not changed afterwards (see src/runtime/python/abi.h).
STABLE = """ob_size co_argcount co_posonlyargcount co_kwonlyargcount co_nlocals co_stacksize co_flags co_firstlineno
co_code co_consts co_names co_varnames co_freevars co_cellvars co_cell2arg co_filename co_name co_qualname co_lnotab
co_linetable co_exceptiontable co_nlocalsplus co_framesize co_nplaincellvars co_ncellvars co_nfreevars
co_version co_localsplusnames co_localspluskinds""".split()
# Members that are written later: the mask must not touch a word of theirs.
VOLATILE = """ob_refcnt ob_refcnt_full ob_refcnt_split ob_overflow _aligner _bits _padding ob_tid ob_flags ob_mutex ob_gc_bits ob_ref_local ob_ref_shared
co_zombieframe co_weakreflist co_extra co_opcache_map co_opcache co_opcache_flag co_opcache_size _co_code _co_linearray
_co_linearray_entry_size _co_cached _co_instrumentation_version _co_monitoring _co_firsttraceable co_executors
co_warmup co_tlbc _co_unique_id co_code_adaptive _co_varnames _co_cellvars _co_freevars""".split()


def structure(name):
    for spelling in (name, 'struct ' + name):
        try:
            return gdb.lookup_type(spelling).strip_typedefs()
        except gdb.error:
            pass
    raise KeyError(name)


def members(type_, base=0):
    """(name, bit position, bit size) of every member, those of nested structures and unions included."""
    for field in type_.fields():
        if not hasattr(field, 'bitpos'):
            continue
        at = base + field.bitpos
        inner = field.type.strip_typedefs()
        if field.name:
            yield field.name, at, field.bitsize or inner.sizeof * 8
        if inner.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            yield from members(inner, at)


def bit(name, *wanted):
    # A member of the structure itself goes before one of a structure in it.
    found = {f.name: f.bitpos for f in structure(name).fields() if f.name and hasattr(f, 'bitpos')}
    for member, at, _ in members(structure(name)):
        found.setdefault(member, at)
    for member in wanted:
        if member in found:
            return found[member]
    return None


def offset(name, *wanted):
    at = bit(name, *wanted)
    return NONE if at is None else at // 8


def path(name, *steps):
    """The offset of a member of a member."""
    at = 0
    type_ = structure(name)
    for step in steps:
        field = next(f for f in type_.fields() if f.name == step)
        at += field.bitpos // 8
        type_ = field.type.strip_typedefs()
    return at


def constant(name):
    try:
        return int(gdb.parse_and_eval('(int)' + name))
    except gdb.error:
        return None


def code_masks():
    stable = volatile = 0
    for name, at, bits in members(structure('PyCodeObject')):
        if name in ('ob_base', 'ob_type'):
            continue
        words = 0
        for word in range(at // 64, (at + bits - 1) // 64 + 1):
            words |= 1 << word
        if name in STABLE:
            stable |= words
        elif name in VOLATILE:
            volatile |= words
        else:
            print('unknown_member', name)
    return stable & ~volatile & 0xffffffff


def modules():
    own = {f.name for f in structure('PyInterpreterState').fields()}
    return path('PyInterpreterState', 'imports', 'modules') if 'imports' in own else offset('PyInterpreterState', 'modules')


def objects(frame, has_frame):
    """Of struct py_objects (src/runtime/python/objects.h)."""
    out = {
        'frame_locals': offset(frame, 'f_localsplus', 'localsplus'),
        'frame_names': offset(frame, 'f_locals'),
        'frame_globals': offset(frame, 'f_globals'),
        'frame_top': NONE if not has_frame else offset(frame, 'stacktop', 'stackpointer'),
        'gen_frame': offset('PyGenObject', 'gi_frame', 'gi_iframe'),
        'gen_state': offset('PyGenObject', 'gi_frame_state'),
        'gen_qualname': offset('PyGenObject', 'gi_qualname'),
        'interp_modules': modules(),
        'code_flags': offset('PyCodeObject', 'co_flags'),
        'code_nlocals': NONE if has_frame else offset('PyCodeObject', 'co_nlocals'),
        'code_names': offset('PyCodeObject', 'co_localsplusnames', 'co_varnames'),
        'code_kinds': offset('PyCodeObject', 'co_localspluskinds'),
        'code_cells': offset('PyCodeObject', 'co_cellvars'),
        'code_free': offset('PyCodeObject', 'co_freevars'),
        'tuple_items': offset('PyTupleObject', 'ob_item'),
        'list_items': offset('PyListObject', 'ob_item'),
        'float_value': offset('PyFloatObject', 'ob_fval'),
        'long_digits': offset('_longobject', 'ob_digit'),
        'dict_keys': offset('PyDictObject', 'ma_keys'),
        'dict_values': offset('PyDictObject', 'ma_values'),
        'keys_entries': offset('_dictkeysobject', 'dk_nentries'),
        'keys_indices': offset('_dictkeysobject', 'dk_indices'),
        'set_used': offset('PySetObject', 'used'),
        'set_mask': offset('PySetObject', 'mask'),
        'set_table': offset('PySetObject', 'table'),
        'cell_value': offset('PyCellObject', 'ob_ref'),
        'type_flags': offset('PyTypeObject', 'tp_flags'),
        'type_dict': offset('PyTypeObject', 'tp_dict'),
        'type_qualname': offset('PyHeapTypeObject', 'ht_qualname'),
        'unicode_data': offset('PyUnicodeObject', 'data'),
    }
    try:
        out['values_start'] = offset('_dictvalues', 'values')
    except KeyError:
        out['values_start'] = 0
    size = offset('PyVarObject', 'ob_size')
    if {offset('PyDictObject', 'ma_used'), offset('_longobject', 'ob_size', 'lv_tag')} != {size}:
        print('unexpected size')
    if offset('_dictkeysobject', 'dk_log2_size', 'dk_size') != 8:
        print('unexpected dk_size')
    return out


def main():
    out = {}
    has_frame = True
    try:
        structure('_PyInterpreterFrame')
    except KeyError:
        has_frame = False
    frame = '_PyInterpreterFrame' if has_frame else 'PyFrameObject'
    out['interp_next'] = offset('PyInterpreterState', 'next')
    interp = {f.name: f for f in structure('PyInterpreterState').fields()}
    if 'tstate_head' in interp:
        out['interp_threads'] = offset('PyInterpreterState', 'tstate_head')
    else:
        out['interp_threads'] = path('PyInterpreterState', next(n for n in ('threads', 'pythreads') if n in interp), 'head')
    out['tstate_next'] = offset('PyThreadState', 'next')
    out['tstate_interp'] = offset('PyThreadState', 'interp')
    out['tstate_thread_id'] = offset('PyThreadState', 'thread_id')
    out['tstate_frame'] = offset('PyThreadState', 'frame', 'cframe', 'current_frame')
    own = [f.name for f in structure('PyThreadState').fields()]
    out['cframe_current'] = NONE
    if 'cframe' in own and 'frame' not in own:
        cframe = '_PyCFrame'
        try:
            structure(cframe)
        except KeyError:
            cframe = 'CFrame'
        out['cframe_current'] = offset(cframe, 'current_frame')
    out['tstate_stack_top'] = NONE
    if out['cframe_current'] != NONE:
        out['tstate_stack_top'] = offset('PyThreadState', 'datastack_top')
        if offset('PyThreadState', 'datastack_limit') != out['tstate_stack_top'] + 8:
            print('unexpected datastack_limit')
        if offset('PyThreadState', 'datastack_chunk') != out['tstate_stack_top'] - 8 or path('_PyStackChunk', 'size') != 8:
            print('unexpected datastack_chunk')
        if path(cframe, 'previous') != out['cframe_current'] + 8:
            print('unexpected previous _PyCFrame')
    out['tstate_tracing'] = NONE if has_frame else offset('PyThreadState', 'tracing')
    out['tstate_cframe'] = offset('PyThreadState', 'cframe')
    out['tstate_base_frame'] = offset('PyThreadState', 'base_frame')
    out['frame_stack'] = NONE if has_frame else offset(frame, 'f_stacktop', 'f_stackdepth')
    out['frame_code'] = offset(frame, 'f_code', 'f_executable')
    out['frame_back'] = offset(frame, 'f_back', 'previous')
    out['frame_lasti'] = offset(frame, 'f_lasti', 'prev_instr', 'instr_ptr')
    out['frame_entry'] = offset(frame, 'is_entry', 'owner') if has_frame else NONE
    out['frame_tlbc_index'] = offset(frame, 'tlbc_index')
    out['code_size'] = offset('PyCodeObject', 'co_code_adaptive')
    if out['code_size'] == NONE:
        out['code_size'] = structure('PyCodeObject').sizeof
    out['code_filename'] = offset('PyCodeObject', 'co_filename')
    out['code_name'] = offset('PyCodeObject', 'co_name')
    out['code_qualname'] = offset('PyCodeObject', 'co_qualname')
    out['code_linetable'] = offset('PyCodeObject', 'co_linetable', 'co_lnotab')
    out['code_firstlineno'] = offset('PyCodeObject', 'co_firstlineno')
    out['code_bytecode'] = offset('PyCodeObject', 'co_code_adaptive')
    out['code_version'] = offset('PyCodeObject', 'co_version')
    out['code_tlbc'] = offset('PyCodeObject', 'co_tlbc')
    out['code_stable'] = code_masks()
    out['unicode_length'] = offset('PyASCIIObject', 'length')
    out['unicode_state'] = offset('PyASCIIObject', 'state')
    out['unicode_kind_shift'] = bit('PyASCIIObject', 'kind') - 8 * out['unicode_state']
    out['unicode_compact_shift'] = bit('PyASCIIObject', 'compact') - 8 * out['unicode_state']
    if bit('PyASCIIObject', 'ascii') != bit('PyASCIIObject', 'compact') + 1:
        print('unexpected ascii')
    out['unicode_ascii_data'] = structure('PyASCIIObject').sizeof
    out['unicode_compact_data'] = structure('PyCompactUnicodeObject').sizeof
    out['bytes_size'] = offset('PyBytesObject', 'ob_size')
    out['bytes_data'] = offset('PyBytesObject', 'ob_sval')
    out['type_name'] = offset('PyTypeObject', 'tp_name')
    out['ob_type'] = offset('PyObject', 'ob_type')
    try:
        out['runtime_interp_head'] = path('_PyRuntimeState', 'interpreters', 'head')
    except (KeyError, StopIteration):
        out['runtime_interp_head'] = NONE
    try:
        out['runtime_tstate_current'] = path('_PyRuntimeState', 'gilstate', 'tstate_current')
    except (KeyError, StopIteration):
        out['runtime_tstate_current'] = NONE
    if has_frame and offset(frame, 'is_entry') == NONE:
        shim = constant('FRAME_OWNED_BY_INTERPRETER')
        out['shim_owner'] = constant('FRAME_OWNED_BY_CSTACK') if shim is None else shim
    out.update(objects(frame, has_frame))
    for name, value in out.items():
        print(name, value)


main()
