// SPDX-License-Identifier: GPL-2.0-or-later
/* Version texts, and _Py_DebugOffsets in ELF files made here: free-threaded ones and damaged ones. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "fake_python.h"
#include "runtime/python/interpreter_parts.h"
#include "python_image.h"
#include "tap.h"

static void test_version_text(void)
{
	static const struct {
		const char *text;
		int version, micro; /* -1: none */
	} cases[] = {
		{"3.8.18", 0x0308, 18},  {"3.10.0rc1+", 0x030a, 0},
		{"3.6.15+", 0x0306, 15}, {"2.7.18", 0x0207, 18},
		{"3.8", -1, 0},          {"3.8.18 (main", -1, 0},
		{"3..1", -1, 0},         {"3.8.1234", -1, 0},
		{"33.1.1", -1, 0},       {"", -1, 0},
	};
	const uint8_t unterminated[] = {'3', '.', '8', '.', '1'};
	struct python_version version;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool found = python_version_parse((const uint8_t *)cases[i].text, strlen(cases[i].text) + 1, &version);

		ok(found == (cases[i].version >= 0) &&
			   (!found || (version.version == cases[i].version && version.micro == cases[i].micro)),
		   "version text \"%s\"", cases[i].text);
	}
	ok(!python_version_parse(unterminated, sizeof(unterminated), &version), "a version text must end");
	version = python_version_of_hex(0x030d02f0, "x");
	ok(version.version == 0x030d && version.micro == 2 && version.exact, "PY_VERSION_HEX");
}

/* The values of a free-threaded 3.14.0 on x86-64, in the order of pycore_debug_offsets.h. */
static void fill_free_threaded(struct image *image)
{
	static const uint64_t values[] = {
		/* runtime */ 300000,
		700,
		808,
		/* interp */ 210000,
		7280,
		7272,
		7352,
		7368,
		7800,
		9000,
		9008,
		9016,
		8,
		100,
		120,
		104,
		112,
		200,
		208,
		/* thread */ 800,
		0,
		8,
		16,
		72,
		152,
		160,
		264,
		40,
		/* frame */ 96,
		8,
		0,
		56,
		88,
		78,
		64,
		72,
		/* code */ 248,
		128,
		136,
		144,
		152,
		84,
		68,
		112,
		120,
		232,
		224,
		/* object */ 32,
		24,
		/* type */ 430,
		40,
		104,
		184,
		/* tuple, list */ 56,
		40,
		32,
		56,
		40,
		32,
		/* set */ 216,
		40,
		56,
		48,
		/* dict */ 64,
		48,
		56,
		/* float */ 40,
		32,
		/* long, bytes */ 48,
		32,
		40,
		56,
		32,
		48,
		/* unicode */ 80,
		48,
		32,
		56,
	};

	memcpy(&image->words[3], values, sizeof(values));
}

/* Whether it is one of fake_python.h's, but for where interpreters list their threads. */
static bool is_fake_layout(const struct python_interpreter *found)
{
	struct py_layout layout;
	size_t i;

	for (i = 0; i < FAKE_LAYOUTS; i++) {
		layout = found->layout;
		layout.interp_next = fake_layouts[i].interp_next;
		layout.interp_threads = fake_layouts[i].interp_threads;
		if (!memcmp(&layout, &fake_layouts[i], sizeof(layout)))
			return true;
	}
	return false;
}

