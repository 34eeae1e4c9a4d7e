// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three steps. First the script is cut into *pieces* (words, comments, attach points, preprocessor lines); each knows
 * how many lines ended before it. Then each piece is given its role in the script: `*`, for example, is a product or a
 * pointer. Then they are written. The piece and the one before it say whether a blank, the end of a line, or nothing
 * stands between them.
 */
#include "lang/dialect/bpftrace/parse/format.h"

#include <ctype.h>
#include <string.h>

#include "base/vec.h"
#include "lang/dialect/bpftrace/parse/attach_text.h"
#include "lang/dialect/bpftrace/parse/lexer.h"

#define INDENT 2

enum piece_kind {
	PIECE_WORD,    /* a name, a number, $x, @x, a string */
	PIECE_MARK,    /* punctuation */
	PIECE_COMMENT, /* behind something, or in its midst */
	PIECE_LINE,    /* of the preprocessor */
	PIECE_POINT    /* an attach point */
};

enum role {
	ROLE_NONE,
	ROLE_KEYWORD, /* what follows is no operand of it */
	ROLE_UNARY,   /* a mark before its operand */
	ROLE_POSTFIX, /* ++ and -- behind theirs */
	ROLE_POINTER, /* the * of a type */
	ROLE_CAST,    /* the ) of a cast */
	ROLE_FIELD,   /* the = behind a record's field */
	ROLE_HEAD,    /* the { of a probe or macro */
	ROLE_OPENS,   /* the / before a predicate */
	ROLE_CLOSES   /* and behind it */
};

struct piece {
	enum piece_kind kind;
	enum role role;
	struct span span;
	unsigned int lines; /* that ended before it */
	bool is_first;      /* of what stands at the top level */
	bool is_line_comment;
};

struct formatter {
	struct report *report;
	const char *source;
	VEC(struct piece) pieces;
	struct lexer lexer;
	bool failed;
};

static const char *text_of(const struct formatter *f, const struct piece *piece)
{
	return f->source + piece->span.begin;
}

static uint32_t size_of(const struct piece *piece)
{
	return piece->span.end - piece->span.begin;
}

static bool is_text(const struct formatter *f, const struct piece *piece, const char *text)
{
	return piece && piece->kind <= PIECE_MARK && size_of(piece) == strlen(text) &&
	       !memcmp(text_of(f, piece), text, strlen(text));
}

/* Is it one of the words of a list that are divided by blanks? */
static bool is_any(const struct formatter *f, const struct piece *piece, const char *list)
{
	size_t size = piece ? size_of(piece) : 0, length;

	if (!piece || piece->kind > PIECE_MARK)
		return false;
	for (; *list; list += length + (list[length] == ' ')) {
		length = strcspn(list, " ");
		if (length == size && !memcmp(list, text_of(f, piece), size))
			return true;
	}
	return false;
}

/* --- cutting --- */

static struct piece *add(struct formatter *f, enum piece_kind kind, uint32_t begin, uint32_t end, unsigned int lines)
{
	const struct piece piece = {.kind = kind, .span = {begin, end}, .lines = lines};

	if (vec_push(&f->pieces, piece)) {
		f->failed = f->report->arena->failed = true;
		return NULL;
	}
	return &f->pieces.at[f->pieces.count - 1];
}

static uint32_t line_end(const struct formatter *f, uint32_t at, bool continues)
{
	while (at < f->lexer.end && f->source[at] != '\n') {
		if (continues && f->source[at] == '\\' && at + 1 < f->lexer.end)
			at++;
		at++;
	}
	return at;
}

static uint32_t without_blanks(const struct formatter *f, uint32_t begin, uint32_t end)
{
	while (end > begin && isspace((unsigned char)f->source[end - 1]))
		end--;
	return end;
}

/* Passes over blanks, and makes pieces of comments and of lines of the preprocessor. Gives the lines that ended. */
static unsigned int cut_between(struct formatter *f)
{
	unsigned int lines = f->pieces.count ? 0 : 1;
	struct lexer *lexer = &f->lexer;

	while (lexer->at < lexer->end) {
		const char *at = f->source + lexer->at;
		uint32_t begin = lexer->at, end;
		struct piece *piece;

		if (isspace((unsigned char)*at)) {
			lines += *at == '\n';
			lexer->at++;
			continue;
		}
		if (*at == '#' && (lines || !f->pieces.count)) {
			end = line_end(f, begin, true);
			add(f, PIECE_LINE, begin, without_blanks(f, begin, end), lines);
		} else if (*at == '/' && lexer->end - begin > 1 && at[1] == '/') {
			end = line_end(f, begin, false);
			piece = add(f, PIECE_COMMENT, begin, without_blanks(f, begin, end), lines);
			if (piece)
				piece->is_line_comment = true;
		} else if (*at == '/' && lexer->end - begin > 1 && at[1] == '*') {
			const char *close = memmem(at + 2, lexer->end - begin - 2, "*/", 2);

			end = close ? (uint32_t)(close + 2 - f->source) : lexer->end;
			add(f, PIECE_COMMENT, begin, end, lines);
		} else {
			break;
		}
		lines = 0;
		lexer->at = end;
	}
	return lines;
}

