// SPDX-License-Identifier: GPL-2.0-or-later
/* PCAP: draft-ietf-opsawg-pcap, "PCAP Capture File Format", in the machine's byte order, with nanoseconds. */
#include "trace/packets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/place.h"
#include "lang/rt/abi.h"

#define PAGES 64 /* of each CPU: several of the largest packets */

#define MAGIC_NANOSECONDS 0xa1b23c4d
#define LINKTYPE_RAW      101 /* IP, without a header of a link's */

struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t reserved[2];
	uint32_t most; /* bytes of a packet */
	uint32_t link_type;
};

struct packet_header {
	uint32_t seconds, nanoseconds;
	uint32_t size;  /* that follow */
	uint32_t whole; /* that there were */
};

struct file {
	const char *path;
	FILE *out;
};

struct packets {
	const struct compiler *compiler;
	struct perf_buffer *buffer;
	VEC(struct file) files;
	int64_t boot_time;
	uint64_t lost;
};

static FILE *file_of(const struct packets *packets, const char *path)
{
	size_t i;

	for (i = 0; i < packets->files.count; i++)
		if (!strcmp(packets->files.at[i].path, path))
			return packets->files.at[i].out;
	return NULL;
}

/* A record of perf's begins with its size, of four bytes: what follows is not aligned. */
static void take(void *context, int cpu, void *data, uint32_t size)
{
	struct packets *packets = context;
	struct packet_header header;
	struct rt_packet packet;
	FILE *out = NULL;
	uint64_t time;

	(void)cpu;
	if (size < sizeof(packet))
		return;
	memcpy(&packet, data, sizeof(packet));
	if (packet.event.site < packets->compiler->sites.count &&
	    packets->compiler->sites.at[packet.event.site].kind == SITE_PACKET)
		out = file_of(packets, packets->compiler->sites.at[packet.event.site].format);
	if (!out || packet.offset > packet.end || packet.end > size - sizeof(packet))
		return;
	time = (uint64_t)packets->boot_time + packet.time;
	header = (struct packet_header){.seconds = (uint32_t)(time / 1000000000),
					.nanoseconds = (uint32_t)(time % 1000000000),
					.size = packet.end - packet.offset,
					.whole = packet.whole - packet.offset};
	fwrite(&header, sizeof(header), 1, out);
	if (fwrite((const uint8_t *)data + sizeof(packet) + packet.offset, 1, header.size, out) != header.size)
		packets->lost++;
}

static void lose(void *context, int cpu, unsigned long long count)
{
	struct packets *packets = context;

	(void)cpu;
	packets->lost += count;
}

static int add_file(struct packets *packets, const char *path, struct diag *diag)
{
	const struct file_header header = {
		.magic = MAGIC_NANOSECONDS, .major = 2, .minor = 4, .most = RT_PACKET_MAX, .link_type = LINKTYPE_RAW};
	struct file file = {.path = path, .out = place_open(path)};

	if (!file.out)
		return diag_fail(diag, errno, "trace.packets", "%s cannot be written: %s", path, strerror(errno));
	if (vec_push(&packets->files, file)) {
		fclose(file.out);
		return diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	}
	fwrite(&header, sizeof(header), 1, file.out);
	return 0;
}

int packets_configure(struct bpf_object *object, struct diag *diag)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 1 || bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "packets"), (uint32_t)cpus))
		return diag_fail(diag, EINVAL, "trace.packets", "the packets' buffers cannot be sized");
	return 0;
}

int packets_create(const struct bpf_object *object, const struct compiler *compiler, int64_t boot_time,
		   struct packets **ret, struct diag *diag)
{
	struct packets *packets = calloc(1, sizeof(*packets));
	int err = 0;
	size_t i;

	if (!packets)
		return diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	packets->compiler = compiler;
	packets->boot_time = boot_time;
	for (i = 0; i < compiler->sites.count && !err; i++)
		if (compiler->sites.at[i].kind == SITE_PACKET && !file_of(packets, compiler->sites.at[i].format))
			err = add_file(packets, compiler->sites.at[i].format, diag);
	if (!err) {
		packets->buffer = perf_buffer__new(bpf_object__find_map_fd_by_name(object, "packets"), PAGES, take,
						   lose, packets, NULL);
		if (!packets->buffer)
			err = diag_fail(diag, errno, "trace.packets", "perf's buffers cannot be opened: %s",
					strerror(errno));
	}
	if (err)
		packets_destroy(packets);
	else
		*ret = packets;
	return err;
}

void packets_destroy(struct packets *packets)
{
	size_t i;

	if (!packets)
		return;
	perf_buffer__free(packets->buffer);
	for (i = 0; i < packets->files.count; i++)
		fclose(packets->files.at[i].out);
	vec_free(&packets->files);
	free(packets);
}

int packets_fd(const struct packets *packets)
{
	return perf_buffer__epoll_fd(packets->buffer);
}

void packets_drain(struct packets *packets)
{
	size_t i;

	perf_buffer__consume(packets->buffer);
	for (i = 0; i < packets->files.count; i++)
		if (fflush(packets->files.at[i].out))
			packets->lost++;
}

uint64_t packets_lost(const struct packets *packets)
{
	return packets->lost;
}
