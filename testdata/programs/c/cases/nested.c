// gcc: clang has no functions in functions
// unbalanced: a goto to a function around leaves a call
// GNU C: functions in functions, goto out of them, labels of a block, statements in expressions, cleanups of one's own.
#include <stdio.h>

static void closed(int *n) { printf("closed %d\n", *n); }
static int outside(int n)
{
	int seen = 0;
	void inside(int k) { seen += k; printf("inside %d\n", seen); }
	for (int i = 0; i < n; i++) inside(i);
	return seen;
}
static int cleaned(int n)
{
	int first __attribute__((cleanup(closed))) = n, second __attribute__((cleanup(closed))) = n + 1;
	if (n > 3) return ({ int twice = 2 * n; printf("expression\n"); twice; });
	for (int i = 0; i < 2; i++) { int third __attribute__((cleanup(closed))) = 10 + i; if (i) break; }
	return first + second;
}
static int labelled(int n)
{
	__label__ out, /* } */ again;
	__label__ end;
	auto int later(int k);
	int leaves(int k) { if (k == 3) goto out; while (k > 1) k--; return k; }
	int seen = later(2);
again:
	seen += leaves(n);
	if (n++ < 9) goto again;
	goto end;
	int later(int k) { while (k < 5) k++; return k; }
out:
	printf("out %d\n", seen);
end:
	return seen;
}
int main(void)
{
	printf("%d\n", labelled(0));
	printf("%d %d %d\n", outside(4), cleaned(1), cleaned(5));
	return 0;
}
