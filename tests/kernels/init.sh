#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# /init of the guest: runs strata doctor, each line of /runs ("NAME ARGUMENTS OF STRATA RECORD") and of /traces ("NAME COMMAND", the
# program in /NAME.bt), and strata stack, says on the console which one is under way and where one stands that does not end (UNDER_WAY and STILL of
# guest.py), sends /results as a tar.gz to the second serial line, and switches the machine off.
export PATH=/bin HOME=/
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /tmp /var/cache /results
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up

begin() {
	echo "$1" >/under-way
	echo "under way: $1" >/dev/kmsg
}

watch() {
	while sleep 60; do
		now=$(cat /under-way)
		if [ "$now" = "$before" ]; then
			echo "still under way: $now" >/dev/kmsg
			for pid in $(pidof strata); do
				cat "/proc/$pid/stack" >/dev/kmsg
			done
			echo l >/proc/sysrq-trigger
		fi
		before=$now
	done
}

begin doctor
watch &
uname -r >/results/release
strata doctor --json >/results/doctor.json
while read -r name arguments; do
	begin "record $name"
	# shellcheck disable=SC2086
	strata record -o "/results/$name.folded" --stats "/results/$name.json" $arguments </dev/null >"/results/$name.log" 2>&1
	echo $? >"/results/$name.status"
done </runs
while read -r name command; do
	begin "trace $name"
	strata trace -q --unsafe --max-sample-time 10s ${command:+-c "$command"} "/$name.bt" </dev/null >"/results/trace-$name.log" 2>&1
	echo $? >"/results/trace-$name.status"
done </traces
begin stack
python3 -I -S /stack.py &
until [ -e /tmp/ready ]; do usleep 10000; done
strata stack --json $! >/results/stack.json 2>/results/stack.log
# The thread that spins has a CPU for itself until here. QEMU lets it run for 100 ms whenever strata waits for that CPU: now it is on
# strata's, and gets what strata leaves. A machine that is too slow for one moment of at most 50 ms is asked again.
for thread in /proc/$!/task/*; do
	taskset -p 1 "${thread##*/}"
done
for _ in 1 2 3 4 5 6 7 8 9 10; do
	taskset 1 strata stack --json --freeze $! >/results/frozen.json 2>>/results/stack.log
	grep -q frozen_ms /results/frozen.json && break
done
begin "the end"
stty -F /dev/ttyS1 raw
tar -c -C /results . | gzip -1 >/dev/ttyS1
sync
poweroff -f
