// Handlers that run while the program works, on its stack and on another.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks, users;
static void count(volatile sig_atomic_t *what) { for (int i = 0; i < 3; i++) *what = *what + (i == 0); }
static void tick(int number) { (void)number; count(&ticks); }
static void user(int number, siginfo_t *info, void *context) { (void)info; (void)context; if (number == SIGUSR1) count(&users); }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void)
{
	stack_t stack = {.ss_sp = malloc(SIGSTKSZ + 65536), .ss_size = SIGSTKSZ + 65536};
	struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART}, b = {.sa_sigaction = user, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGUSR1, &b, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	int total = 0;
	while (ticks < 20) { total = fib(20); raise(SIGUSR1); if (users > 100000) break; }
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %d %d\n", total, ticks >= 20, users > 0);
	return 0;
}