/* The next word or mark. False at the end. */
static struct piece *cut_token(struct formatter *f)
{
	unsigned int lines = cut_between(f);
	struct token token;

	if (f->lexer.at >= f->lexer.end || f->failed)
		return NULL;
	token = lexer_next(&f->lexer);
	if (token.kind == TOKEN_END || f->report->errors)
		return NULL;
	return add(f, token.kind == TOKEN_PUNCTUATION ? PIECE_MARK : PIECE_WORD, token.span.begin, f->lexer.at, lines);
}

/* Up to the brace that closes the one that was just cut, or to the end. */
static void cut_block(struct formatter *f)
{
	unsigned int depth = 1;
	const struct piece *piece;

	while (depth && (piece = cut_token(f)))
		depth += (unsigned int)is_text(f, piece, "{") - (unsigned int)is_text(f, piece, "}");
}

/* A declaration, a setting, an import: up to its semicolon, or to the end of its braces where none follows. */
static void cut_declaration(struct formatter *f, bool is_typedef)
{
	const struct piece *piece;

	while ((piece = cut_token(f)) && !is_text(f, piece, ";")) {
		uint32_t at;

		if (!is_text(f, piece, "{"))
			continue;
		cut_block(f);
		for (at = f->lexer.at; at < f->lexer.end && isspace((unsigned char)f->source[at]);)
			at++;
		if (!is_typedef && at < f->lexer.end && f->source[at] != ';' && f->source[at] != '_')
			return;
	}
}

/* Its attach points are cut already. The predicate ends with the slash that a brace follows. */
static void cut_probe_body(struct formatter *f)
{
	struct piece *piece = cut_token(f);
	size_t before, i;

	if (is_text(f, piece, "/")) {
		piece->role = ROLE_OPENS;
		do {
			before = f->pieces.count;
			piece = cut_token(f);
			for (i = before; i-- > 0 && f->pieces.at[i].kind == PIECE_COMMENT;)
				;
		} while (piece && !(is_text(f, piece, "{") && is_text(f, &f->pieces.at[i], "/") &&
				    f->pieces.at[i].role != ROLE_OPENS));
		if (piece)
			f->pieces.at[i].role = ROLE_CLOSES;
	}
	if (!piece || !is_text(f, piece, "{"))
		return;
	piece->role = ROLE_HEAD;
	cut_block(f);
}

static void cut_probe(struct formatter *f)
{
	struct lexer *lexer = &f->lexer;
	bool more = true;

	while (more && !f->failed) {
		unsigned int lines = cut_between(f);
		uint32_t begin = lexer->at;

		if (begin >= lexer->end || f->source[begin] == '{' || f->source[begin] == '/')
			break;
		lexer->at = attach_text_end(f->source, begin, lexer->end);
		if (lexer->at == begin)
			break;
		add(f, PIECE_POINT, begin, lexer->at, lines);
		lines = cut_between(f);
		begin = lexer->at;
		more = begin < lexer->end && f->source[begin] == ',';
		if (more)
			add(f, PIECE_MARK, begin, ++lexer->at, lines);
	}
	cut_probe_body(f);
}

/* What stands at the top level, one after the other. */
static void cut_all(struct formatter *f)
{
	while (!f->failed && !f->report->errors) {
		unsigned int lines = cut_between(f);
		size_t first = f->pieces.count;
		struct lexer before = f->lexer;
		struct piece *piece = cut_token(f);

		if (!piece)
			break;
		piece->lines = lines;
		if (is_any(f, piece, "struct union enum typedef import let config")) {
			bool is_typedef = is_text(f, piece, "typedef");

			cut_declaration(f, is_typedef);
		} else if (is_text(f, piece, "macro")) {
			while ((piece = cut_token(f)) && !is_text(f, piece, "{"))
				;
			if (piece) {
				piece->role = ROLE_HEAD;
				cut_block(f);
			}
		} else if (!is_text(f, piece, ";")) {
			f->lexer = before;
			f->pieces.count = first;
			cut_probe(f);
			if (f->pieces.count > first)
				f->pieces.at[first].lines = lines;
		}
		if (f->pieces.count == first)
			break;
		f->pieces.at[first].is_first = !is_text(f, &f->pieces.at[first], ";");
	}
}

