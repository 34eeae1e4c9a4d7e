/* Two clauses for one place are one program; an if makes records of its own. */
int total;

BEGIN
{
	this->x = 3;
	total = this->x + 1;
}

BEGIN
/total > 2/
{
	printf("%d %s\n", this->x, "a");
	if (total == 4) {
		trace(total);
	} else {
		trace("no");
	}
	exit(total - 4);
}
