#include "walk.h"
#include <stdlib.h>
#include <string.h>

#define BINDING __attribute__((weak)) extern
BINDING TSParser *ts_parser_new(void);
BINDING void ts_parser_delete(TSParser *);
BINDING _Bool ts_parser_set_language(TSParser *, const TSLanguage *);
BINDING void ts_parser_set_timeout_micros(TSParser *, uint64_t);
BINDING TSTree *ts_parser_parse_string(TSParser *, const TSTree *, const char *, uint32_t);
BINDING void ts_tree_delete(TSTree *);
BINDING TSNode ts_tree_root_node(const TSTree *);
BINDING TSTreeCursor ts_tree_cursor_new(TSNode);
BINDING void ts_tree_cursor_delete(TSTreeCursor *);
BINDING TSNode ts_tree_cursor_current_node(const TSTreeCursor *);
BINDING uint16_t ts_tree_cursor_current_field_id(const TSTreeCursor *);
BINDING _Bool ts_tree_cursor_goto_parent(TSTreeCursor *);
BINDING _Bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *);
BINDING _Bool ts_tree_cursor_goto_first_child(TSTreeCursor *);
BINDING uint16_t ts_node_symbol(TSNode);
BINDING uint32_t ts_node_start_byte(TSNode);
BINDING uint32_t ts_node_end_byte(TSNode);
BINDING TSPoint ts_node_start_point(TSNode);
BINDING TSPoint ts_node_end_point(TSNode);
BINDING _Bool ts_node_is_named(TSNode);
BINDING _Bool ts_node_is_missing(TSNode);
BINDING _Bool ts_node_is_error(TSNode);
BINDING const char *ts_language_symbol_name(const TSLanguage *, uint16_t);
BINDING uint32_t ts_language_symbol_count(const TSLanguage *);
BINDING uint32_t ts_language_field_count(const TSLanguage *);
BINDING const char *ts_language_field_name_for_id(const TSLanguage *, uint16_t);

/* cg_walk parses the text and lists every node of the tree, parents before
 * children. Everything of C is freed but *nodes, which is the caller's. */
int cg_walk(const void *language, const char *text, uint32_t length, uint64_t deadline_us,
	    cg_node **nodes, uint32_t *count)
{
	*nodes = NULL;
	*count = 0;
	TSParser *parser = ts_parser_new();
	if (!ts_parser_set_language(parser, language)) {
		ts_parser_delete(parser);
		return CG_BAD_GRAMMAR;
	}
	ts_parser_set_timeout_micros(parser, deadline_us);
	TSTree *tree = ts_parser_parse_string(parser, NULL, text, length);
	ts_parser_delete(parser);
	if (!tree)
		return CG_DEADLINE;

	int result = CG_PARSED;
	uint32_t size = length / 3 + 64, n = 0;
	cg_node *out = malloc((size_t)size * sizeof *out);
	TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
	int32_t parent = -1;
	while (out) {
		if (n == size) {
			size *= 2;
			cg_node *more = realloc(out, (size_t)size * sizeof *out);
			if (!more) {
				free(out);
				out = NULL;
				break;
			}
			out = more;
		}
		TSNode node = ts_tree_cursor_current_node(&cursor);
		TSPoint s = ts_node_start_point(node), e = ts_node_end_point(node);
		out[n] = (cg_node){
			.start = ts_node_start_byte(node), .end = ts_node_end_byte(node),
			.row = s.row, .column = s.column, .end_row = e.row, .end_column = e.column,
			.parent = parent, .symbol = ts_node_symbol(node),
			.field = ts_tree_cursor_current_field_id(&cursor),
			.named = ts_node_is_named(node), .error = ts_node_is_error(node),
			.missing = ts_node_is_missing(node),
		};
		n++;
		if (ts_tree_cursor_goto_first_child(&cursor)) {
			parent = (int32_t)n - 1;
			continue;
		}
		int more = 1;
		while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
			if (!ts_tree_cursor_goto_parent(&cursor)) {
				more = 0;
				break;
			}
			parent = out[parent].parent;
		}
		if (!more)
			break;
	}
	if (!out)
		result = CG_NO_MEMORY;
	ts_tree_cursor_delete(&cursor);
	ts_tree_delete(tree);
	*nodes = out;
	*count = n;
	return result;
}

const char *cg_symbol(const void *language, uint32_t symbol)
{
	return symbol == 0xffff ? "ERROR" : ts_language_symbol_name(language, (uint16_t)symbol);
}

uint32_t cg_symbols(const void *language) { return ts_language_symbol_count(language); }
const char *cg_field(const void *language, uint16_t field) { return ts_language_field_name_for_id(language, field); }
uint32_t cg_fields(const void *language) { return ts_language_field_count(language); }
