// Each way out of a function, and the order in which things happen at it.
#include <stdio.h>

static int order;
static int note(const char *what) { printf("%s %d\n", what, ++order); return order; }
static void nothing(void) {}
static void early(int n) { for (int i = 0; i < n; i++) { if (i == 3) return; note("early"); } }
static int value(int n) { while (n) { switch (n) { case 1: return note("one"); case 2: { n--; continue; } default: break; } n--; } return -1; }
static int after(int n) {
	int here = n;
	int *p = &here;
	return note("value") + (*p)++ + here;
}
struct big { double d[16]; char name[8]; };
static struct big whole(int n) { struct big b = {{0}, "big"}; for (int i = 0; i < 16; i++) b.d[i] = n + i; return b; }
static int last_without_return(int n) { for (;;) if (n-- < 0) return 7; }
int main(void)
{
	nothing();
	early(9);
	printf("%d %d\n", value(5), after(3));
	printf("%.1f %s\n", whole(4).d[15], whole(1).name);
	return last_without_return(3);
}
