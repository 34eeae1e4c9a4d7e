// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/dialect/bpftrace/print/format.h"

#include <ctype.h>
#include <string.h>

static const char *number(const char *at, int *ret)
{
	int value = 0;

	while (isdigit((unsigned char)*at)) {
		value = value < 10000 ? value * 10 + (*at - '0') : value;
		at++;
	}
	*ret = value;
	return at;
}

static const char *flags(const char *at, struct conversion *ret)
{
	for (;; at++) {
		if (*at == '-')
			ret->left = true;
		else if (*at == '0')
			ret->zero = true;
		else if (*at == '+')
			ret->plus = true;
		else if (*at == ' ')
			ret->space = true;
		else if (*at == '#')
			ret->hash = true;
		else
			return at;
	}
}

static const char *length(const char *at, struct conversion *ret)
{
	ret->bytes = 4;
	if (*at == 'h') {
		ret->bytes = at[1] == 'h' ? 1 : 2;
		return at + (at[1] == 'h' ? 2 : 1);
	}
	for (; *at == 'l' || *at == 'j' || *at == 'z' || *at == 't'; at++)
		ret->bytes = 8;
	return at;
}

bool format_next(const char *at, struct conversion *ret)
{
	while ((at = strchr(at, '%')) && at[1] == '%')
		at += 2;
	if (!at)
		return false;
	*ret = (struct conversion){.begin = at, .width = -1, .precision = -1};
	at = flags(at + 1, ret);
	if (isdigit((unsigned char)*at))
		at = number(at, &ret->width);
	if (*at == '.')
		at = number(at + 1, &ret->precision);
	at = length(at, ret);
	if (*at == 'g' && at[1] == 'r') {
		ret->letter = 'g';
		at += 2;
	} else if (*at && strchr("diuxXocpsr", *at)) {
		ret->letter = *at++;
	} else if (*at) {
		at++;
	}
	if (ret->letter == 'r' && (*at == 'x' || *at == 'h'))
		ret->variant = *at++;
	if (ret->letter == 'p')
		ret->bytes = 8;
	ret->end = at;
	return true;
}
