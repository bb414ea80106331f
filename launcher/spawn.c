// Fork and exec, in C for two reasons. A Go program has forgotten which signals its own parent had made it ignore
// and which limit of open files it was given; the program must get both. And a program that leads its session cannot
// be stopped by Ctrl-Z: its process group is orphaned and the kernel drops the signal. So behind a pty a small
// process, the keeper, leads the session and is the program's parent:
//
//	cg ---- keeper (session leader) ---- program (process group of its own, in the foreground of the pty)
//
// The keeper tells cg of stops. When the program has ended the keeper leaves without reaping it, and the program, now
// a zombie, falls to cg, which is a subreaper. Should cg die first (panic, SIGKILL), the keeper puts the user's
// terminal back and hangs up on the program. It is a fork without exec, so it uses async-signal-safe calls only.
#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rlimit files_at_start;
static unsigned char ignored_at_start[65];
static unsigned char closed_at_start[3];

// Runs before the Go runtime, which raises the limit, takes over the signals and opens /dev/null in place of closed
// standard descriptors.
__attribute__((constructor)) static void remember_start(void)
{
	struct sigaction a;

	getrlimit(RLIMIT_NOFILE, &files_at_start);
	for (int fd = 0; fd < 3; fd++)
		closed_at_start[fd] = fcntl(fd, F_GETFD) < 0;
	for (int s = 1; s <= 64; s++)
		ignored_at_start[s] = sigaction(s, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
}

int cg_closed(int fd) { return fd >= 0 && fd < 3 && closed_at_start[fd]; }

static void reset_signals(int program)
{
	struct sigaction a;

	memset(&a, 0, sizeof a);
	for (int s = 1; s <= 64; s++) {
		a.sa_handler = program && ignored_at_start[s] ? SIG_IGN : SIG_DFL;
		sigaction(s, &a, NULL);
	}
}

// Runs in the vforked child; every signal is blocked, which also lets a background group set the foreground group.
static void exec_program(const struct cg_program *p, const sigset_t *mask, volatile int *err)
{
	int fd[3];

	if (setpgid(0, 0) < 0)
		goto fail;
	if (p->slave >= 0) {
		pid_t self = getpid();
		if (ioctl(p->slave, TIOCSPGRP, &self) < 0)
			goto fail;
	}
	for (int i = 0; i < 3; i++) {
		fd[i] = p->fds[i] < 0 ? -1 : fcntl(p->fds[i], F_DUPFD_CLOEXEC, 3);
		if (fd[i] < 0 && p->fds[i] >= 0)
			goto fail;
	}
	for (int i = 0; i < 3; i++) {
		if (fd[i] < 0)
			close(i);
		else if (dup2(fd[i], i) < 0)
			goto fail;
	}
	if (p->dir && chdir(p->dir) < 0)
		goto fail;
	setrlimit(RLIMIT_NOFILE, &files_at_start);
	reset_signals(1);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execve(p->path, p->argv, p->envp);
fail:
	*err = errno;
	_exit(127);
}

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#define INTO_CGROUP 0x200000000ULL // CLONE_INTO_CGROUP of linux/sched.h, which clashes with sched.h

struct attempt {
	const struct cg_program *p;
	const sigset_t *mask;
	volatile int err;
};

static void born(struct attempt *a) { exec_program(a->p, a->mask, &a->err); }

// vfork_into is a vfork into a control group, since Linux 5.7; -1 where that is not possible. Moving a process after
// its birth takes the kernel some ten milliseconds. The child shares our memory, as after vfork, and works on a stack
// of its own: C knows that vfork returns twice, and not that this does.
static pid_t vfork_into(int group, struct attempt *a)
{
#if defined(__x86_64__)
	const size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return -1;
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
		uint64_t set_tid, set_tid_size, cgroup;
	} args = {
		.flags = INTO_CGROUP | CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD,
		.stack = (uint64_t)stack, .stack_size = size, .cgroup = (uint64_t)group,
	};
	long child;
	register void *arg __asm__("r8") = a;
	register void (*call)(struct attempt *) __asm__("r9") = born;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r8, %%rdi\n\t"
			 "call *%%r9\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(child)
			 : "a"(SYS_clone3), "D"(&args), "S"(sizeof args), "r"(arg), "r"(call)
			 : "rcx", "r11", "memory", "cc");
	munmap(stack, size);
	return child < 0 ? -1 : (pid_t)child;
