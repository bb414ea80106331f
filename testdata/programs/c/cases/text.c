// Braces and words where they mean nothing: strings, characters, comments, names of other alphabets.
#include <stdio.h>

/* } static int commented(int n) { return n; } */
static const char *braces(int n) { /* } */ const char *s = "{ } // \" { /* "; // }
	return n == '}' || n == '{' || n == '\'' || n == '"' ? s : "none } { \\"; }
static int größe(int länge) { while (länge > 10) länge -= 10; return länge; }
static int continued(int n) { if (n) \
	return printf("conti\
nued\n"); return 0; }
static int digraphs(int n) <% int a<:2:> = <%1, 2%>; while (n > 1) n--; return a<:n:>; %>
#define WORDS "__attribute__((" 
static int attribute(void) { for (;;) return printf("%s\n", WORDS); }
# 500 "other.h"
static int other(void) { do { printf("%d %s\n", __LINE__, __FILE__); } while (0); return 1; }
int main(void) { printf("%s %s %d %d %d\n", braces('}'), braces(1), größe(37), continued(1), digraphs(3)); return attribute() + other() - 16; }
