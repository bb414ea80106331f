/*
 * Writers for the tests of the channel, on the native runtime's channel.h.
 *
 *   writer CHANNEL open            prints "ok" or "refused ERRNO"
 *   writer CHANNEL threads N M     N threads write M events each
 *   writer CHANNEL short N M       N threads one after the other, M events each
 *   writer CHANNEL waiting N M     N threads write M events each, then all end
 *   writer CHANNEL leave N M       the same, and the process ends before them
 *   writer CHANNEL fork N M        a process and N children write M events each
 *   writer CHANNEL forkthread N M  N times a child and then a new thread
 *   writer CHANNEL grandchild N M  N children that write nothing, each with one
 *                                  that writes M events
 *   writer CHANNEL number N M      N children number M files of 3 sites each and
 *                                  print the number before the first
 *   writer CHANNEL publish FILE    writes until killed, saying in FILE how many
 *
 * A thread's events are the enter and the exit of site 1, of site 2 and so on, and
 * of site 1 again after the last.
 */
#include "channel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { LAST = 50000 };

static void count(uint64_t n)
{
	cg_event((uint32_t)((n - 1) % 2 << 21 | ((n - 1) / 2 % LAST + 1)));
}

static void *thread(void *arg)
{
	uint64_t m = *(uint64_t *)arg;
	for (uint64_t n = 1; n <= m; n++)
		count(n);
	return NULL;
}

static pthread_barrier_t barrier;

static void *waiting(void *arg)
{
	thread(arg);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void *leave(void *arg)
{
	waiting(arg);
	while (pause())
		;
	return NULL;
}

static void number_files(uint64_t n, uint64_t m)
{
	for (uint64_t i = 0; i < n; i++)
		if (fork() == 0) {
			for (uint64_t k = 0; k < m; k++) {
				char path[32], out[64];
				snprintf(path, sizeof path, "/%d.x", (int)k);
				const char *lines = "S\tfunction\t1\t0\t1\tf\n"
						    "S\tfunction\t2\t0\t2\tg\n"
						    "S\tfunction\t3\t0\t3\th";
				cg_part names[3] = {{"m", 1}, {path, strlen(path)}, {lines, strlen(lines)}};
				int l = snprintf(out, sizeof out, "%d %d\n", (int)k, (int)cg_number(names, 3));
				if (write(1, out, (size_t)l) != l)
					exit(1);
			}
			exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void fork_children(uint64_t n, uint64_t m)
{
	count(1); /* so that children are forked from a thread with a chunk */
	for (uint64_t i = 0; i < n; i++)
		if (fork() == 0) {
			thread(&m);
			exit(0);
		}
	for (uint64_t k = 2; k <= m; k++)
		count(k);
	while (wait(NULL) > 0)
		;
}

static void fork_then_thread(uint64_t n, uint64_t m)
{
	count(1);
	for (uint64_t i = 0; i < n; i++) {
		pthread_t t;
		if (fork() == 0) {
			thread(&m);
			exit(0);
		}
		wait(NULL);
		pthread_create(&t, NULL, thread, &m);
		pthread_join(t, NULL);
	}
}

static void fork_twice(uint64_t n, uint64_t m)
{
	count(1);
	for (uint64_t i = 0; i < n; i++) {
		if (fork() == 0) {
			if (fork() == 0) {
				thread(&m);
				exit(0);
			}
			wait(NULL);
			_exit(0);
		}
		wait(NULL);
	}
}

static void leave_threads(uint64_t n, uint64_t m)
{
	pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
	for (uint64_t i = 0; i < n; i++) {
		pthread_t t;
		pthread_create(&t, NULL, leave, &m);
	}
	pthread_barrier_wait(&barrier);
}

static void run_threads(uint64_t n, uint64_t m, int together, int one_by_one)
{
	pthread_t *t = calloc(n, sizeof *t);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (uint64_t i = 0; i < n; i++) {
		pthread_create(&t[i], NULL, together ? waiting : thread, &m);
		if (one_by_one)
			pthread_join(t[i], NULL);
	}
	if (!one_by_one)
		for (uint64_t i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	free(t);
}

static void threads(uint64_t n, uint64_t m) { run_threads(n, m, 0, 0); }
static void short_threads(uint64_t n, uint64_t m) { run_threads(n, m, 0, 1); }
static void waiting_threads(uint64_t n, uint64_t m) { run_threads(n, m, 1, 0); }

static const struct {
	const char *name;
	void (*run)(uint64_t n, uint64_t m);
} modes[] = {
	{"threads", threads},
	{"short", short_threads},
	{"waiting", waiting_threads},
	{"number", number_files},
	{"fork", fork_children},
	{"forkthread", fork_then_thread},
	{"grandchild", fork_twice},
	{"leave", leave_threads},
};

int main(int argc, char **argv)
{
	int error = cg_open(argv[1]);
	cg_calibrate(cg_event_alone, NULL, 1);
	if (!strcmp(argv[2], "open")) {
		printf(error ? "refused %d\n" : "ok\n", error);
		return 0;
	}
	if (error) {
		fprintf(stderr, "open: %s\n", strerror(error));
		return 1;
	}
	if (!strcmp(argv[2], "publish")) {
		int fd = open(argv[3], O_RDWR);
		volatile uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		for (uint64_t n = 1;; n++) {
			count(n);
			*p = n;
		}
	}
	uint64_t n = strtoull(argv[3], NULL, 10), m = strtoull(argv[4], NULL, 10);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(argv[2], modes[i].name)) {
			modes[i].run(n, m);
			return 0;
		}
	return 2;
	(void)argc;
}
