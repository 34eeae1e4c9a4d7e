/* All aggregating functions. */
tick-1s
{
	@c[cpu, "x"] = count();
	@q = quantize(5, 2);
	@l = lquantize(cpu, 0, 10, 2);
	@g = llquantize(cpu, 10, 0, 3, 20);
	@s = stddev(cpu);
	@m = min(cpu);
	printa("%d %s %@d\n", @c);
	trunc(@c, 5);
	normalize(@m, 10);
	clear(@q);
}
