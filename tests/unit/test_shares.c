// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/shares.h"
#include "tap.h"

static const struct share_owner hog = {1000, 1}, second = {1000, 2}, other = {2000, 3}, nobody = SHARE_NOBODY;

static void test_shares(void)
{
	struct shares shares = {.whole = 1600, .floor = 10, .user_16ths = 8, .process_16ths = 12};
	struct share_owner most;
	uint64_t amount;

	ok(!shares_most(&shares, &most, &amount), "nobody holds anything");
	is_int((int64_t)shares_left(&shares, &hog), 600, "a process: three quarters of its user's half");
	is_int(shares_take(&shares, &hog, 601), -ENOSPC, "no more");
	is_int(shares_take(&shares, &hog, 500), 0, "but less");
	is_int(shares_take(&shares, &hog, 100), 0, "in steps");
	is_int(shares_take(&shares, &hog, 1), -ENOSPC, "to the last");
	is_int((int64_t)shares_left(&shares, &second), 150, "another process of the user: as much of the rest");
	is_int((int64_t)shares_left(&shares, &other), 375, "another user: of what the first has left");
	is_int(shares_take(&shares, &second, 150), 0, "the second process takes it");
	is_int(shares_take(&shares, &(struct share_owner){1000, 4}, 37), 0, "a third one");
	is_int(shares_take(&shares, &(struct share_owner){1000, 5}, 10), 0,
	       "a fourth one gets the floor, with 9 by its share");
	is_int((int64_t)shares_left(&shares, &(struct share_owner){1000, 6}), 3,
	       "but no floor beyond the user's share");
	is_int(shares_take(&shares, &other, 300), 0, "the other user, who is not touched by that");
	ok(shares_most(&shares, &most, &amount) && most.process == 1 && most.user == 1000 && amount == 600,
	   "who has most");
	is_int(shares_take(&shares, &nobody, 1u << 30), 0, "nobody's has no bound");
	shares_give(&shares, &nobody, 1u << 30);
	shares_give(&shares, &hog, 600);
	ok(shares_left(&shares, &second) > 300, "what is given back is there for others");
	shares_give(&shares, &second, 150);
	shares_give(&shares, &(struct share_owner){1000, 4}, 37);
	shares_give(&shares, &(struct share_owner){1000, 5}, 10);
	shares_give(&shares, &other, 300);
	is_int((int64_t)shares.total, 0, "at the end all is");
	ok(!shares.users.count && !shares.processes.count, "and nobody is remembered");
	shares_deinit(&shares);
}

int main(void)
{
	test_shares();
	return tap_done();
}
