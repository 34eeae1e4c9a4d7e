#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz/run.sh SECONDS fuzz/fuzz_NAME.c...
#
# Builds each target with libFuzzer, AddressSanitizer and UBSan, and runs it for SECONDS from its corpus,
# fuzz/corpus/NAME/. New inputs go to a temporary directory, so the corpus stays small; an input that crashes is kept in
# build-fuzz/. Status 1 when one did. CLANG names the compiler; it is clang-14 where there is one, else clang.
set -u
cd "$(dirname "$0")/.." || exit 2
seconds=${1:-}
case $seconds in '' | *[!0-9]*)
	echo "usage: fuzz/run.sh SECONDS fuzz/fuzz_NAME.c..." >&2
	exit 2
	;;
esac
shift
clang=${CLANG:-$(command -v clang-14 || command -v clang)}
if [ -z "$clang" ]; then
	echo "fuzz/run.sh: no clang; install clang (make deps)" >&2
	exit 2
fi
out=build-fuzz
packages="libbpf libdw capstone libprotobuf-c zlib libxxhash liblzma"
flags="-std=gnu17 -D_GNU_SOURCE -DSTRATA_VERSION=\"fuzz\" -Isrc -Ibuild/gen -Itests/unit -O1 -g -Wall
	-fno-omit-frame-pointer $(pkg-config --cflags $packages)"
sanitizers="-fsanitize=address,undefined -fno-sanitize-recover=undefined"

# The library once, instrumented, with only what changed since compiled again.
build_library() {
	make --no-print-directory -s build/gen/profile.pb-c.h build/gen/analyser.inc build/gen/syscalls.inc || return 1
	local object source objects=()
	for source in $(find src -name '*.c' ! -name '*.bpf.c' ! -path 'src/cli/*' | sort) build/gen/profile.pb-c.c; do
		object=$out/${source%.c}.o
		objects+=("$object")
		mkdir -p "${object%/*}"
		if [ ! -e "$object" ] || [ -n "$(find src build/gen -newer "$object" -name '*.h' -print -quit)" ] ||
			[ "$source" -nt "$object" ]; then
			"$clang" $flags $sanitizers -fsanitize=fuzzer-no-link -c "$source" -o "$object" || return 1
		fi
	done
	rm -f $out/libstrata.a
	ar rcs $out/libstrata.a "${objects[@]}"
}

mkdir -p $out
# Whoever runs several of these side by side builds the library first: fuzz/run.sh 0, without targets.
[ -n "${FUZZ_LIBRARY_BUILT:-}" ] || build_library || exit 1
status=0
for target in "$@"; do
	name=$(basename "$target" .c)
	name=${name#fuzz_}
	if ! "$clang" $flags $sanitizers -fsanitize=fuzzer -o "$out/$name" "$target" $out/libstrata.a \
		$(pkg-config --libs $packages) -liberty -lm; then
		status=1
		continue
	fi
	found=$(mktemp -d) || exit 1
	corpus=()
	[ -d "fuzz/corpus/$name" ] && corpus=("fuzz/corpus/$name")
	echo "# $name: $seconds s"
	if ! "$out/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="$out/$name-" "$found" "${corpus[@]}" >"$out/$name.log" 2>&1; then
		tail -40 "$out/$name.log" >&2
		status=1
	fi
	grep -E 'number_of_executed_units|peak_rss' "$out/$name.log" | sed 's/^/# /'
	rm -rf "$found"
done
exit $status