/* --- parts --- */

#define KEYWORDS "if else while for unroll return comptime let macro import struct union enum typedef"
#define TYPES                                                                                                          \
	"struct union enum void bool char short int long signed unsigned int8 int16 int32 int64 uint8 uint16 uint32 "  \
	"uint64 string buffer inet"

/* Words and marks only: what stands between them does not matter here. */
static struct piece *neighbour(const struct formatter *f, size_t at, int step)
{
	for (at += (size_t)step; at < f->pieces.count; at += (size_t)step)
		if (f->pieces.at[at].kind <= PIECE_MARK || f->pieces.at[at].kind == PIECE_POINT)
			return &f->pieces.at[at];
	return NULL;
}

/* Can a value end with it? */
static bool ends_value(const struct formatter *f, const struct piece *piece)
{
	if (!piece || piece->kind == PIECE_POINT)
		return false;
	if (piece->kind == PIECE_WORD)
		return piece->role != ROLE_KEYWORD;
	return (is_any(f, piece, ") ]") && piece->role != ROLE_CAST) || piece->role == ROLE_POSTFIX;
}

/* The parenthesis that opens what the one at `at` closes. */
static size_t opening(const struct formatter *f, size_t at)
{
	unsigned int depth = 0;

	do {
		depth += is_text(f, &f->pieces.at[at], ")");
		depth -= is_text(f, &f->pieces.at[at], "(");
	} while (depth && at-- > 0);
	return depth ? 0 : at;
}

/* Is it a type in parentheses, before a value? */
static bool is_cast(const struct formatter *f, size_t close)
{
	size_t open = opening(f, close), i;
	const struct piece *before = neighbour(f, open, -1), *next = neighbour(f, close, 1);
	bool names = true;

	if (open + 1 >= close || ends_value(f, before) || is_any(f, before, "if while for unroll"))
		return false;
	if (is_any(f, &f->pieces.at[open + 1], TYPES))
		return true;
	for (i = open + 1; i < close; i++)
		names &= f->pieces.at[i].kind == PIECE_WORD || f->pieces.at[i].role == ROLE_POINTER;
	return names && next && next->kind == PIECE_WORD && !is_any(f, next, KEYWORDS);
}

static enum role role_of_star(const struct formatter *f, size_t at, bool in_record)
{
	const struct piece *before = neighbour(f, at, -1), *next = neighbour(f, at, 1);

	if (!ends_value(f, before) && !(before && before->role == ROLE_POINTER))
		return ROLE_UNARY;
	if (before->role == ROLE_POINTER || in_record || is_any(f, next, ") ; , ]"))
		return ROLE_POINTER;
	return is_text(f, next, "*") && isalpha((unsigned char)*text_of(f, before)) ? ROLE_POINTER : ROLE_NONE;
}

/* "(a=1, b=2)": assignments stand in no parentheses. */
static bool is_field(const struct formatter *f, size_t equals)
{
	unsigned int depth = 0;
	size_t i;

	for (i = equals; i-- > 0 && !is_any(f, &f->pieces.at[i], "{ } ;");) {
		depth += is_text(f, &f->pieces.at[i], ")");
		if (is_text(f, &f->pieces.at[i], "(") && !depth--)
			return true;
	}
	return false;
}

static void find_roles(struct formatter *f)
{
	bool in_record = false;
	unsigned int depth = 0;
	size_t i;

	for (i = 0; i < f->pieces.count; i++) {
		struct piece *piece = &f->pieces.at[i];
		const struct piece *before = neighbour(f, i, -1);

		if (piece->is_first)
			in_record = is_any(f, piece, "struct union typedef");
		depth += is_text(f, piece, "{");
		depth -= is_text(f, piece, "}");
		if (piece->kind == PIECE_WORD && is_any(f, piece, KEYWORDS) && !is_any(f, before, ". ->"))
			piece->role = ROLE_KEYWORD;
		else if (is_text(f, piece, "*"))
			piece->role = role_of_star(f, i, in_record && depth);
		else if (is_any(f, piece, "! ~") || (is_any(f, piece, "- + &") && !ends_value(f, before)))
			piece->role = ROLE_UNARY;
		else if (is_any(f, piece, "++ --"))
			piece->role = ends_value(f, before) && !piece->lines ? ROLE_POSTFIX : ROLE_UNARY;
		else if (is_text(f, piece, ")") && is_cast(f, i))
			piece->role = ROLE_CAST;
		else if (is_text(f, piece, "=") && is_field(f, i))
			piece->role = ROLE_FIELD;
	}
}

