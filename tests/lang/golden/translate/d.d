#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a translation of D looks like. Each line that cannot be said is marked.
 */
#pragma D option quiet

int total;
string last;
inline int LIMIT = 10;
inline string WORD = "word";

BEGIN
{
	/* in front of a line */
	total = 0; /* behind it */
	printf("start \"%s\" %d%%\n", WORD, LIMIT);
	printf("%s %d\n", $$1, $2);
}

// Two places that need not differ.
BEGIN, tick-1s
/total >= 0 && !last/
{
	total++;
	a["x", 1] = total;
	a["x", 2] += 0x10;
	a["x", 1] = 0;
	last = a["x", 2] > 5 ? "big" : "small";
	this->i = this->j = total * (2 + total) - -1;
	trace(this->i ^^ this->j);
}

syscall::read:entry, syscall::write:entry
/pid == $target && execname != "sh"/
{
	self->start = timestamp;
	self->name = probefunc;
	@calls[probefunc] = count();
	@[execname, pid] = quantize(arg2);
	@steps = lquantize(arg2, 0, 1000, 100);
}

syscall::read:return
/self->start/
{
	this->took = timestamp - self->start;
	if (this->took > LIMIT) {
		this->error = errno;
		printf("%-10s %5d %Y %d\n", execname, this->took / 1000, walltimestamp, this->error);
	} else if (arg0 < 0)
		this->error = 0;
	else {
		exit(0);
	}
	@took = avg(this->took);
	self->start = 0;
}

syscall:::entry
/probefunc == "openat"/
{
	printf("%s %x\n", probefunc, arg0);
}

profile-97
{
	@stacks[ustack(), tid] = count();
	stack(5);
	trunc(@calls, 5);
	printa(@calls);
	exit(0);
	total = 3;
}

pid$target:libc.so.6:malloc:entry
{
	@sizes[usym(uregs[0])] = sum(arg0);
	printf("%*s%s\n", self->depth * 2, "", copyinstr(arg1));
	self->depth++;
}

pid$target:libc.so.6:malloc:return
{
	trace(arg1);
}

python$target:::function-entry
{
	printf("%s:%s:%d\n", basename(copyinstr(arg0)), copyinstr(arg1), arg2);
}

proc:::exec-success, sched:::off-cpu
{
	trace(args[0]->pr_fname);
}

lockstat:::spin
{
	@z = llquantize(arg0, 10, 0, 6, 20);
}

ERROR
{
	exit(1);
}

END
{
	normalize(@took, 1000);
	printa("%s %@d\n", @calls);
	printa(@z);
	clear(@sizes);
	/* the end */
}
