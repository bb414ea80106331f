/*
 * The datagrams of kernels.c: records are gathered in one, under the lock, and sent to cg. Nothing waits for cg longer
 * than a second.
 */
#ifndef CG_DATAGRAMS_H
#define CG_DATAGRAMS_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define DATAGRAM 32768

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to = -1;
static uint64_t lost; /* activities that could not be sent */
static struct {
	uint32_t magic, pid;
	uint8_t records[DATAGRAM];
} datagram = {.magic = 0x314b4743};
static size_t used;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t patience = 1000000000; /* ns that a datagram may take */
static uint32_t generation = 1;        /* datagrams that did not come, and one: older definitions are sent again */
static uint64_t telling;               /* of the activities that are lost, those that the datagram tells */

static int set_patience(uint64_t ns)
{
	struct timeval t = {.tv_sec = (time_t)(ns / 1000000000), .tv_usec = (suseconds_t)(ns % 1000000000 / 1000)};
	if (!t.tv_sec && !t.tv_usec)
		t.tv_usec = 1; /* 0 is for ever */
	return setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

/* send_whole sends the datagram; a signal that the program handles meanwhile does not end that. */
static int send_whole(void)
{
	uint64_t until = now() + patience, t;
	int again = 0;
	ssize_t n;
	while ((n = send(to, &datagram, 8 + used, MSG_NOSIGNAL)) < 0 && errno == EINTR && (t = now()) < until) {
		set_patience(until - t);
		again = 1;
	}
	if (again)
		set_patience(patience);
	return n < 0;
}

/* send_all sends what there is, under the lock. Where nobody reads, activities are lost. */
static void send_all(size_t activities)
{
	if (to >= 0 && used && send_whole()) {
		lost += activities + telling;
		generation++;
		patience = 1000000; /* nobody waits for a reader that was away once */
		set_patience(patience);
	}
	used = 0;
	telling = 0;
}

static size_t pending; /* activities in the datagram */

static void flush_locked(void)
{
	send_all(pending);
	pending = 0;
}

/* put adds a record of two parts, under the lock. */
static void put(uint32_t kind, const void *a, size_t na, const void *b, size_t nb)
{
	uint32_t head[2] = {kind, (uint32_t)(na + nb)};
	if (used + sizeof head + na + nb > DATAGRAM)
		flush_locked();
	if (sizeof head + na + nb > DATAGRAM)
		return;
	memcpy(datagram.records + used, head, sizeof head);
	memcpy(datagram.records + used + sizeof head, a, na);
	memcpy(datagram.records + used + sizeof head + na, b, nb);
	used += sizeof head + na + nb;
	pending += kind == 5 || kind == 9;
}

static void say(const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	pthread_mutex_lock(&lock);
	put(1, text, (size_t)(n < 0 ? 0 : n < (int)sizeof text ? n : (int)sizeof text - 1), "", 0);
	flush_locked();
	pthread_mutex_unlock(&lock);
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (!path || strlen(path) >= sizeof a.sun_path)
		return -1;
	strcpy(a.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct timeval patience = {.tv_sec = 1};
	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
	                connect(fd, (struct sockaddr *)&a, sizeof a))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void parted(void)
{
	to = -1; /* what the parent of a fork has is the parent's */
	used = pending = 0;
	lost = telling = 0;
	generation++;
	pthread_mutex_init(&lock, NULL); /* which another thread may have held */
}

static void send_rest(void)
{
	pthread_mutex_lock(&lock);
	flush_locked();
	pthread_mutex_unlock(&lock);
}

static void follow_process(void)
{
	pthread_atfork(NULL, NULL, parted);
	atexit(send_rest);
}

/* open_socket connects, for what comes first in a process: CUDA or NVTX. A child of a fork connects anew. */
static void open_socket(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, follow_process);
	pthread_mutex_lock(&lock);
	if (datagram.pid != (uint32_t)getpid()) {
		datagram.pid = (uint32_t)getpid();
		patience = 1000000000;
		to = connect_to(getenv("CG_KERNELS"));
	}
	pthread_mutex_unlock(&lock);
}

#endif