/* --- writing --- */

enum space { SPACE_NONE, SPACE_BLANK, SPACE_LINE, SPACE_EMPTY_LINE };

/* Two marks that would be another one, or a comment, without a blank between them. */
static bool would_join(const struct formatter *f, const struct piece *before, const struct piece *piece)
{
	static const char *const pairs[] = {"++", "--", "&&", "||", "<<", ">>", "==", "..", "//", "/*", "!=", "<=",
					    ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "->", "?:"};
	char pair[3] = {text_of(f, before)[size_of(before) - 1], *text_of(f, piece)};
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (!strcmp(pair, pairs[i]))
			return before->kind == PIECE_MARK && piece->kind == PIECE_MARK;
	return false;
}

/* On one line: is there a blank between the two? */
static bool has_blank(const struct formatter *f, const struct piece *before, const struct piece *piece)
{
	if (is_any(f, piece, ", ; ) ]") || is_any(f, before, "( [") || piece->role == ROLE_POSTFIX ||
	    piece->role == ROLE_CLOSES || piece->role == ROLE_FIELD || before->role == ROLE_FIELD)
		return false;
	if (piece->kind == PIECE_COMMENT || before->kind == PIECE_COMMENT)
		return true;
	if (before->role == ROLE_UNARY || before->role == ROLE_OPENS || before->role == ROLE_CAST ||
	    before->role == ROLE_POINTER)
		return would_join(f, before, piece) || (before->role == ROLE_POINTER && is_text(f, piece, "="));
	if (is_text(f, before, ","))
		return true;
	if (is_any(f, piece, ". -> ..") || is_any(f, before, ". -> .."))
		return is_any(f, before, "= : ? && || == !=") || before->role == ROLE_KEYWORD;
	if (is_any(f, piece, "( ["))
		return before->kind == PIECE_MARK ? !is_any(f, before, ") ]") : before->role == ROLE_KEYWORD;
	return true;
}

/* What is open: braces, parentheses, brackets, a predicate. */
struct open {
	bool is_brace;
	bool hangs;          /* what is within begins on a line of its own */
	unsigned int column; /* where lines within it begin */
	unsigned int close;  /* and one that begins with its end */
};

struct writer {
	FILE *out;
	VEC(struct open) open;
	unsigned int braces;
	unsigned int column, line; /* where the next piece begins; where this line began */
	bool in_statement;         /* the next line begins within one */
};

/* NULL: that of the innermost braces, or nothing. */
static struct open *parenthesis(const struct writer *w)
{
	struct open *top = w->open.count ? &w->open.at[w->open.count - 1] : NULL;

	return top && !top->is_brace ? top : NULL;
}

/* Does a line end before this piece, whatever the source has? */
static bool ends_line(const struct formatter *f, const struct writer *w, const struct piece *before,
		      const struct piece *piece)
{
	if (before->is_line_comment || before->kind == PIECE_LINE || piece->kind == PIECE_LINE || piece->is_first)
		return true;
	if (piece->kind == PIECE_COMMENT)
		return false;
	if (piece->role == ROLE_HEAD || piece->role == ROLE_OPENS || piece->kind == PIECE_POINT)
		return true;
	/* A comment behind a statement belongs to that. */
	while (before->kind == PIECE_COMMENT && !before->lines && before > f->pieces.at)
		before--;
	if (is_text(f, before, "{") || is_text(f, piece, "}"))
		return true;
	if (is_text(f, before, ";") && !parenthesis(w))
		return true;
	if (!is_text(f, before, "}"))
		return false;
	if (piece->kind == PIECE_MARK)
		return piece->lines && is_any(f, piece, "( * & - ++ -- [ ! ~");
	return !is_text(f, piece, "else") && !is_text(f, piece, "__attribute__");
}

