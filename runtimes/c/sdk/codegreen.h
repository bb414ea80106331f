/* codegreen.h tells what named parts of a program in C or C++ cost in joules.
 *
 *     #include "codegreen.h"
 *
 *     codegreen_start("training-run", NULL);
 *     codegreen_task load = codegreen_begin("load");
 *     read_all();
 *     codegreen_end(load);
 *     codegreen_stop();
 *
 * In C++ a task ends with its scope:
 *
 *     codegreen::session session("training-run");
 *     { codegreen::task load("load"); read_all(); }
 *
 * codegreen_stop, which the end of the program calls, too, writes codegreen_<pid>.json. cg does
 * the work, in a process of its own: it is found by CODEGREEN_CG, around the program, or in PATH. Without cg
 * the program runs as it is, and no file is written. docs/session.md of cg has the rules.
 *
 * Any number of files may include this header; it is C99 and C++11 for GCC, Clang and their like on Linux.
 * With glibc before 2.34, link with -pthread. */
#ifndef CODEGREEN_H
#define CODEGREEN_H

#ifndef __linux__
#error "codegreen.h is for Linux"
#endif
#if defined(__STRICT_ANSI__) && !defined(_FEATURES_H) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE) && \
	!defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_MONOTONIC
#error "codegreen.h needs POSIX: include it before other headers, or compile with -D_POSIX_C_SOURCE=200809L"
#endif

/* Options of a session. All 0 is the default. */
typedef struct {
	const char *output;        /* the file; codegreen_<pid>.json without it, CSV where it ends in .csv */
	const char *format;        /* auto (by the file's name), json, csv or none */
	int time_series;           /* keep the samples of every task */
	int no_concurrent_warning; /* do not warn of other processes that have a session */
	long interval_us;          /* between two samples, 100 to 60000000; else the run's, or cg's */
	long buffer;               /* samples that cg keeps until they are read, 16 to 1048576 */
	const char *gauges;        /* to record, such as "cpu-util,nvml-temp", or "all" */
	long gauge_interval_ms;    /* 100 to 60000; else 1000 */
} codegreen_options;

/* A task is its number, from 1 on; -1 is none. */
typedef long codegreen_task;

/* Energies in joules; one that is not known is not equal to itself (NAN). */
typedef struct {
	double energy_j, lo_j, hi_j; /* of the machine while the task ran, with bounds */
	double program_j, program_lo_j, program_hi_j; /* the program's part of it, known under cg run and cg measure */
} codegreen_energy;

#ifdef __cplusplus
extern "C" {
#elif defined(__STRICT_ANSI__)
extern long syscall(long number, ...); /* which unistd.h does not have in standard C */
#endif

/* codegreen_start begins the session of this process; options may be NULL. It returns 0, or -1 with a line
 * on standard error where a session is active already, or an option means nothing. Where no energy can be measured,
 * there is a line on standard error, and the program goes on. */
int codegreen_start(const char *name, const codegreen_options *options);

/* codegreen_begin begins a task inside the innermost task that this thread has open. It returns -1, which all
 * functions take for no task, without a session and in a forked child. */
codegreen_task codegreen_begin(const char *name);

/* codegreen_begin_in begins a task inside that one, whatever thread that is of. */
codegreen_task codegreen_begin_in(codegreen_task parent, const char *name);

/* codegreen_end ends a task. Where another task is open inside, it ends nothing and returns -1 (EBUSY). A
 * task that is over stays as it is. */
int codegreen_end(codegreen_task task);

/* codegreen_count tells that a task has done n units of work: tokens, requests, frames, rows. The file says what
 * one takes. Counts of a unit add up, from any thread, also after the end of the task, before codegreen_stop. It
 * returns -1 (EINVAL), and counts nothing, where n is no number above 0, or the unit no word: letters, digits, _
 * and -, with a letter or _ in front. */
int codegreen_count(codegreen_task task, double n, const char *unit);

/* codegreen_energy_of is the energy of a task that is over, before codegreen_stop. It waits for the samples
 * that tell it, some 20 ms after the task's end. */
codegreen_energy codegreen_energy_of(codegreen_task task);

/* codegreen_stop ends the session and writes its file. Tasks that are open end there. It returns 0, or -1 if
 * the file could not be written, which there is a line of on standard error. */
int codegreen_stop(void);

/* codegreen_file is the path of the file of the session, or of the last one; "" without any. */
const char *codegreen_file(void);

/* What follows is not for programs. Several files of a program may have it; the linker keeps one (weak). */

#define CODEGREEN_ONE __attribute__((__weak__, __visibility__("default"), __no_instrument_function__))

struct codegreen_open { /* a task that is open */
	long number;
	pthread_t thread;
	struct codegreen_open *parent, *older;
	int inside; /* tasks that are open in it */
};

struct codegreen_state {
	pthread_mutex_t lock, asking; /* asking is taken first, where both are */
	int active, at_exit;
	int fd;               /* of the socket to cg, -1 without cg */
	long count;           /* of tasks */
	int unnamed;          /* sessions so far whose file has its name by default */
	struct codegreen_open *open;
	char file[4096];
};

extern struct codegreen_state codegreen_state;
long long codegreen_now(void);
int codegreen_say(const char *text, const char *more);
int codegreen_is_program(const char *path);
int codegreen_runs(const char *path, char *found, size_t size);
void codegreen_writer(const char *ring, char *path, size_t size);
int codegreen_find(char *path, size_t size);
void codegreen_close_all(void);
int codegreen_spawn(const char *cg, char *const *arguments);
int codegreen_tell(const char *message, int length);
long codegreen_hear(char *message, size_t size, int patience_ms);
int codegreen_ask(codegreen_task task, char *message, size_t size);
void codegreen_forked(void);
void codegreen_leave(void);
codegreen_task codegreen_begin_at(int inside, codegreen_task parent, const char *name);
int codegreen_open_session(const char *name, const codegreen_options *options);

__attribute__((__weak__, __visibility__("default"))) struct codegreen_state codegreen_state = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0, 0, -1, 0, 0, NULL, {0}};

