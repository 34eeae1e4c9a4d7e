// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with an interpreter in it, which is no python: host SCRIPT. Linked with libpython.a or libpython.so; with
 * BUNDLED, it is what bundlers (PyInstaller's onefile) make: it carries a libpython behind its own end, unpacks it into
 * a folder of its own, opens it, and removes it again.
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef BUNDLED
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
#else
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* The last eight bytes are the library's size, and it stands before them. */
static int unpack(const char *path)
{
	FILE *self = fopen("/proc/self/exe", "rb"), *out = fopen(path, "wb");
	char buffer[65536];
	size_t got;
	long size;

	if (!self || !out || fseek(self, -8, SEEK_END) || fread(&size, sizeof(size), 1, self) != 1 ||
	    fseek(self, -8 - size, SEEK_END))
		return -1;
	while (size && (got = fread(buffer, 1, size < (long)sizeof(buffer) ? (size_t)size : sizeof(buffer), self))) {
		fwrite(buffer, 1, got, out);
		size -= (long)got;
	}
	fclose(self);
	return fclose(out) || size ? -1 : 0;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/_MEIXXXXXX", path[64];
	int (*run)(int, char **);
	void *library;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/libembedded.so", folder);
	library = unpack(path) ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	unlink(path);
	rmdir(folder);
	run = library ? (int (*)(int, char **))dlsym(library, "Py_BytesMain") : NULL;
	return run ? run(argc, argv) : 1;
}
#endif
