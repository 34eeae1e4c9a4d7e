/* Thread-locals, associative arrays, and what is freed by 0. */
self int depth;
string names[int];

BEGIN
{
	self->depth++;
	names[pid] = execname;
	seen[tid, "a"] += 2;
	self->depth = 0;
	names[1] = 0;
}

ERROR
{
	lost++;
}

END
/seen[1, "a"]/
{
	printf("%s\n", copyinstr(arg0));
}
