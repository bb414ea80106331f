// unbalanced: a call that longjmp leaves does not end
// setjmp and longjmp: over many calls, within a recursion, from a handler.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static jmp_buf place[4];
static sigjmp_buf from_handler;
static void deep(int n, jmp_buf to) { if (n == 0) longjmp(to, 5); deep(n - 1, to); printf("never\n"); }
static int once(int n) { switch (setjmp(place[0])) { case 0: deep(n, place[0]); return 0; default: return n; } }
static int inner(int level)
{
	if (level == 3) longjmp(place[1], 2);
	for (int i = 0; i < 3; i++) inner(level + 1);
	return 1;
}
static int outer(void)
{
	volatile int tries = 0;
	if (setjmp(place[1]) != 0 && tries > 2) return tries;
	tries++;
	return inner(0);
}
static int recursive(volatile int level)
{
	if (level == 1 && !setjmp(place[2])) return recursive(2) + 100;
	if (level == 2) recursive(3);
	if (level == 3) longjmp(place[2], 1);
	return level;
}
static void handler(int number) { siglongjmp(from_handler, number); }
static int signalled(void)
{
	struct sigaction a = {.sa_handler = handler};
	sigaction(SIGUSR1, &a, NULL);
	if (sigsetjmp(from_handler, 1) == 0) { raise(SIGUSR1); return 0; }
	return 1;
}
int main(void)
{
	for (int i = 0; i < 50; i++) if (once(i) != i) return 1;
	printf("%d %d", outer(), recursive(1));
	printf(" %d %d\n", signalled(), signalled());
	return 0;
}
