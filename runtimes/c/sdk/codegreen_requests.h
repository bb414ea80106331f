/* codegreen_requests.h tells cg which requests a program in C or C++ works on.
 *
 *     #include "codegreen_requests.h"
 *
 *     codegreen_request request = codegreen_annotate_request("GET /cart");
 *     cart();
 *     codegreen_end_request(&request);
 *
 * In C++ a request ends with its scope:
 *
 *     { codegreen::request request("GET /cart"); cart(); }
 *
 * The variable CG_SOCKET names what cg monitor --socket listens at, and cg measure sets it; without it nothing is
 * done. Nobody waits for who listens: what is not taken at once is dropped, and counted. The processor time of the
 * thread that began a request tells its energy (docs/monitor.md of cg).
 *
 * It may be used with codegreen.h, or alone. Any number of files may include it; it is C99 and C++11 for GCC, Clang
 * and their like on Linux. All functions may be called from any thread, and none from a signal's handler. With glibc
 * before 2.34, link with -pthread. */
#ifndef CODEGREEN_REQUESTS_H
#define CODEGREEN_REQUESTS_H

#ifndef __linux__
#error "codegreen_requests.h is for Linux"
#endif
#if defined(__STRICT_ANSI__) && !defined(_FEATURES_H) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE) && \
	!defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_MONOTONIC
#error "codegreen_requests.h needs POSIX: include it before other headers, or compile with -D_POSIX_C_SOURCE=200809L"
#endif

struct codegreen_listener;

/* A request that has begun. Nobody heard of it, or it is over, where to is NULL. */
typedef struct {
	struct codegreen_listener *to;
	long serial, number, tid;
} codegreen_request;

#ifdef __cplusplus
extern "C" {
#elif defined(__STRICT_ANSI__)
extern long syscall(long number, ...); /* which unistd.h does not have in standard C */
#endif

/* codegreen_annotate_request says that a request begins. name is the route, not the single request; its first 200
 * characters are said. It keeps errno. */
codegreen_request codegreen_annotate_request(const char *name);

/* codegreen_annotate_request_at is the same for a socket; NULL and "" are none. */
codegreen_request codegreen_annotate_request_at(const char *path, const char *name);

/* codegreen_end_request says that it ends, in whatever thread. A request that is over stays as it is. It keeps
 * errno. */
void codegreen_end_request(codegreen_request *request);

/* codegreen_dropped_annotations is how many beginnings and ends of requests could not be said, since nobody
 * listened or took them. */
long codegreen_dropped_annotations(void);

/* What follows is not for programs. Several files of a program may have it; the linker keeps one (weak). */

#define CODEGREEN_ONE __attribute__((__weak__, __visibility__("default"), __no_instrument_function__))

enum {
	CODEGREEN_NAME_MOST = 200,    /* characters of a name */
	CODEGREEN_LINE_MOST = 1536,   /* bytes of a line: a character has six at most */
	CODEGREEN_UNSENT_MOST = 1000, /* ends that wait for a socket that is full */
	CODEGREEN_RETRY_S = 1         /* between two attempts to connect */
};

struct codegreen_unsent { /* an end that did not fit */
	struct codegreen_unsent *next;
	int length;
	char text[160];
};

struct codegreen_listener { /* a socket at which cg listens, or not. It stays as long as the program */
	struct codegreen_listener *older;
	pthread_mutex_t lock;
	char *path;
	int fd;               /* -1 without a connection */
	long serial;          /* of the connection, 1 and more */
	long number;          /* of the last request */
	struct timespec tried; /* when a connection was tried last */
	long dropped;
	int waiting;          /* ends that did not fit, the oldest first */
	struct codegreen_unsent *unsent, **last;
};

struct codegreen_listeners {
	pthread_mutex_t lock;
	struct codegreen_listener *newest;
	int prepared;
};

extern struct codegreen_listeners codegreen_listeners;
int codegreen_request_line(char *line, long number, const char *name, long long at_us, long tid, long long cpu_ns);
long long codegreen_clock(clockid_t clock);
int codegreen_end_line(const codegreen_request *request, char *line);
void codegreen_hang_up(struct codegreen_listener *l);
int codegreen_connected(struct codegreen_listener *l);
int codegreen_sent(struct codegreen_listener *l, const char *line, int length);
int codegreen_flushed(struct codegreen_listener *l);
void codegreen_keep(struct codegreen_listener *l, const char *line, int length);
void codegreen_requests_forked(void);
void codegreen_requests_leave(void);
struct codegreen_listener *codegreen_listener_at(const char *path);

__attribute__((__weak__, __visibility__("default"))) struct codegreen_listeners codegreen_listeners = {
	PTHREAD_MUTEX_INITIALIZER, NULL, 0};

/* codegreen_request_line writes what is said of a request: that it begins, or with NULL as the name, that it ends.
 * Times are since 1970; tid is 0 and cpu_ns negative where they are not known. It gives the length. */
CODEGREEN_ONE int codegreen_request_line(char *line, long number, const char *name, long long at_us, long tid,
					 long long cpu_ns)
{
	const char *blank = " \t\n\v\f\r", *end;
	int n = snprintf(line, CODEGREEN_LINE_MOST, "{\"annotate\":\"request\",\"id\":%ld", number), characters = 0;
	if (name) {
		name += strspn(name, blank);
		end = name + strlen(name);
		while (end > name && strchr(blank, end[-1]))
			end--;
		n += snprintf(line + n, 16, ",\"name\":\"%s", name == end ? "?" : "");
		for (; name < end && n < CODEGREEN_LINE_MOST - 200; name++) {
			if ((*name & 0xc0) != 0x80 && ++characters > CODEGREEN_NAME_MOST) /* of UTF-8 */
				break;
			if ((unsigned char)*name < ' ')
				n += snprintf(line + n, 8, "\\u%04x", (unsigned)*name);
			else if (*name == '"' || *name == '\\')
				n += snprintf(line + n, 8, "\\%c", *name);
			else
				line[n++] = *name;
		}
		line[n++] = '"';
	}
	n += snprintf(line + n, 64, ",\"%s\":%lld.%06lld", name ? "begin" : "end", at_us / 1000000, at_us % 1000000);
	if (tid > 0)
		n += snprintf(line + n, 32, ",\"tid\":%ld", tid);
	if (tid > 0 && cpu_ns >= 0)
		n += snprintf(line + n, 64, ",\"cpu\":%lld.%09lld", cpu_ns / 1000000000, cpu_ns % 1000000000);
	return n + snprintf(line + n, 4, "}\n");
}

/* codegreen_clock is a clock in ns. */
CODEGREEN_ONE long long codegreen_clock(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t) != 0)
		return -1;
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* codegreen_end_line says that a request ends. Another thread's time says nothing of it. */
CODEGREEN_ONE int codegreen_end_line(const codegreen_request *request, char *line)
{
	long long cpu = syscall(SYS_gettid) == request->tid ? codegreen_clock(CLOCK_THREAD_CPUTIME_ID) : -1;
	return codegreen_request_line(line, request->number, NULL, codegreen_clock(CLOCK_REALTIME) / 1000, request->tid,
				      cpu);
}

