// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "symbol/demangle.h"
#include "tap.h"

static void check(const char *name, const char *expected)
{
	char *got = demangle(name);

	if (expected)
		is_str(got, expected, "%s", name);
	else
		ok(!got, "%.60s is left as it is", name);
	free(got);
}

/* Each substitution holds the one before twice: the readable form doubles with every four characters. */
static void test_bomb(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f";
	size_t at = strlen("_Z1f");
	int i;

	check("_Z1f1aIiiES_IS0_S0_E", "f(a<int, int>, a<a<int, int>, a<int, int> >)");
	at += (size_t)sprintf(name + at, "1aIiiE");
	for (i = 0; i < 30; i++)
		at += (size_t)sprintf(name + at, "S_IS%c_S%c_E", digits[i], digits[i]);
	check(name, NULL);
}

static void test_long(void)
{
	char *name = malloc(200 * 1024);

	memset(name, 'P', 200 * 1024);
	memcpy(name, "_Z1f", 4);
	name[200 * 1024 - 1] = '\0';
	check(name, NULL);
	name[60 * 1024] = '\0';
	check(name, NULL);
	name[1500] = 'i';
	name[1501] = '\0';
	check(name, NULL);
	free(name);
}

int main(void)
{
	check("main", NULL);
	check("", NULL);
	check("_Z", NULL);
	check("_Zxx", NULL);
	check("_R", NULL);
	check("@plt", NULL);
	check("_Z@plt", NULL);
	check("_ZN4core4sort3fooEi", "core::sort::foo(int)");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_Z3foov.cold", "foo() [clone .cold]");
	check("_Z3foov.constprop.0.part.1", "foo() [clone .constprop.0] [clone .part.1]");
	check("_Z3foov@plt", "foo()@plt");
	check("_GLOBAL__sub_I_main", NULL);
	check("_GLOBAL__I__Z3foov", "global constructors keyed to foo()");
	check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	check("_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
	      "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt");
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	test_bomb();
	test_long();
	return tap_done();
}
