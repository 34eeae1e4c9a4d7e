// SPDX-License-Identifier: GPL-2.0-or-later

// gone FRAMES SECONDS: a recursion of so many frames of dive(), whose innermost one computes for so many seconds of CPU
// time, and not less than an emulated machine computes in that time that has a CPU for itself.
package main

import (
	"os"
	"strconv"
	"syscall"
)

const roundsPerSecond = 1800

var sink uint64

func cpuTime() float64 {
	var usage syscall.Rusage

	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

//go:noinline
func grind(seconds float64) {
	end := cpuTime() + seconds
	for rounds := 0; rounds < int(seconds*roundsPerSecond) || cpuTime() < end; rounds++ {
		for i := 0; i < 100000; i++ {
			sink = sink*31 + 1
		}
	}
}

//go:noinline
func dive(left int, seconds float64) uint64 {
	if left > 1 {
		return dive(left-1, seconds) + sink
	}
	grind(seconds)
	return sink
}

func main() {
	frames, _ := strconv.Atoi(os.Args[1])
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	grind(1)
	dive(frames, seconds)
}