/* Is a line's end taken away that the source has? */
static bool joins_line(const struct formatter *f, const struct writer *w, const struct piece *before,
		       const struct piece *piece)
{
	const struct open *open = parenthesis(w);

	if (before->is_line_comment || before->kind == PIECE_LINE)
		return false;
	if (is_any(f, piece, ") ]"))
		return !(open && open->hangs);
	return is_any(f, piece, "; ,") || is_text(f, piece, "{") || piece->role == ROLE_CLOSES ||
	       (is_text(f, piece, "else") && is_text(f, before, "}")) || before->role == ROLE_OPENS;
}

static enum space space_before(const struct formatter *f, const struct writer *w, const struct piece *before,
			       const struct piece *piece)
{
	bool ends = ends_line(f, w, before, piece);

	if (is_text(f, before, "{") && is_text(f, piece, "}"))
		return SPACE_NONE;
	if (!ends && (!piece->lines || joins_line(f, w, before, piece)))
		return has_blank(f, before, piece) ? SPACE_BLANK : SPACE_NONE;
	if (is_text(f, before, "{") || is_text(f, piece, "}") || piece->role == ROLE_HEAD || piece->role == ROLE_OPENS)
		return SPACE_LINE;
	/* Between two probes, or macros. */
	if (piece->is_first && is_text(f, before, "}") && piece->lines < 2)
		return SPACE_EMPTY_LINE;
	return piece->lines > 1 ? SPACE_EMPTY_LINE : SPACE_LINE;
}

/* Where a line begins with this piece. */
static unsigned int indent(const struct formatter *f, const struct writer *w, const struct piece *piece)
{
	const struct open *open = parenthesis(w);

	if (piece->kind == PIECE_LINE)
		return 0;
	if (is_text(f, piece, "}"))
		return (w->braces - (w->braces > 0)) * INDENT;
	if (open)
		return is_any(f, piece, ") ]") ? open->close : open->column;
	return (w->braces + (w->in_statement && w->braces)) * INDENT;
}

static void follow(const struct formatter *f, struct writer *w, const struct piece *piece)
{
	const struct open brace = {.is_brace = true};
	const struct open other = {.column = w->column, .close = w->column - 1};

	if (is_text(f, piece, "{")) {
		w->braces++;
		f->report->arena->failed |= vec_push(&w->open, brace) != 0;
	} else if (is_any(f, piece, "( [") || piece->role == ROLE_OPENS) {
		f->report->arena->failed |= vec_push(&w->open, other) != 0;
	} else if (is_text(f, piece, "}") && w->braces) {
		w->braces--;
		while (parenthesis(w))
			w->open.count--;
		w->open.count -= w->open.count > 0;
	} else if ((is_any(f, piece, ") ]") || piece->role == ROLE_CLOSES) && parenthesis(w)) {
		w->open.count--;
	}
	if (piece->kind <= PIECE_MARK)
		w->in_statement = !is_any(f, piece, "{ } ;");
}

static void write_text(struct writer *w, const char *text, uint32_t size)
{
	const char *line = memrchr(text, '\n', size);

	fwrite(text, 1, size, w->out);
	w->column = line ? (unsigned int)(text + size - line - 1) : w->column + size;
}

static void write_piece(const struct formatter *f, struct writer *w, size_t at)
{
	const struct piece *piece = &f->pieces.at[at], *before = at ? piece - 1 : NULL;
	enum space space = before ? space_before(f, w, before, piece) : SPACE_NONE;
	struct open *open = parenthesis(w);

	if (space == SPACE_BLANK)
		write_text(w, " ", 1);
	if (space >= SPACE_LINE && open && is_any(f, before, "( [")) {
		open->hangs = true;
		open->column = w->line + INDENT;
		open->close = w->line;
	}
	if (space >= SPACE_LINE) {
		w->line = w->column = indent(f, w, piece);
		fprintf(w->out, "%s%*s", space == SPACE_LINE ? "\n" : "\n\n", (int)w->line, "");
	}
	write_text(w, text_of(f, piece), size_of(piece));
	follow(f, w, piece);
}

void bpftrace_format(struct report *report, FILE *out)
{
	struct formatter f = {.report = report, .source = report->source};
	struct writer w = {.out = out};
	size_t i;

	lexer_init(&f.lexer, report, &report->script);
	if (f.lexer.at > report->script.begin)
		add(&f, PIECE_LINE, report->script.begin, f.lexer.at, 0); /* #! */
	cut_all(&f);
	find_roles(&f);
	for (i = 0; i < f.pieces.count && !report->errors && !report->arena->failed; i++)
		write_piece(&f, &w, i);
	if (f.pieces.count && !report->errors)
		fputc('\n', out);
	vec_free(&w.open);
	vec_free(&f.pieces);
}
