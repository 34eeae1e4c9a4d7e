/* C's rules: narrow operands become int, mixed ones unsigned or the wider type. */
BEGIN
{
	a = (char)200 + 1;
	b = 0xffffffff + 1;
	c = -1 < 1u;
	d = a / b;
	e = (uint16_t)70000;
	f = a ? b : 5ull;
	a += 7;
	g = b >> 3;
	h = -a >> 1;
}
