// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/containers.h"

#include "proc/cgroups.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void write_file(const char *root, const char *path, const char *text)
{
	char whole[4096], *at;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0700);
		*at = '/';
	}
	file = fopen(whole, "w");
	fputs(text, file);
	fclose(file);
}

/* "ENGINE|TEXT|UNIT" of a path. */
static const char *said(const char *path, const char *root)
{
	static char ret[1024];
	struct container container;
	char text[512];

	if (!container_of(path, root, &container))
		return "none";
	container_text(&container, text, sizeof(text));
	snprintf(ret, sizeof(ret), "%s|%s|%s", container.engine ? container.engine : "", text, container.unit);
	return ret;
}

/* Its id leads back to each cgroup, and so does each way to write its path. */
static bool check_cgroup(void *context, uint64_t id, const char *path)
{
	char found[PATH_MAX] = "";
	int fd = cgroup_open(path, found, sizeof(found)), *wrong = context;
	struct stat stat;

	if (fd < 0) /* it is gone, or not ours to look at */
		return true;
	if (fstat(fd, &stat) || stat.st_ino != id || strcmp(found, path) || !cgroup_path(id, found, sizeof(found)) ||
	    strcmp(found, path)) {
		printf("# %s: %s\n", path, found);
		++*wrong;
	}
	close(fd);
	return true;
}

static void test_machine(void)
{
	char path[PATH_MAX] = "";
	int wrong = 0, fd;

	if (!cgroups_each(check_cgroup, &wrong)) {
		ok(true, "cgroups of this machine # SKIP none of version 2");
		return;
	}
	is_int(wrong, 0, "cgroups of this machine, by id and by path");
	fd = cgroup_open("/", path, sizeof(path));
	ok(fd >= 0 && !strcmp(path, "/"), "the root");
	close(fd);
	is_int(cgroup_open("no/such/one", path, sizeof(path)), -ENOENT, "one that is not there");
	is_int(cgroup_open("../../../../etc", path, sizeof(path)), -ENODEV, "what is no cgroup");
	ok(!cgroup_path(~0ull, path, sizeof(path)), "an id that nobody has");
}

int main(void)
{
	char root[] = "/tmp/strata-containers-XXXXXX", command[64];
	struct container container;

	if (!mkdtemp(root))
		return 1;
	is_str(said("/", root), "none", "the root");
	is_str(said("/user/1000", root), "none", "a cgroup like any other");
	is_str(said("/system.slice/cron.service", root), "|cron.service|cron.service", "a unit");
	is_str(said("/user.slice/user-0.slice/session-3.scope", root), "|session-3.scope|session-3.scope", "a session");
	is_str(said("/docker/" ID, root), "docker|0123456789ab|", "Docker, without a name");
	is_str(said("/system.slice/docker-" ID ".scope", root), "docker|0123456789ab|docker-" ID ".scope",
	       "by systemd");
	write_file(root, "/var/lib/docker/containers/" ID "/config.v2.json",
		   "{\"Args\":[],\"MountPoints\":{\"/x\":{\"Name\":\"volume\"}},\"Name\":\"/web\",\"ID\":\"" ID "\"}");
	is_str(said("/docker/" ID, root), "docker|web|", "with its name");
	is_str(said("/docker/" ID "/inner", root), "docker|web|", "a cgroup inside");
	is_str(said("/machine.slice/libpod-" ID ".scope/container", root), "podman|0123456789ab|libpod-" ID ".scope",
	       "Podman");
	write_file(root, "/var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"id\":\"f" ID "\",\"names\":[\"other\"]},{\"id\":\"" ID
		   "\",\"names\":[\"db\",\"x\"],\"image\":\"y\"}]");
	is_str(said("/machine.slice/libpod-" ID ".scope", root), "podman|db|libpod-" ID ".scope", "with its name");
	is_str(said("/kubepods/burstable/pod12-ab/" ID, root), "kubernetes|12-ab:0123456789ab|",
	       "Kubernetes, cgroupfs");
	is_str(said("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice/cri-containerd-" ID
		    ".scope",
		    root),
	       "kubernetes|12-ab:0123456789ab|cri-containerd-" ID ".scope", "by systemd");
	is_str(said("/kubepods.slice/kubepods-pod12_ab.slice", root), "kubernetes|12-ab|kubepods-pod12_ab.slice",
	       "a pod");
	write_file(root, "/var/log/containers/cart-7d9f_shop_app-" ID ".log", "");
	container_of("/kubepods/pod12-ab/" ID, root, &container);
	is_str(container.name, "app", "Kubernetes' names: the container");
	is_str(container.pod, "shop/cart-7d9f", "and the pod");
	ok(container_is(&container, "app") && container_is(&container, "shop/cart-7d9f") &&
		   container_is(&container, "cart-7d9f") && container_is(&container, "0123") &&
		   container_is(&container, ID),
	   "all of them mean it");
	ok(!container_is(&container, "012") && !container_is(&container, "0124") && !container_is(&container, "") &&
		   !container_is(&container, "shop") && !container_is(&container, ID "0"),
	   "others do not");
	is_str(said("/lxc.payload.mail/init.scope", root), "lxc|mail|init.scope", "LXC");
	is_str(said("/lxc/mail", root), "lxc|mail|", "before");
	is_str(said("/machine.slice/machine-build.scope", root), "nspawn|build|machine-build.scope", "nspawn");
	is_str(said("/machine.slice/systemd-nspawn@build.service", root), "nspawn|build|systemd-nspawn@build.service",
	       "as a service");
	is_str(said("/docker/0123456789abcdef", root), "none", "too short for an id");
	is_str(said("//.scope/.slice//x-.scope", root), "|x-.scope|x-.scope", "odd paths");
	ok(cgroup_is_below("/a/b", "/a/b") && cgroup_is_below("/a/b/c", "/a/b") && cgroup_is_below("/a", "/") &&
		   cgroup_is_below("/", "/"),
	   "below a cgroup");
	ok(!cgroup_is_below("/a/bc", "/a/b") && !cgroup_is_below("/a", "/a/b") && !cgroup_is_below("/", "/a"),
	   "beside it");
	test_machine();
	snprintf(command, sizeof(command), "rm -r %s", root);
	ok(!system(command), "tidied up");
	return tap_done();
}
