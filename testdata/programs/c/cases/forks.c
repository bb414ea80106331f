// unbalanced: children end by _exit and by exec
// fork, vfork and exec within calls.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int status(pid_t p) { int s; while (waitpid(p, &s, 0) < 0) ; return WIFEXITED(s) ? WEXITSTATUS(s) : -1; }
static int child(int n) { pid_t p = fork(); if (p == 0) _exit(fib(n)); return status(p); }
static int returns(int n)
{
	fflush(stdout);
	pid_t p = fork();
	if (p == 0) { printf("child %d\n", fib(n)); return -1; }
	return status(p);
}
static int runs(void) { pid_t p = vfork(); if (p == 0) { execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL); _exit(1); } return status(p); }
int main(void)
{
	int r = returns(9);
	if (r < 0) return 3;
	printf("%d %d %d\n", child(7), r, runs());
	return 0;
}
