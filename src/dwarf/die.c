// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/die.h"

#include <dwarf.h>

#define CHILDREN_MAX (1u << 20)
#define REFERENCES   32 /* from type to type */

void die_children(Dwarf_Die *parent, bool (*each)(void *context, Dwarf_Die *child), void *context)
{
	uint32_t left = CHILDREN_MAX;
	Dwarf_Die child;

	if (dwarf_child(parent, &child))
		return;
	while (left-- && each(context, &child) && !dwarf_siblingof(&child, &child))
		;
}

const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

bool die_number(Dwarf_Die *die, unsigned int name, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value))
		return false;
	*ret = value;
	return true;
}

bool die_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	bool is = false;

	return !dwarf_formflag(dwarf_attr_integrate(die, name, &attribute), &is) && is;
}

bool die_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), ret) != NULL;
}

bool die_peel(Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at = *type;
	unsigned int i;

	for (i = 0; i < REFERENCES; i++) {
		switch (dwarf_tag(&at)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
			if (!die_type(&at, &at))
				return false;
			break;
		default:
			*ret = at;
			return true;
		}
	}
	return false;
}

struct dimensions {
	uint64_t *at;
	size_t count;
};

static bool add_dimension(void *context, Dwarf_Die *child)
{
	struct dimensions *dimensions = context;
	uint64_t low = 0, high;

	if (dwarf_tag(child) != DW_TAG_subrange_type)
		return true;
	if (dimensions->count == DIE_DIMENSIONS_MAX)
		return false;
	dimensions->at[dimensions->count] = 0;
	die_number(child, DW_AT_lower_bound, &low);
	if (die_number(child, DW_AT_count, &high))
		dimensions->at[dimensions->count] = high;
	else if (die_number(child, DW_AT_upper_bound, &high) && high + 1 > low)
		dimensions->at[dimensions->count] = high - low + 1;
	/* int a[] has an upper bound of -1 for some compilers. */
	if (dimensions->at[dimensions->count] > DIE_SIZE_MAX)
		dimensions->at[dimensions->count] = 0;
	dimensions->count++;
	return true;
}

size_t die_dimensions(Dwarf_Die *array, uint64_t ret[DIE_DIMENSIONS_MAX])
{
	struct dimensions dimensions = {.at = ret};

	die_children(array, add_dimension, &dimensions);
	return dimensions.count;
}

/* An enumeration's may be that of the type below it. */
static bool own_size(Dwarf_Die *type, uint64_t *ret)
{
	Dwarf_Die below;

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		if (!die_number(type, DW_AT_byte_size, ret))
			*ret = 8;
		return true;
	case DW_TAG_enumeration_type:
		return die_number(type, DW_AT_byte_size, ret) ||
		       (die_type(type, &below) && die_peel(&below, &below) && die_number(&below, DW_AT_byte_size, ret));
	default:
		return die_number(type, DW_AT_byte_size, ret);
	}
}

bool die_size(Dwarf_Die *type, uint64_t *ret)
{
	uint64_t elements = 1, dimensions[DIE_DIMENSIONS_MAX], size;
	Dwarf_Die at = *type;
	unsigned int depth;
	size_t count, i;

	for (depth = 0; depth < REFERENCES; depth++) {
		if (!die_peel(&at, &at))
			return false;
		if (own_size(&at, &size)) {
			if (size > DIE_SIZE_MAX || size * elements > DIE_SIZE_MAX)
				return false;
			*ret = size * elements;
			return true;
		}
		if (dwarf_tag(&at) != DW_TAG_array_type)
			return false;
		count = die_dimensions(&at, dimensions);
		for (i = 0; i < count; i++) {
			elements *= dimensions[i];
			if (elements > DIE_SIZE_MAX)
				return false;
		}
		if (!die_type(&at, &at))
			return false;
	}
	return false;
}