#else
	(void)group, (void)a, (void)born;
	return -1;
#endif
}

static int start(const struct cg_program *p, const sigset_t *mask, pid_t *pid)
{
	struct attempt a = {p, mask, 0};
	pid_t child = -1;

	if (p->group >= 0)
		child = vfork_into(p->group, &a);
	if (child < 0) {
		child = vfork();
		if (child == 0)
			exec_program(p, mask, &a.err);
	}
	if (child < 0)
		return errno;
	if (a.err) {
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		return a.err;
	}
	*pid = child;
	return 0;
}

static void close_between(unsigned from, unsigned to)
{
	if (from > to || syscall(SYS_close_range, from, to, 0) == 0)
		return;
	for (unsigned fd = from; fd <= to && fd < 65536; fd++)
		close((int)fd);
}

static void close_except(int *keep, int n)
{
	unsigned from = 0;

	for (;;) {
		int least = -1;
		for (int i = 0; i < n; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (least < 0 || keep[i] < least))
				least = keep[i];
		if (least < 0)
			break;
		if (least > 0)
			close_between(from, (unsigned)least - 1);
		from = (unsigned)least + 1;
	}
	close_between(from, ~0U);
}

static void tell(int sock, int pid, int value)
{
	struct cg_message m = {pid, value};

	while (send(sock, &m, sizeof m, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void keep(const struct cg_program *p, const sigset_t *mask)
{
	pid_t pid = 0, self;
	sigset_t chld;
	int err = 0;

	reset_signals(0); // all stay blocked: a hangup must not take us
	prctl(PR_SET_NAME, "cg-terminal");
	if (setsid() < 0 || ioctl(p->slave, TIOCSCTTY, 0) < 0)
		err = errno;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	int events = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (!err && events < 0)
		err = errno;
	if (!err)
		err = start(p, mask, &pid);
	tell(p->sock, pid, err);
	if (err)
		_exit(1);
	int kept[] = {p->sock, p->slave, p->terminal, events};
	close_except(kept, 4);

	for (;;) {
		siginfo_t info;
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 && errno != EINTR)
			_exit(1);
		if (info.si_pid != 0) {
			if (info.si_code != CLD_STOPPED)
				break;
			int sig = info.si_status;
			waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG);
			tell(p->sock, 0, sig);
			continue;
		}
		struct pollfd fds[2] = {{events, POLLIN, 0}, {p->sock, POLLIN, 0}};
		poll(fds, 2, -1);
		if (fds[0].revents) {
			struct signalfd_siginfo drop;
			while (read(events, &drop, sizeof drop) > 0)
				;
		}
		if (fds[1].revents) { // cg never writes: it is gone
			struct termios now;
			if (p->terminal >= 0 && ioctl(p->terminal, TCGETS, &now) == 0 && memcmp(&now, &p->raw, sizeof now) == 0)
				ioctl(p->terminal, TCSETS, &p->saved);
			kill(-pid, SIGHUP);
			kill(-pid, SIGCONT);
			_exit(1);
		}
	}
	// The kernel hangs up on the foreground group when a session leader ends: let that be us, not what the program
	// left.
	self = getpgrp();
	ioctl(p->slave, TIOCSPGRP, &self);
	_exit(0);
}

int cg_spawn(const struct cg_program *p, pid_t *pid, pid_t *keeper)
{
	sigset_t all, old;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (p->slave < 0) {
		err = start(p, &old, pid);
	} else {
		*keeper = fork();
		if (*keeper == 0)
			keep(p, &old);
		if (*keeper < 0)
			err = errno;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}
