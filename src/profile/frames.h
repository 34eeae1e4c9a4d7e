/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames: distinct frames, each once, by number. Strings are copied. Not thread-safe.
 */
#ifndef STRATA_PROFILE_FRAMES_H
#define STRATA_PROFILE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* Longer names and files, in bytes, are cut at a character's start, and end in FRAME_CUT. */
#define FRAME_STRING_MAX 4096
#define FRAME_CUT        "…"

enum frame_layer {
	FRAME_KERNEL,  /* `symbol [k]` */
	FRAME_NATIVE,  /* `symbol (module)` or `0xOFFSET (module)`; with a line: `symbol (module) [file:line]` */
	FRAME_RUNTIME, /* of a runtime's own stack: `name (file:line)` */
	FRAME_MARK,    /* `[truncated]`, `[unknown 0xADDR]`: what is missing is a frame, too */
	FRAME_LAYER_COUNT
};

/*
 * One distinct frame. Two frames are equal if all of their fields are equal.
 *   KERNEL: name                       NATIVE: name, file = module's basename; name is "0x…", its function's start,
 *                                              without a symbol; with lines, source and line
 *   RUNTIME: name, file, line, runtime  MARK: name, with its brackets
 */
struct frame {
	enum frame_layer layer;
	const char *name;
	const char *file; /* "" where there is none */
	int line;         /* 0 where there is none */
	/*
	 * Its address, if wanted: frames at different addresses may have the same text. NATIVE: a vaddr in the file,
	 * KERNEL: the address. 0: not kept.
	 */
	uint64_t address;
	const char *path;     /* NATIVE: of the file; "" if it is not kept */
	const char *runtime;  /* RUNTIME: which ("python"); "" for other layers */
	const char *source;   /* NATIVE: the source file that `line` is in, as the compiler named it; "" if not known */
	/*
	 * NATIVE: the number + 1 of the frame that this function was inlined into, in the same frames; 0: it was not,
	 * or that is not kept.
	 */
	uint32_t inlined_into;
	const char *build_id; /* NATIVE: its GNU build id, hexadecimal; "" if there is none or it is not kept */
};

/* What frames keep besides their names. */
enum frame_detail {
	FRAME_NAMES,     /* nothing: all frames in one function are one frame */
	FRAME_ADDRESSES, /* the file's path and build id, and addresses of frames without a symbol */
	FRAME_PLACES     /* all addresses */
};

/*
 * Writes a frame as text, by the contract in the heading of `enum frame_layer`, into a buffer as snprintf does (returns
 * the length it would need; never cuts inside a character). `;` inside names becomes `:`; control characters, line
 * separators and bytes that are not valid UTF-8 become '?': one line, always parseable. profile/text.h has the rule.
 */
int frame_format(const struct frame *frame, char *buffer, size_t size);

struct frames;

struct frames *frames_create(void); /* NULL when memory is short */
void frames_destroy(struct frames *frames);

/* The number of a frame, dense from 0 unless some were forgotten: 0, or -ENOMEM. `frame->file` may be NULL. */
int frames_add(struct frames *frames, const struct frame *frame, uint32_t *ret);

/* All numbers are below this. */
size_t frames_count(const struct frames *frames);

/* The pointer is valid until frames_forget(). NULL for a forgotten frame. */
const struct frame *frames_at(const struct frames *frames, uint32_t id);

/* Bytes of memory that all of them hold. */
size_t frames_bytes(const struct frames *frames);

/*
 * Forgets all frames whose entry in `used` (of frames_count() entries) is 0. The others keep their numbers; free
 * numbers are used again. 0, or -ENOMEM with nothing changed.
 */
int frames_forget(struct frames *frames, const uint8_t *used);

#endif
