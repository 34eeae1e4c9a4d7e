// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/dialect/bpftrace/print/print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/syscalls.h"
#include "profile/text.h"

void print_decimal(FILE *out, uint64_t value, bool is_signed)
{
	bool is_negative = is_signed && (int64_t)value < 0;
	char digits[24], *at = digits + sizeof(digits);

	if (is_negative)
		value = -value;
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	if (is_negative)
		*--at = '-';
	fwrite(at, 1, (size_t)(digits + sizeof(digits) - at), out);
}

static void print_integer(const struct printer *p, FILE *out, const struct type *type, uint64_t value)
{
	uint32_t i;

	for (i = 0; i < type->value_count && !p->json; i++) {
		if (type->values[i].value == (int64_t)value) {
			fputs(type->values[i].name, out);
			return;
		}
	}
	print_decimal(out, value, type->is_signed);
}

void print_buffer(FILE *out, const uint8_t *bytes, size_t size, char variant)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (variant == 'h')
			fprintf(out, "%s%02x", i ? " " : "", bytes[i]);
		else if (variant == 'x' || bytes[i] < 32 || bytes[i] >= 127)
			fprintf(out, "\\x%02x", bytes[i]);
		else
			fputc(bytes[i], out);
	}
}

size_t buffer_size(const struct type *type, const uint8_t *bytes)
{
	uint64_t size = scalar_load(bytes, 4, false);

	return size > type->size - 4 ? type->size - 4 : size;
}

static void print_inet(FILE *out, const uint8_t *bytes)
{
	uint64_t family = scalar_load(bytes, 8, false);
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, bytes + 8, text, sizeof(text)))
		fputs(text, out);
}

static void print_fields(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	bool named = type->kind == TYPE_RECORD || (type->field_count && type->fields[0].name);
	uint32_t i;

	fputs(p->json ? (named ? "{" : "[") : named ? "{ " : "(", out);
	for (i = 0; i < type->field_count; i++) {
		const struct type_field *field = &type->fields[i];
		uint64_t value;

		if (i)
			fputs(p->json && !named ? "," : ", ", out);
		if (named && p->json)
			fprintf(out, "\"%s\": ", field->name ? field->name : "");
		else if (named && field->name && *field->name)
			fprintf(out, ".%s = ", field->name);
		if (!field->bit_size) {
			print_value(p, out, field->type, bytes + field->offset);
			continue;
		}
		value = scalar_load(bytes + field->offset, field->type->size, false)
			<< (64 - field->bit_offset - field->bit_size);
		value = field->type->is_signed ? (uint64_t)((int64_t)value >> (64 - field->bit_size))
					       : value >> (64 - field->bit_size);
		print_integer(p, out, field->type, value);
	}
	fputs(p->json ? (named ? "}" : "]") : named ? " }" : ")", out);
}

static void print_array(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	uint32_t i;

	if (type->to->is_char) {
		const char *text = (const char *)bytes;

		if (p->json)
			print_json_string(out, text, strnlen(text, type->size));
		else
			print_data(p, out, text, strnlen(text, type->size));
		return;
	}
	fputc('[', out);
	for (i = 0; i < type->count; i++) {
		if (i)
			fputc(',', out);
		print_value(p, out, type->to, bytes + (size_t)i * type->to->size);
	}
	fputc(']', out);
}

static int64_t average(const struct type *type, const uint8_t *bytes)
{
	uint64_t sum = scalar_load(bytes, 8, false), count = scalar_load(bytes + 8, 8, false);

	if (!count)
		return 0;
	return type->is_signed ? (int64_t)sum / (int64_t)count : (int64_t)(sum / count);
}

static void print_stats(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	const char *format = p->json ? "{\"count\": %" PRIu64 ", \"average\": %" PRId64 ", \"total\": %" PRId64 "}"
				     : "{ .count = %" PRIu64 ", .average = %" PRId64 ", .total = %" PRId64 " }";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(out, format, scalar_load(bytes + 8, 8, false), average(type, bytes),
		(int64_t)scalar_load(bytes, 8, false));
#pragma GCC diagnostic pop
}

