// The handlers that were there before those of the Go runtime, and what has to be looked at before it starts.
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define STATUS 125

// What the Go runtime takes of address space before it can be asked for SIGABRT, and some to spare: 600 MiB for the
// summaries of its pages (runtime/mpagealloc_64bit.go), then arenas of 64 MiB, and the stacks of its first threads.
// With Go 1.26 limits from 1.15 to 1.35 GiB are the highest that end in it.
#define NEEDED ((size_t)1536 << 20)

static void say(const char *text)
{
	ssize_t n = write(2, text, strlen(text));
	(void)n; // there is nobody left to tell
}

static void failed(int sig)
{
	say(sig == SIGABRT ? "cg: cg itself failed, as told above" : "cg: cg itself failed in its C code");
	say(": please report it, unless memory or processes ran out (ulimit -a); its status is 125\n");
	_exit(STATUS);
}

// Instead of the C library's: the Go runtime calls it where no thread can be made, which may be before it can be asked
// for anything.
void abort(void) { failed(SIGABRT); __builtin_unreachable(); }

__attribute__((constructor)) static void before_go(void)
{
	static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	struct sigaction a, was;
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
		void *p = mmap(NULL, NEEDED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED) {
			say("cg: this process may not have the 1.5 GiB of address space that cg needs to start: raise ulimit -v\n");
			_exit(STATUS);
		}
		munmap(p, NEEDED);
#ifdef M_ARENA_MAX
		mallopt(M_ARENA_MAX, 1); // else each thread reserves 128 MiB for what it may allocate
#endif
	}
	memset(&a, 0, sizeof a);
	a.sa_handler = failed;
	a.sa_flags = SA_ONSTACK;
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		if (sigaction(fatal[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(fatal[i], &a, NULL);
}