/* codegreen_now is CLOCK_MONOTONIC in ns, which the samples have. */
CODEGREEN_ONE long long codegreen_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* codegreen_say writes a line, and returns -1. */
CODEGREEN_ONE int codegreen_say(const char *text, const char *more)
{
	fprintf(stderr, "codegreen: %s%s\n", text, more);
	return -1;
}

CODEGREEN_ONE int codegreen_is_program(const char *path)
{
	struct stat file;
	return access(path, X_OK) == 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* codegreen_runs finds a program by its path, or by its name in PATH. */
CODEGREEN_ONE int codegreen_runs(const char *path, char *found, size_t size)
{
	const char *folder, *end;
	if (!path || !*path)
		return 0;
	if (strchr(path, '/'))
		return snprintf(found, size, "%s", path) < (int)size && codegreen_is_program(found);
	for (folder = getenv("PATH"); folder; folder = *end ? end + 1 : NULL) {
		end = strchr(folder, ':');
		if (!end)
			end = folder + strlen(folder);
		if (end > folder && snprintf(found, size, "%.*s/%s", (int)(end - folder), folder, path) < (int)size &&
		    codegreen_is_program(found))
			return 1;
	}
	return 0;
}

/* codegreen_writer is the path of the cg that writes a ring of samples (nemb/RING.md of cg), from the JSON
 * behind its domains; "" where none is told. */
CODEGREEN_ONE void codegreen_writer(const char *ring, char *path, size_t size)
{
	const char key[] = "\"writer\":\"";
	char text[65536], *at, *end;
	unsigned slots = 0;
	ssize_t n = 0;
	int fd;
	*path = 0;
	if (!ring || !*ring || (fd = open(ring, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		return;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n < 64 || memcmp(text, "CGSAMPLE", 8) != 0)
		return;
	memcpy(&slots, text + 12, sizeof slots); /* where the samples begin, and the JSON ends */
	if (slots < (size_t)n)
		n = (ssize_t)slots;
	text[n] = 0;
	for (at = text + 64; at + sizeof key < text + n; at++) {
		if (memcmp(at, key, sizeof key - 1) != 0)
			continue;
		at += sizeof key - 1;
		end = strchr(at, '"');
		if (end && !memchr(at, '\\', (size_t)(end - at)) && (size_t)(end - at) < size)
			snprintf(path, size, "%.*s", (int)(end - at), at);
		return;
	}
}

/* codegreen_find finds cg. A set-user-ID program finds none: its caller would choose what it runs. */
CODEGREEN_ONE int codegreen_find(char *path, size_t size)
{
	char writer[4096];
	if (getauxval(AT_SECURE))
		return 0;
	if (codegreen_runs(getenv("CODEGREEN_CG"), path, size))
		return 1;
	codegreen_writer(getenv("CG_SAMPLES"), writer, sizeof writer);
	return codegreen_runs(writer, path, size) || codegreen_runs("cg", path, size);
}

/* codegreen_close_all closes what the program has open but for its standard files: whoever reads a pipe of it
 * would wait for the end of cg. */
CODEGREEN_ONE void codegreen_close_all(void)
{
	long fd, last;
	if (syscall(436L /* close_range(2), since Linux 5.9 */, 3U, ~0U, 0U) == 0)
		return;
	last = sysconf(_SC_OPEN_MAX);
	if (last < 0 || last > 65536)
		last = 65536;
	for (fd = 3; fd < last; fd++)
		close((int)fd);
}

/* codegreen_spawn starts cg with a socket as its standard input. It is no child of the program, which may wait
 * for all of its children. */
CODEGREEN_ONE int codegreen_spawn(const char *cg, char *const *arguments)
{
	const struct timeval patience = {5, 0};
	int ends[2], status, null;
	pid_t child;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -1;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	child = fork();
	if (child == 0) {
		if (fork() != 0)
			_exit(0);
		setsid();
		if (dup2(ends[1], 0) < 0 || (null >= 0 && dup2(null, 1) < 0))
			_exit(127);
		codegreen_close_all();
		execv(cg, arguments);
		_exit(127);
	}
	if (null >= 0)
		close(null);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -1;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	return ends[0];
}

/* codegreen_tell sends a message, and reports whether it went. A cg that takes none for 5 s is told nothing more. */
CODEGREEN_ONE int codegreen_tell(const char *message, int length)
{
	ssize_t n;
	while ((n = send(codegreen_state.fd, message, (size_t)length, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	if (n < 0)
		shutdown(codegreen_state.fd, SHUT_RDWR);
	return n >= 0;
}

/* codegreen_hear takes a message of cg, and gives its length; 0 or less where there is none. */
CODEGREEN_ONE long codegreen_hear(char *message, size_t size, int patience_ms)
{
	struct pollfd heard = {codegreen_state.fd, POLLIN, 0};
	long n;
	while ((n = poll(&heard, 1, patience_ms)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return n;
	while ((n = recv(codegreen_state.fd, message, size - 1, 0)) < 0 && errno == EINTR)
		;
	message[n > 0 ? n : 0] = 0;
	return n;
}

/* codegreen_forked: the session is the parent's. */
CODEGREEN_ONE void codegreen_forked(void)
{
	struct codegreen_state *s = &codegreen_state;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->asking, NULL);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->active = 0;
	s->open = NULL;
	s->file[0] = 0;
}

CODEGREEN_ONE void codegreen_leave(void) { codegreen_stop(); }

/* codegreen_open_session starts a session, the locks being held. */
CODEGREEN_ONE int codegreen_open_session(const char *name, const codegreen_options *options)
{
	static const codegreen_options none = {NULL, NULL, 0, 0, 0, 0, NULL, 0};
	const codegreen_options *o = options ? options : &none;
	struct codegreen_state *s = &codegreen_state;
	const int csv = o->format && strcmp(o->format, "csv") == 0;
	char cg[4096], file[128], number[24], pid[24], interval[24], buffer[24], gauges[24], version[128], heard[4096];
	const char *language = "c";
	int n;
	long standard = 0;
#ifdef __cplusplus
	language = "cpp";
	standard = __cplusplus;
#elif defined(__STDC_VERSION__)
	standard = __STDC_VERSION__;
#endif
	if (!codegreen_find(cg, sizeof cg)) {
		codegreen_say("no energy can be measured here, and no file is written: cg is not in PATH, and CODEGREEN_CG "
			      "does not name it", "");
		return 0;
	}
	number[0] = 0;
	if (s->unnamed > 0)
		snprintf(number, sizeof number, "_%d", s->unnamed + 1);
	snprintf(file, sizeof file, "codegreen_%ld%s.%s", (long)getpid(), number, csv ? "csv" : "json");
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	snprintf(interval, sizeof interval, "%ld", o->interval_us);
	snprintf(buffer, sizeof buffer, "%ld", o->buffer);
	snprintf(gauges, sizeof gauges, "%ld", o->gauge_interval_ms ? o->gauge_interval_ms : 1000);
	snprintf(version, sizeof version, "%ld (%.100s)", standard, __VERSION__);
	const char *arguments[28] = {cg, "session", "--pid", pid, "--name", name ? name : "default", "--output",
		o->output ? o->output : file, "--format", o->format ? o->format : "auto", "--language", language,
		"--language-version", version, "--interval-us", interval, "--buffer", buffer,
		"--gauge-interval-ms", gauges, "--gauges", o->gauges ? o->gauges : ""};
	n = 22;
	if (o->time_series)
		arguments[n++] = "--time-series";
	if (o->no_concurrent_warning)
		arguments[n++] = "--alone";
	arguments[n] = NULL;
	s->fd = codegreen_spawn(cg, (char *const *)arguments);
	if (s->fd >= 0 && codegreen_hear(heard, sizeof heard, 15000) > 0) {
		if (strncmp(heard, "ready ", 6) == 0) {
			snprintf(s->file, sizeof s->file, "%s", heard + 6);
			return 0;
		}
		close(s->fd);
		s->fd = -1;
		s->active = 0;
		return codegreen_say(strncmp(heard, "refused ", 8) == 0 ? heard + 8 : heard, "");
	}
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	codegreen_say("no energy can be measured here, and no file is written: it has no session, or does not answer: ",
		      cg);
	return 0;
}

CODEGREEN_ONE int codegreen_start(const char *name, const codegreen_options *options)
{
	struct codegreen_state *s = &codegreen_state;
	int status;
	pthread_mutex_lock(&s->asking);
	pthread_mutex_lock(&s->lock);
	if (s->active) {
		status = codegreen_say("a session is active in this process already", "");
	} else {
		if (!s->at_exit) {
			s->at_exit = 1;
			pthread_atfork(NULL, NULL, codegreen_forked);
			atexit(codegreen_leave);
		}
		s->active = 1;
		s->file[0] = 0;
		status = codegreen_open_session(name, options);
		if (status == 0 && s->fd >= 0 && !(options && options->output))
			s->unnamed++;
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->asking);
	return status;
}

CODEGREEN_ONE codegreen_task codegreen_begin_at(int inside, codegreen_task parent, const char *name)
{
	struct codegreen_state *s = &codegreen_state;
	struct codegreen_open *around, *task;
	const pthread_t thread = pthread_self();
	char message[4096];
	long number = -1;
	int n;
	pthread_mutex_lock(&s->lock);
	if (s->fd >= 0 && (task = (struct codegreen_open *)malloc(sizeof *task)) != NULL) {
		for (around = s->open; around; around = around->older)
			if (inside ? around->number == parent : pthread_equal(around->thread, thread))
				break;
		task->number = number = ++s->count;
		task->thread = thread;
		task->parent = around;
		task->older = s->open;
		task->inside = 0;
		if (around)
			around->inside++;
		s->open = task;
		n = snprintf(message, sizeof message, "begin %ld %ld %ld %lld %s", number, around ? around->number : 0,
			     (long)syscall(SYS_gettid), codegreen_now(), name ? name : "");
		if (n >= (int)sizeof message)
			n = (int)sizeof message - 1;
		codegreen_tell(message, n);
	}
	pthread_mutex_unlock(&s->lock);
	return number;
}

CODEGREEN_ONE codegreen_task codegreen_begin(const char *name) { return codegreen_begin_at(0, 0, name); }

CODEGREEN_ONE codegreen_task codegreen_begin_in(codegreen_task parent, const char *name)
{
	return codegreen_begin_at(1, parent, name);
}

CODEGREEN_ONE int codegreen_end(codegreen_task number)
{
	const long long now = codegreen_now();
	struct codegreen_state *s = &codegreen_state;
	struct codegreen_open **at, *task;
	char message[64];
	int status = 0;
	pthread_mutex_lock(&s->lock);
	for (at = &s->open; *at && (*at)->number != number; at = &(*at)->older)
		;
	if ((task = *at) != NULL && task->inside > 0) {
		errno = EBUSY;
		status = -1;
	} else if (task) {
		*at = task->older;
		if (task->parent)
			task->parent->inside--;
		free(task);
		codegreen_tell(message, snprintf(message, sizeof message, "end %ld %lld", number, now));
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

CODEGREEN_ONE int codegreen_count(codegreen_task task, double n, const char *unit)
{
	const size_t size = unit ? strlen(unit) : 0;
	char message[512];
	long long bits; /* of an IEEE 754 double, which -ffast-math does not take for numbers */
	memcpy(&bits, &n, sizeof bits);
	if (size < 1 || size > 255 || bits <= 0 || bits >= 0x7ffLL << 52 || strchr("-0123456789", *unit) ||
	    strspn(unit, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789") != size) {
		errno = EINVAL;
		return -1;
	}
	pthread_mutex_lock(&codegreen_state.lock);
	if (codegreen_state.fd >= 0)
		codegreen_tell(message, snprintf(message, sizeof message, "count %ld %lld %s", task, bits, unit));
	pthread_mutex_unlock(&codegreen_state.lock);
	return 0;
}

/* codegreen_ask asks cg what is known of a task; 0 where there is no answer. */
CODEGREEN_ONE int codegreen_ask(codegreen_task task, char *message, size_t size)
{
	struct codegreen_state *s = &codegreen_state;
	int n, answered = 0;
	pthread_mutex_lock(&s->asking); /* nobody stops the session meanwhile */
	if (s->fd >= 0) {
		n = snprintf(message, size, "energy %ld", task);
		if (!(answered = codegreen_tell(message, n) && codegreen_hear(message, size, 15000) > 0))
			shutdown(s->fd, SHUT_RDWR); /* an answer that comes late would be taken for that of the next question */
	}
	pthread_mutex_unlock(&s->asking);
	return answered;
}

CODEGREEN_ONE codegreen_energy codegreen_energy_of(codegreen_task task)
{
	long long e[6] = {-1, -1, -1, -1, -1, -1};
	double j[6];
	char message[4096];
	int i;
	if (codegreen_ask(task, message, sizeof message))
		sscanf(message, "energy %lld %lld %lld %lld %lld %lld", &e[0], &e[1], &e[2], &e[3], &e[4], &e[5]);
	for (i = 0; i < 6; i++)
		j[i] = e[i] < 0 ? (double)__builtin_nanf("") : (double)e[i] / 1e6;
	const codegreen_energy energy = {j[0], j[1], j[2], j[3], j[4], j[5]};
	return energy;
}

CODEGREEN_ONE int codegreen_stop(void)
{
	struct codegreen_state *s = &codegreen_state;
	struct codegreen_open *task;
	char message[64];
	int status = 0;
	pthread_mutex_lock(&s->asking);
	pthread_mutex_lock(&s->lock);
	if (s->fd >= 0) {
		if (codegreen_tell("stop", 4) && codegreen_hear(message, sizeof message, 60000) > 0)
			status = strcmp(message, "closed") == 0 ? 0 : -1;
		else
			status = codegreen_say("cg is gone, or does not answer; it did not say that it wrote ", s->file);
		close(s->fd);
	}
	s->fd = -1;
	s->active = 0;
	while ((task = s->open) != NULL) {
		s->open = task->older;
		free(task);
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->asking);
	return status;
}

CODEGREEN_ONE const char *codegreen_file(void) { return codegreen_state.file; }

#ifdef __cplusplus
}

namespace codegreen {

typedef codegreen_options options;
typedef codegreen_energy energy;

/* A session lasts as long as its scope. */
class session {
public:
	explicit session(const char *name) : started_(codegreen_start(name, NULL) == 0) {}
	session(const char *name, const options &with) : started_(codegreen_start(name, &with) == 0) {}
	~session()
	{
		if (started_)
			codegreen_stop();
	}
	session(const session &) = delete;
	session &operator=(const session &) = delete;
	/* started tells whether it began: it does not while another is active. */
	bool started() const { return started_; }

private:
	bool started_;
};

/* A task lasts as long as its scope, also when an exception leaves that. */
class task {
public:
	explicit task(const char *name) : number_(codegreen_begin(name)) {}
	task(const task &parent, const char *name) : number_(codegreen_begin_in(parent.number_, name)) {}
	~task() { codegreen_end(number_); }
	task(const task &) = delete;
	task &operator=(const task &) = delete;
	/* end ends it before its scope does; -1 while another task is open inside. */
	int end() { return codegreen_end(number_); }
	/* count tells that it has done n units of work; -1 where they are no units. */
	int count(double n, const char *unit) { return codegreen_count(number_, n, unit); }
	codegreen::energy energy() const { return codegreen_energy_of(number_); }
	codegreen_task number() const { return number_; }

private:
	codegreen_task number_;
};

} // namespace codegreen
#endif

#undef CODEGREEN_ONE
#endif