/* What is text by nature, not in JSON. */
static void print_text(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	uint64_t number = type->size >= 8 ? scalar_load(bytes, 8, false) : 0;

	switch (type->kind) {
	case TYPE_STRING:
		print_data(p, out, (const char *)bytes, strnlen((const char *)bytes, type->size));
		if (type->limit && strnlen((const char *)bytes, type->size) == type->limit)
			fputs(p->compiler->texts[SETTING_STR_TRUNC_TRAILER], out);
		break;
	case TYPE_BUFFER:
		print_buffer(out, bytes + 4, buffer_size(type, bytes), 0);
		break;
	case TYPE_SYMBOL:
		if (type->variant == SYMBOL_KERNEL)
			p->words->kernel_symbol(p->names, out, number, SYMBOL_ALONE);
		else
			p->words->user_symbol(p->names, out, number, scalar_load(bytes + 8, 8, false), SYMBOL_ALONE);
		break;
	case TYPE_TIME:
		p->words->time(p->names, out, type->name, number);
		break;
	case TYPE_INET:
		print_inet(out, bytes);
		break;
	case TYPE_MAC:
		fprintf(out, "%02X:%02X:%02X:%02X:%02X:%02X", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4],
			bytes[5]);
		break;
	case TYPE_USER:
		p->words->user(p->names, out, number);
		break;
	case TYPE_COMM:
		p->words->process(p->names, out, number);
		break;
	case TYPE_PROBE:
		p->words->probe(p->names, out, number);
		break;
	case TYPE_ERROR:
		fputs(strerror((int)number), out);
		break;
	case TYPE_SIGNAL:
		fputs(number < NSIG ? strsignal((int)number) : "N/A", out);
		break;
	case TYPE_SYSCALL:
		if (syscall_name(number))
			fputs(syscall_name(number), out);
		else
			fprintf(out, "[unknown %" PRIu64 "]", number);
		break;
	case TYPE_CGROUP:
		p->words->cgroup(p->names, out, number, type->name);
		break;
	default:
		break;
	}
}

static void print_quoted(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (memory)
		print_text(p, memory, type, bytes);
	/* Where memory is short the value is lost, but not what it is a part of. */
	if (memory && !fclose(memory))
		print_json_string(out, text, size);
	else
		fputs("\"\"", out);
	free(text);
}

void print_value(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	switch (type->kind) {
	case TYPE_NONE:
		fputs(p->json ? "null" : "none", out);
		break;
	case TYPE_INT:
		print_integer(p, out, type, scalar_load(bytes, type->size, type->is_signed));
		break;
	case TYPE_BOOL:
		fputs(bytes[0] ? "true" : "false", out);
		break;
	case TYPE_POINTER:
		fprintf(out, p->json ? "%" PRIu64 : "0x%" PRIx64, scalar_load(bytes, 8, false));
		break;
	case TYPE_RECORD:
	case TYPE_TUPLE:
		print_fields(p, out, type, bytes);
		break;
	case TYPE_ARRAY:
		print_array(p, out, type, bytes);
		break;
	case TYPE_STACK:
		p->words->stack(p->names, out, type, (const void *)bytes, p->json);
		break;
	case TYPE_COUNT:
		fprintf(out, "%" PRIu64, scalar_load(bytes, 8, false));
		break;
	case TYPE_SUM:
	case TYPE_MINIMUM:
	case TYPE_MAXIMUM:
		print_integer(p, out, type->is_signed ? &type_int64 : &type_uint64, scalar_load(bytes, 8, false));
		break;
	case TYPE_AVG:
		fprintf(out, "%" PRId64, average(type, bytes));
		break;
	case TYPE_STATS:
		print_stats(p, out, type, bytes);
		break;
	case TYPE_HIST:
	case TYPE_LHIST:
	case TYPE_TSERIES:
		break;
	default:
		if (p->json)
			print_quoted(p, out, type, bytes);
		else
			print_text(p, out, type, bytes);
	}
}

void print_value_line(const struct printer *p, const struct type *type, const uint8_t *bytes)
{
	if (p->json)
		fputs("{\"type\": \"value\", \"data\": ", p->out);
	print_value(p, p->out, type, bytes);
	fputs(p->json ? "}\n" : "\n", p->out);
}
