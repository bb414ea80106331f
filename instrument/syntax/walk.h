#ifndef CG_WALK_H
#define CG_WALK_H
#include <stdint.h>

/* The part of tree-sitter's C API that walk.c uses (tree_sitter/api.h). The
 * definitions come with the binding; weak, so that this package also links
 * alone. */
typedef struct TSLanguage TSLanguage;
typedef struct TSParser TSParser;
typedef struct TSTree TSTree;
typedef struct { uint32_t row, column; } TSPoint;
typedef struct { uint32_t context[4]; const void *id; const TSTree *tree; } TSNode;
typedef struct { const void *tree; const void *id; uint32_t context[3]; } TSTreeCursor;

typedef struct {
	uint32_t start, end;
	uint32_t row, column, end_row, end_column;
	int32_t parent;
	uint16_t symbol, field;
	uint8_t named, error, missing, pad;
} cg_node;

enum { CG_PARSED = 0, CG_DEADLINE = 1, CG_NO_MEMORY = 2, CG_BAD_GRAMMAR = 3 };

int cg_walk(const void *language, const char *text, uint32_t length, uint64_t deadline_us,
	    cg_node **nodes, uint32_t *count);
const char *cg_symbol(const void *language, uint32_t symbol);
uint32_t cg_symbols(const void *language);
const char *cg_field(const void *language, uint16_t field);
uint32_t cg_fields(const void *language);
#endif
