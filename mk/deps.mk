# SPDX-License-Identifier: GPL-2.0-or-later
# What the build and the tests need, from Debian 12's packages. docs/DEPENDENCIES.md gives the reason for each.

DEB_BUILD := gcc make clang bpftool pkg-config xxd libc6-dev \
	libbpf-dev libdw-dev libcapstone-dev libprotobuf-c-dev protobuf-c-compiler \
	zlib1g-dev libxxhash-dev liblzma-dev libiberty-dev libncurses-dev
DEB_TEST := ccache lld python3 python3-greenlet python3-uvloop libpython3-dev perl g++ binutils dwz xz-utils gdb libclang-rt-14-dev chromium golang-go luajit nodejs sbcl musl-tools \
	tmux debuginfod uwsgi-core uwsgi-plugin-python3 libc6-arm64-cross libstdc++6-arm64-cross
DEB_KERNELS := qemu-system-x86 busybox-static cpio gcc libc6-dev python3
DEB_ALL := $(DEB_BUILD) $(DEB_TEST) $(DEB_KERNELS)

.PHONY: deps deps-build
deps-build:
	@mk/install-packages $(DEB_BUILD)
deps:
	@mk/install-packages $(DEB_ALL)
