/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * containers: which container, pod or unit a cgroup belongs to, by its path, and by files that container engines keep
 * on disk. No engine is asked. Thread-safe.
 *
 *   Docker      /docker/ID, …/docker-ID.scope         its name: /var/lib/docker/containers/ID/config.v2.json
 *   Podman      …/libpod-ID.scope[/container]         /var/lib/containers/storage/overlay-containers/containers.json
 *   Kubernetes  /kubepods…/podUID/ID, …-podUID.slice/{cri-containerd,crio,docker}-ID.scope
 *                                                     /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *   LXC         /lxc.payload.NAME, /lxc/NAME          nspawn  …/machine-NAME.scope, systemd-nspawn@NAME.service
 *   systemd     the innermost part that ends in .service, .scope or .slice is its unit
 *
 * Sources: systemd.resource-control(5); runc, libcontainer/cgroups/systemd (NAME-ID.scope); kubelet,
 * pkg/kubelet/cm/cgroup_manager_linux.go (slices of pods, in whose UID `-` is written `_`); lxc, src/lxc/cgroups
 * (lxc.payload).
 */
#ifndef STRATA_PROC_CONTAINERS_H
#define STRATA_PROC_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_TEXT_MAX 256

struct container {
	const char *engine;            /* "docker", "podman", "kubernetes", "lxc", "nspawn"; NULL: in no container */
	char id[65];                   /* 64 hexadecimal digits; "": it has none */
	char name[CONTAINER_TEXT_MAX]; /* "": not known */
	char pod[CONTAINER_TEXT_MAX];  /* Kubernetes: NAMESPACE/POD, or the pod's UID where no name is known; else "" */
	char unit[CONTAINER_TEXT_MAX]; /* "": none */
};

/*
 * What a cgroup's path (proc/cgroups.h) says. `root` is put before the paths on disk: "", or a folder for tests. False:
 * it is in no container, and has no unit.
 */
bool container_of(const char *path, const char *root, struct container *ret);

/* Its name, or the beginning of its id; "" if it has none. */
void container_name(const struct container *container, char *ret, size_t size);

/* For people: "web", "shop/cart-7d9f:app", "3f2a9c81d0b4", "cron.service"; "" if there is nothing. */
void container_text(const struct container *container, char *ret, size_t size);

/*
 * Does this mean the container: its name, its pod's with or without the namespace, its id or at least four digits of
 * its beginning?
 */
bool container_is(const struct container *container, const char *wanted);

#endif
