#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# D: what is wrong with a program is told with dtrace's tag, of dtrace's line, and mostly in its words. Needs root.
. "$(dirname "$0")/d_says.sh"

# The message is EXPECTED, behind the file's name.
mistake() # NAME EXPECTED PROGRAM
{
	local name=$1 expected=$2 got
	printf '%s' "$3" > "$folder/x.d"
	got=$(_DTRACE_TESTING=1 timeout 60 "$dtrace" -xerrtags -qs "$folder/x.d" 2>&1 < /dev/null)
	got=${got#"dtrace: failed to compile script $folder/x.d: "}
	n=$((n + 1))
	if [ "$got" = "$expected" ]; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		printf '%s\n' "$got" | sed 's/^/# /'
	fi
}

# --- words ---
mistake "a line's end in a string: the line behind it" '[D_STR_NL] line 3: newline encountered in string literal' 'BEGIN
{ h = "hello
there"; }'
mistake "a line's end in a character" '[D_CHR_NL] line 3: newline encountered in character constant' "BEGIN
{ h = '
'; }"
mistake "no character" '[D_CHR_NULL] line 1: empty character constant' "BEGIN { h = ''; }"
mistake "too many" '[D_CHR_OFLOW] line 1: character constant is too long' "BEGIN { h = 'abcdefghi'; }"
mistake "a digit that octal numbers do not have" '[D_INT_DIGIT] line 1: constant 0128 contains invalid digit 8' 'BEGIN { 0128; }'
mistake "a number of more than 64 bits" '[D_INT_OFLOW] line 1: constant 0x12345678123456781 results in integer overflow' \
	'BEGIN { 0x12345678123456781; }'
mistake "letters behind a number" '[D_SYNTAX] line 1: syntax error near "ms"' 'BEGIN { x = 10ms; }'
mistake "a description alone, in a file" '[D_SYNTAX] line 1: expected predicate and/or actions following probe description' 'BEGIN
'
mistake "two words that are neither a type nor a description" \
	'[D_SYNTAX] line 1: expected predicate and/or actions following probe description' 'define VALUE 5
BEGIN { exit(0); }'
mistake "operands in a predicate: the line of what follows it" '[D_OP_INT] line 3: operator & requires operands of integral type' '
BEGIN /"a" & "b"/
{ exit(0); }'
mistake "a name in a predicate: its own line" '[D_IDENT_UNDEF] line 2: failed to resolve x: Unknown variable name' 'BEGIN
/x != 0/
{ exit(0); }'
mistake "a predicate without a number: the line where the clause ends" '[D_PRED_SCALAR] line 4: predicate result must be of scalar type' \
	'int a[4]; BEGIN
/a/
{ exit(0);
}'
mistake "the last expression of a clause: the line of the brace" \
	'[D_CAST_INVAL] line 4: invalid cast expression: "pointer to translated data" to "uintptr_t"' 'struct in { int a; } *f; struct out { int b; };
translator struct out < struct in *i > { b = i->a; };
BEGIN { x = (uintptr_t)xlate<struct out *>(f)
}'
mistake "a translator's member: the line of what follows it" \
	'[D_XLATE_INCOMPAT] line 3: translator member p definition uses incompatible types: "char *" = "char"' 'struct in { char c; }; struct out { char *p; };
translator struct out < struct in *i > { p = i->c;
};
BEGIN { exit(0); }'
mistake "a name that is no type" '[D_SYNTAX] line 1: failed to resolve type pint: Type not found' \
	'typedef pint new_int; BEGIN { exit(0); }'
mistake "an enum that there is not" '[D_TYPE_ERR] line 1: failed to resolve type enum nope: Type not found' \
	'BEGIN { trace(sizeof(enum nope)); }'
mistake "a bracket too many" '[D_SYNTAX] line 1: extra ] in input stream' 'BEGIN { trace(arg0]); }'
mistake "a parenthesis too many" '[D_SYNTAX] line 1: extra ) in input stream' 'BEGIN { trace(epid)); }'
mistake "one that is missing in a predicate" '[D_SYNTAX] line 2: closing ) expected in predicate before /' 'BEGIN /rand(/
{ trace(epid); }'
mistake "a brace too many" '[D_SYNTAX] line 2: syntax error near "}"' 'BEGIN { trace(epid); }
}'
mistake "one that is missing: the line behind the last one" '[D_SYNTAX] line 3: syntax error near end of input' 'BEGIN {
trace(epid);
'
mistake "a comment without end" '[D_SYNTAX] line 2: end-of-file encountered before matching */' 'BEGIN {} /* This
'
mistake "a clause without a body, which the next line is not" \
	'[D_SYNTAX] line 1: expected predicate and/or actions following probe description' 'profile-1
exit(0); }'
mistake "a declaration in a clause" '[D_SYNTAX] line 1: syntax error near "int"' 'BEGIN { int i = 0; }'
mistake "a typedef in a clause" '[D_SYNTAX] line 1: syntax error near "typedef"' 'BEGIN { typedef int i; }'

# --- control lines ---
mistake "#pragma D error" '[D_PRAGERR] line 1: #error: so it is ' '#pragma D error "so it is"
BEGIN {}'
mistake "#pragma D depends_on library" '[D_PRAGMA_DEPEND] line 1: main program may not explicitly depend on a library' \
'#pragma D depends_on library net.d
BEGIN {}'
mistake "attributes of nothing" '[D_PRAGMA_MALFORM] line 1: malformed #pragma attributes <attributes> <ident>' \
'#pragma D attributes Stable/Stable/Common
BEGIN {}'
mistake "attributes that there are not" '[D_PRAGMA_INVAL] line 1: invalid attributes specified by #pragma attributes' \
'#pragma D attributes incorrect foo
BEGIN {}'
mistake "attributes of what is not declared" '[D_PRAGMA_UNUSED] line 1: unused #pragma attributes' \
'#pragma D attributes Stable/Stable/Common foo
BEGIN {}'
mistake "more than one option in a line" '[D_PRAGMA_MALFORM] line 1: superfluous arguments specified for #pragma option' \
'#pragma D option nspec=24 * 44
BEGIN {}'

# --- declarations ---
mistake "an inline definition of what is one" "[D_DECL_IDRED] line 2: identifier redefined: foo
	 current: inline definition
	previous: scalar inline" 'inline int foo = 1;
inline int foo = 8;'
mistake "an inline definition by itself" '[D_IDENT_UNDEF] line 1: failed to resolve foo: Unknown variable name' \
	'inline int foo = foo + 3;'
mistake "an inline definition of another type" \
	'[D_OP_INCOMPAT] line 1: inline i definition uses incompatible types: "int" = "string"' 'inline int i = "text";'
mistake "a class of storage that D does not have" '[D_DECL_BADCLASS] line 1: specified storage class not appropriate in D' \
	'register x; BEGIN {}'
mistake "long char" '[D_DECL_CHARATTR] line 1: invalid type declaration: short and long may not be used with char type' \
	'BEGIN { i = (char long)0; }'
mistake "short long" '[D_UNKNOWN] line 1: failed to resolve type short long : Unknown type name' \
	'BEGIN { i = (long short)0; }'
mistake "a declaration of nothing" '[D_DECL_USELESS] line 1: useless declaration' 'extern int; BEGIN {}'
mistake "a name with a module" '[D_DECL_SCOPE] line 1: D scoping operator may not be used in a declaration name (`xyz)' \
	'int `xyz; BEGIN {}'
mistake "a struct without members" '[D_SYNTAX] line 1: syntax error near "}"' 'struct foo { };'
mistake "a member twice" "[D_UNKNOWN] line 2: failed to define member 'x': Duplicate member or variable name" \
'struct foo { int x;
char x; };'
mistake "a member that is a function" '[D_DECL_VOIDOBJ] line 1: cannot have void member: f' 'struct { int f(); } s;'
mistake "an enumerator that is no number" \
	"[D_DECL_ENCONST] line 2: enumerator 'TAG' must be assigned to an integral constant expression" 'enum e { TAG = "x"
};'
mistake "one that is no int" "[D_DECL_ENOFLOW] line 1: enumerator 'A' value overflows INT_MAX (2147483647)" \
	'enum e { A = 2147483648 };'