static void test_free_threaded(void)
{
	const struct py_layout *layout;
	struct python_interpreter found = {};
	struct image image;

	image_init(&image, 0x030e00f0, true);
	fill_free_threaded(&image);
	is_int(image_recognise(&image, &found), 1, "a section .PyRuntime is enough");
	layout = &found.layout;
	ok(found.version == 0x030e && found.free_threaded, "3.14, free-threaded");
	is_int(found.interp_head, offsetof(struct image, words) + 808, "interpreters.head");
	is_int(layout->interp_threads, 7352, "threads.head");
	is_int(layout->frame_tlbc_index, 72, "tlbc_index");
	is_int(layout->code_tlbc, 224, "co_tlbc");
	is_int(layout->unicode_kind_shift, 8, "interned is a byte of its own");
	is_int(layout->unicode_compact_shift, 11, "and compact follows kind");
	is_int(layout->unicode_compact_data, 72, "sizeof(PyCompactUnicodeObject)");
	is_int(layout->code_tag_mask, 3, "f_executable is tagged");
	is_int(layout->code_version, 108, "co_version");
	is_int(layout->code_stable, 0xffff0, "the stable words start after the larger object head");
	is_int(layout->bytes_data, 48, "ob_sval");
	is_int(layout->ob_type, 24, "ob_type");
	image.words[40] += 8; /* code.filename is where nobody expects it */
	image.words[43] += 8; /* and so is code.linetable */
	is_int(image_recognise(&image, &found), -EBADMSG, "a layout that is not the declared one is refused");
}

/* 3.15's, both kinds; the layouts that the walker is tested with are these. */
static void test_3_15(void)
{
	struct python_interpreter found = {};
	struct image image;
	size_t i;

	image_init(&image, 0x030f02f0, false);
	memcpy(&image.words[3], offsets_3_15, sizeof(offsets_3_15));
	is_int(image_recognise(&image, &found), 1, "3.15's own offsets");
	ok(found.version == 0x030f && found.micro == 2 && !found.free_threaded && !found.to_prove, "a known version");
	ok(is_fake_layout(&found), "as the walker's tests have it");
	is_int(found.layout.tstate_base_frame, 80, "its base frame");
	is_int(found.layout.tstate_thread_id, 176, "its thread_id");
	image_init(&image, 0x030f02f0, true);
	memcpy(&image.words[3], offsets_3_15t, sizeof(offsets_3_15t));
	is_int(image_recognise(&image, &found), 1, "the free-threaded one's");
	ok(found.free_threaded && is_fake_layout(&found), "as the walker's tests have it");
	image.words[2] = false;
	is_int(image_recognise(&image, &found), -EBADMSG, "which are no others'");
	image.words[2] = true;
	for (i = 22; i < 38; i++) {
		image.words[i] += 8; /* a field of the thread state */
		ok(image_recognise(&image, &found) == -EBADMSG || is_fake_layout(&found),
		   "word %zu is checked, or not used", i);
		image.words[i] -= 8;
	}
}

static void test_damaged(void)
{
	struct python_interpreter found = {}, untouched = {};
	struct image image;
	size_t i, refused = 0;

	image_init(&image, 0x031000f0, false);
	is_int(image_recognise(&image, &found), -ENOTSUP, "3.16 is not known, and zeroes say nothing of it");
	image_init(&image, 0x030d00f0, false);
	is_int(image_recognise(&image, &found), -EBADMSG, "zeroes are refused");
	image_init(&image, 0x030e00f0, true);
	for (i = 3; i < WORDS_MAX; i++)
		image.words[i] = UINT64_MAX;
	is_int(image_recognise(&image, &found), -EBADMSG, "ones are refused");
	for (i = 6; i < 94; i++) {
		image_init(&image, 0x030e00f0, true);
		fill_free_threaded(&image);
		image.words[i] = 0x7fffffffffff0000;
		refused += image_recognise(&image, &found) == -EBADMSG;
	}
	ok(refused >= 30, "any value that is used is checked (%zu)", refused);
	image_init(&image, 0x030d00f0, false);
	image.sections[1].sh_addr = 1 << 20;
	is_int(image_recognise(&image, &untouched), -ENOTSUP, "a .PyRuntime whose bytes are not there");
	ok(!untouched.version, "a failure leaves the result alone");
	memset(image.names, 'x', 20);
	is_int(image_recognise(&image, &found), 0, "no .PyRuntime, no Python");
}

int main(void)
{
	test_version_text();
	test_free_threaded();
	test_3_15();
	test_damaged();
	return tap_done();
}