/* codegreen_hang_up ends a connection; who listens ends its requests. */
CODEGREEN_ONE void codegreen_hang_up(struct codegreen_listener *l)
{
	struct codegreen_unsent *one;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->serial++;
	while ((one = l->unsent) != NULL) {
		l->unsent = one->next;
		free(one);
	}
	l->last = &l->unsent;
	l->waiting = 0;
}

CODEGREEN_ONE int codegreen_connected(struct codegreen_listener *l)
{
	struct sockaddr_un address;
	struct timespec now;
	const size_t length = strlen(l->path);
	if (l->fd >= 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (length >= sizeof address.sun_path ||
	    (l->tried.tv_sec > 0 && now.tv_sec - l->tried.tv_sec - (now.tv_nsec < l->tried.tv_nsec) < CODEGREEN_RETRY_S))
		return 0;
	l->tried = now;
	memset(&address, 0, sizeof address);
	address.sun_family = AF_UNIX;
	memcpy(address.sun_path, l->path, length);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd >= 0 && connect(l->fd, (struct sockaddr *)&address, sizeof address) != 0) {
		close(l->fd);
		l->fd = -1;
	}
	return l->fd >= 0;
}

/* codegreen_sent tells whether a line was taken, whole. */
CODEGREEN_ONE int codegreen_sent(struct codegreen_listener *l, const char *line, int length)
{
	ssize_t n;
	if (l->fd < 0)
		return 0;
	while ((n = send(l->fd, line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR)
		;
	if (n == length)
		return 1;
	if (n >= 0 || errno != EAGAIN) /* half a line, or nobody listens any more */
		codegreen_hang_up(l);
	return 0;
}

/* codegreen_flushed says the ends that did not fit before, and tells whether none is left. */
CODEGREEN_ONE int codegreen_flushed(struct codegreen_listener *l)
{
	struct codegreen_unsent *one;
	while ((one = l->unsent) != NULL && codegreen_sent(l, one->text, one->length)) {
		if ((l->unsent = one->next) == NULL)
			l->last = &l->unsent;
		l->waiting--;
		free(one);
	}
	return l->unsent == NULL;
}

/* codegreen_keep keeps an end that does not fit. */
CODEGREEN_ONE void codegreen_keep(struct codegreen_listener *l, const char *line, int length)
{
	struct codegreen_unsent *one = NULL;
	if (l->waiting < CODEGREEN_UNSENT_MOST && length <= (int)sizeof one->text)
		one = (struct codegreen_unsent *)malloc(sizeof *one);
	if (!one) {
		l->dropped++;
		codegreen_hang_up(l);
		return;
	}
	memcpy(one->text, line, (size_t)length);
	one->length = length;
	one->next = NULL;
	*l->last = one;
	l->last = &one->next;
	l->waiting++;
}

/* codegreen_requests_forked: connections are the parent's, and so is what waits. */
CODEGREEN_ONE void codegreen_requests_forked(void)
{
	struct codegreen_listener *l;
	pthread_mutex_init(&codegreen_listeners.lock, NULL);
	for (l = codegreen_listeners.newest; l; l = l->older) {
		pthread_mutex_init(&l->lock, NULL);
		l->unsent = NULL; /* another thread may have been in the midst of it */
		l->tried.tv_sec = 0;
		l->dropped = 0;
		codegreen_hang_up(l);
	}
}

CODEGREEN_ONE void codegreen_requests_leave(void)
{
	struct codegreen_listener *l;
	pthread_mutex_lock(&codegreen_listeners.lock);
	for (l = codegreen_listeners.newest; l; l = l->older) {
		pthread_mutex_lock(&l->lock);
		codegreen_flushed(l);
		pthread_mutex_unlock(&l->lock);
	}
	pthread_mutex_unlock(&codegreen_listeners.lock);
}

/* codegreen_listener_at is NULL without memory. A set-user-ID program has none: its caller names the socket. */
CODEGREEN_ONE struct codegreen_listener *codegreen_listener_at(const char *path)
{
	struct codegreen_listeners *all = &codegreen_listeners;
	struct codegreen_listener *l;
	if (!path || !*path || getauxval(AT_SECURE))
		return NULL;
	pthread_mutex_lock(&all->lock);
	if (!all->prepared) {
		all->prepared = 1;
		pthread_atfork(NULL, NULL, codegreen_requests_forked);
		atexit(codegreen_requests_leave);
	}
	for (l = all->newest; l && strcmp(l->path, path) != 0; l = l->older)
		;
	if (!l && (l = (struct codegreen_listener *)calloc(1, sizeof *l)) != NULL) {
		pthread_mutex_init(&l->lock, NULL);
		l->path = (char *)malloc(strlen(path) + 1);
		l->fd = -1;
		l->serial = 1;
		l->last = &l->unsent;
		l->older = all->newest;
		if (l->path) {
			strcpy(l->path, path);
			all->newest = l;
		} else {
			free(l);
			l = NULL;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return l;
}

CODEGREEN_ONE codegreen_request codegreen_annotate_request_at(const char *path, const char *name)
{
	const int error = errno;
	codegreen_request request = {NULL, 0, 0, 0};
	struct codegreen_listener *l;
	char line[CODEGREEN_LINE_MOST];
	int cancel;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* send(2) is where a thread is cancelled, with the lock */
	if ((l = codegreen_listener_at(path)) != NULL) {
		request.tid = (long)syscall(SYS_gettid);
		pthread_mutex_lock(&l->lock);
		request.number = ++l->number;
		if (codegreen_connected(l) && codegreen_flushed(l) &&
		    codegreen_sent(l, line, codegreen_request_line(line, request.number, name ? name : "",
								   codegreen_clock(CLOCK_REALTIME) / 1000, request.tid,
								   codegreen_clock(CLOCK_THREAD_CPUTIME_ID)))) {
			request.to = l;
			request.serial = l->serial;
		} else {
			l->dropped++;
		}
		pthread_mutex_unlock(&l->lock);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = error;
	return request;
}

CODEGREEN_ONE codegreen_request codegreen_annotate_request(const char *name)
{
	return codegreen_annotate_request_at(getenv("CG_SOCKET"), name);
}

CODEGREEN_ONE void codegreen_end_request(codegreen_request *request)
{
	const int error = errno;
	struct codegreen_listener *l = request->to;
	char line[CODEGREEN_LINE_MOST];
	int length, cancel;
	if (!l)
		return;
	request->to = NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&l->lock);
	if (request->serial == l->serial) { /* else its connection is closed, and it has ended with that */
		length = codegreen_end_line(request, line);
		if (!(codegreen_flushed(l) && codegreen_sent(l, line, length)) && request->serial == l->serial)
			codegreen_keep(l, line, length);
	}
	pthread_mutex_unlock(&l->lock);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
}

CODEGREEN_ONE long codegreen_dropped_annotations(void)
{
	struct codegreen_listener *l;
	long sum = 0;
	pthread_mutex_lock(&codegreen_listeners.lock);
	for (l = codegreen_listeners.newest; l; l = l->older) {
		pthread_mutex_lock(&l->lock);
		sum += l->dropped;
		pthread_mutex_unlock(&l->lock);
	}
	pthread_mutex_unlock(&codegreen_listeners.lock);
	return sum;
}

#ifdef __cplusplus
}

namespace codegreen {

/* A request lasts as long as its scope, also when an exception leaves that. */
class request {
public:
	explicit request(const char *name) : begun_(codegreen_annotate_request(name)) {}
	request(const char *name, const char *socket) : begun_(codegreen_annotate_request_at(socket, name)) {}
	~request() { end(); }
	request(const request &) = delete;
	request &operator=(const request &) = delete;
	/* end ends it before its scope does. */
	void end() { codegreen_end_request(&begun_); }

private:
	codegreen_request begun_;
};

} // namespace codegreen
#endif

#undef CODEGREEN_ONE
#endif