# --- translators ---
both='struct in { int i; char c; } *v; struct out { int a; char *b; };'
mistake "a translator's member that is not there" '[D_XLATE_MEMB] line 3: translator member z is not a member of struct out' \
"$both translator struct out < struct in *v >
{ z = 1;
}; BEGIN {}"
mistake "what a translator reads" '[D_TYPE_MEMBER] line 2: z is not a member of struct in' \
"$both translator struct out < struct in *v > {
a = v->z; }; BEGIN {}"
mistake "a member of another type" \
	'[D_XLATE_INCOMPAT] line 2: translator member b definition uses incompatible types: "char *" = "char"' \
"$both translator struct out < struct in *v > {
b = v->c; }; BEGIN {}"
mistake "the same translator twice" \
	'[D_XLATE_REDECL] line 1: translator from struct in * to struct out has already been declared' \
"$both translator struct out < struct in *v > { a = 1; }; translator struct out < struct in *v > { a = 1; }; BEGIN {}"
mistake "to a type of which nothing is known" '[D_XLATE_SOU] line 1: incomplete struct/union/enum struct no_out' \
	"$both translator struct no_out < struct in *v > { a = 1; }; BEGIN {}"
mistake "from a type of which nothing is known" '[D_OP_INCOMPLETE] line 1: operator -> cannot be applied to a forward declaration: no struct no_in definition is available' \
	"$both translator struct out < struct no_in *v > { a = v->i; }; BEGIN {}"

# --- expressions ---
mistake "actions in an expression with ?" '[D_OP_ACT] line 1: action cannot be used in a conditional context' \
	'BEGIN { x = 1 ? trace(0) : trace(1); }'
mistake "their arguments count first" '[D_PROTO_LEN] line 1: trace( ) prototype mismatch: 0 args passed, 1 expected' \
	'BEGIN { x = 1 ? trace(0) : trace(); }'
