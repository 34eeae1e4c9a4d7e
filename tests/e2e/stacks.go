// SPDX-License-Identifier: GPL-2.0-or-later

// A program whose goroutines know their stacks, and keep changing to other ones: the runtime's allocator, its collector and C
// run on the thread's own. Arguments: what to do, and for how many seconds of CPU time. It is done `depth` calls deep.
package main

/*
#include <stdlib.h>
extern int goCompare(void *, void *);
static int compare(const void *a, const void *b) { return goCompare((void *)a, (void *)b); }
static void sortInC(int *at, int count) { qsort(at, count, sizeof(*at), compare); }
*/
import "C"

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const depth = 7

var sink interface{}

func used() int64 {
	var r, children syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children)
	return r.Utime.Nano() + r.Stime.Nano() + children.Utime.Nano() + children.Stime.Nano()
}

//go:noinline
func dive(n int, work func()) {
	if n > 0 {
		dive(n-1, work)
		return
	}
	work()
}

//go:noinline
func allocate() {
	for i := 0; i < 2000; i++ {
		sink = make([]byte, 1024+i*16)
	}
}

//go:noinline
func growMap() {
	m := map[int]*int{}
	for i := 0; i < 5000; i++ {
		v := i
		m[i] = &v
	}
	sink = m
}

//go:noinline
func deep(n int) int {
	var room [64]int
	if n == 0 {
		return 0
	}
	room[n&63] = n
	return deep(n-1) + room[(n+1)&63]
}

//go:noinline
func growStack() {
	done := make(chan int)
	for i := 0; i < 20; i++ {
		go grow(done)
		<-done
	}
}

//go:noinline
func grow(done chan int) {
	deep(200)
	done <- 1
}

//go:noinline
func collect() { runtime.GC() }

//go:noinline
func look() {
	for i := 0; i < 5000; i++ {
		sink = time.Now().Nanosecond() < 0
	}
}

//go:noinline
func give(c chan int) {
	for i := 0; i < 500; i++ {
		c <- i
	}
	close(c)
}

//go:noinline
func pass() {
	c := make(chan int)
	go give(c)
	for range c {
	}
}

var level int

//go:noinline
func compare(a, b int) C.int {
	if level < 2 && a == 7 {
		level++
		sortAgain()
		level--
	}
	sink = make([]byte, 64+a*8)
	return C.int(a - b)
}

//export goCompare
func goCompare(a, b unsafe.Pointer) C.int { return compare(int(*(*C.int)(a)), int(*(*C.int)(b))) }

//go:noinline
func sortAgain() { sortSome(20) }

//go:noinline
func sortSome(n int) {
	x := make([]C.int, n)
	for i := range x {
		x[i] = C.int((i*7919 + 7) % 100)
	}
	C.sortInC(&x[0], C.int(n))
}

//go:noinline
func callC() { sortSome(100) }

// A system call that puts the return address into a register, as the child shares the stack.
//
//go:noinline
func spawn() {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
	if err == nil {
		syscall.Wait4(pid, nil, 0, nil)
	}
}

// The same in a library, for a program in C.
//
//export Run
func Run() {
	main()
}

func main() {
	works := map[string]func(){"allocate": allocate, "map": growMap, "stack": growStack, "collect": collect, "clock": look,
		"channel": pass, "c": callC, "spawn": spawn}
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	done := make(chan int)
	go func() {
		for used() < int64(seconds*1e9) {
			dive(depth, works[os.Args[1]])
		}
		done <- 1
	}()
	<-done
}