mistake "an action as operand" '[D_OP_ARITH] line 1: operator - requires an operand of arithmetic type' \
	'BEGIN { x = 1 + -trace(0); }'
mistake "a string added to a number" '[D_OP_INCOMPAT] line 1: operands have incompatible types: "int" += "string"' \
	'BEGIN { a = 3; a += "x"; }'
mistake "bits of strings" '[D_OP_INT] line 1: operator & requires operands of integral type' 'BEGIN { x = "a" & "b"; }'
mistake "logic of strings" '[D_OP_SCALAR] line 1: operator && requires operands of scalar type' 'BEGIN { x = "a" && "b"; }'
mistake "a string as condition" '[D_OP_SCALAR] line 1: operator ?: expression must be of scalar type' \
	'BEGIN { c = "a" ? 1 : 2; }'
mistake "a step of what is only read" '[D_OP_LVAL] line 1: operator ++ requires modifiable lvalue as an operand' \
	'BEGIN { $pid++; }'
mistake "a variable of D set" '[D_OP_WRITE] line 1: operator = can only be applied to a writable variable' \
	'BEGIN { pid = 1; }'
mistake "a pointer to nothing moved" '[D_OP_INCOMPAT] line 1: operands have incompatible types: "void *" + "int"' \
	'void *p; BEGIN { trace(p + 1); }'
mistake "a number called" '[D_FUNC_IDENT] line 1: function designator is not of function type' 'BEGIN { @ = tick-1(); }'
mistake "the place of a member that is not there" \
	'[D_UNKNOWN] line 1: failed to determine offset of z: Member name not found' \
	'struct s { int a; }; BEGIN { trace(offsetof(struct s, z)); }'
mistake "a member's place in a type that is not there" \
	'[D_OFFSETOF_TYPE] line 1: offsetof operand must be a struct or union type' \
	'BEGIN { trace(offsetof(struct no_such_type, x)); }'

# --- aggregations ---
mistake "keys in two brackets" "[D_AGG_MDIM] line 1: @_: an aggregation's keys are in one pair of brackets" \
	'BEGIN { @[0][1] = count(); }'
mistake "an aggregation alone" '[D_AGG_NULL] line 1: expression has null effect: @a' 'BEGIN { @a = count(); @a; }'
mistake "one that there is not" '[D_IDENT_UNDEF] line 1: undefined aggregation: @a' 'BEGIN { @a; }'
mistake "its function alone" '[D_CG_EXPR] line 1: avg( ) may not be called here: its result is assigned to an aggregation' \
	'BEGIN { avg(1); }'
mistake "what clear() does not take" "[D_CLEAR_AGGARG] line 1: clear( ) argument #1 is incompatible with prototype:
	prototype: aggregation
	 argument: void" 'BEGIN { clear(count()); }'
mistake "an aggregation in an expression" '[D_OP_INCOMPAT] line 1: operands have incompatible types: "aggregation" + "int"' \
	'BEGIN { @a = count(); trace(@a + 3); }'
mistake "keys of another number" "[D_PRINTA_AGGKEY] line 1: printa( ): @a and @b do not have matching key signatures: @a has 1 key, @b has 0 keys" \
	'BEGIN { @a[1] = count(); @b = count(); printa("%d %@d %@d", @a, @b); }'
mistake "keys of other types" "[D_PRINTA_AGGPROTO] line 1: printa( ): @b[ ] key #1 is incompatible with @a:
        a key #1: int
        b key #1: string" 'BEGIN { @a[1] = count(); @b["x"] = count(); printa("%d %@d %@d", @a, @b); }'
mistake "tracemem() of a struct" "[D_TRACEMEM_ADDR] line 1: tracemem( ) argument #1 is incompatible with prototype:
	prototype: pointer or integer
	 argument: struct s" 'struct s { int a; } v; BEGIN { tracemem(v, 4); }'

# --- arguments of probes ---
mistake "BEGIN has no arguments" '[D_ARGS_IDX] line 1: index 0 is out of range for args[ ] of this probe' 'BEGIN { trace(args[0]); }'
mistake "write() has three" '[D_ARGS_IDX] line 1: index 3 is out of range for args[ ] of this probe' \
	'syscall::write:entry { trace(args[2]); trace(args[3]); }'
mistake "an index that is no number" '[D_PROTO_ARG] line 1: index of args[ ] must be an integer' 'BEGIN { trace(args["a"]); }'
mistake "what is translated has no address" \
	'[D_CAST_INVAL] line 1: invalid cast expression: "pointer to translated data" to "uintptr_t"' \
	"$both translator struct out < struct in *v > { a = v->i; }; BEGIN { trace((uintptr_t)xlate<struct out *>(v)); }"
mistake "another use of a key that was none" '[D_KEY_TYPE] line 1: this cannot be a key' 'BEGIN { @c[1, @m] = count(); @c[1, @m] = count(); }'
mistake "a key of which only members are known" '[D_KEY_TYPE] line 1: this cannot be a key' 'BEGIN { @[curpsinfo] = count(); }'

echo "1..$n"
