/*
 * The native part of the runtime for Node: an addon of Node-API.
 *
 * Each thread of the program that runs JavaScript (a worker) loads it. A thread has a box: memory
 * that it shares with its JavaScript (node_counting.h), which stores the bits of an event there
 * before it calls event(). Arguments of a call would take Node-API as long as the call itself.
 */
#define CG_LEAVING take_back()
#define CG_ARRIVING take_back()
static inline void take_back(void);
#include "c_host.h"
#include "channel.h"
#include "node_api.h"
#include "node_counting.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

/* is_task reports whether a site is a task that is open. */
static int is_task(uint32_t site)
{
	for (uint32_t i = 0; i < box->open && i < MOST_TASKS; i++)
		if (box->tasks[i] == site)
			return 1;
	return 0;
}

/* event_in_task records an event while tasks are open. A task ends where its runner says, and not with the
 * function that began it: tasks above a frame that leaves are put onto what is below it. */
static void __attribute__((noinline, cold)) event_in_task(uint32_t event)
{
	uint32_t site = event & (CG_SITES - 1), kind = event >> 21, above[MOST_TASKS], n = 0;
	const cg_frame *f = cg_mine.frame;
	if ((kind == CG_EXIT || kind == CG_SUSPEND) && f && !is_task(site)) {
		for (; f > cg_mine.frames && f->path >> 32 != site; f--)
			if (n < MOST_TASKS && is_task((uint32_t)(f->path >> 32)))
				above[n++] = (uint32_t)(f->path >> 32);
		if (f == cg_mine.frames)
			n = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		cg_event((uint32_t)CG_SUSPEND << 21 | above[i]);
	cg_event(event);
	while (n > 0)
		cg_event((uint32_t)CG_RESUME << 21 | above[--n]);
}

/* event(): records the event that is in the box. */
static Value event(Env env, Info info)
{
	(void)env, (void)info;
	take_back();
	if (__builtin_expect(box->open != 0, 0))
		event_in_task(box->event);
	else
		cg_event(box->event);
	hand_over();
	return NULL;
}

/* What an event costs more than the library takes for it, or one that JavaScript counts in all: in sixteenths of a
 * nanosecond, as costs.cjs has measured it. Only code that is compiled can; the first calls of a program are not. */
static void calibrate(uint32_t call, uint32_t counted)
{
	uint64_t tick = cg_tick(), from = cg_monotonic();
	cg_calibrate(cg_event_alone, NULL, 1);
	double took = (double)(cg_monotonic() - from), ticks = took > 0 ? (double)(cg_tick() - tick) / took : 0;
	if (cg_cost)
		cg_cost += (uint32_t)(call * ticks);
	if (cg_counted_cost)
		cg_counted_cost = counted ? (uint32_t)(counted * ticks) : cg_counted_cost + (uint32_t)(call * ticks);
}

/* nothing(): the way from JavaScript to here and back. */
static Value nothing(Env env, Info info)
{
	(void)env, (void)info;
	return NULL;
}

/* open(path): maps the channel. 0, or an errno. In place of an event and a node, the box has what
 * calibrate takes. */
static Value open_channel(Env env, Info info)
{
	size_t n = 1, length = 0;
	Value arg = NULL;
	char path[4097];
	napi_get_cb_info(env, info, &n, &arg, NULL, NULL);
	if (napi_get_value_string_utf8(env, arg, path, sizeof path, &length) || length + 1 == sizeof path)
		return number(env, ENAMETOOLONG);
	int e = cg_open(path);
	if (!e && !cg_cost)
		calibrate(box->event, box->node);
	if (!e)
		cg_host_units();
	return number(env, (uint32_t)e);
}

CG_TLS char thread_name[CG_THREAD_NAME + 1];

static void node_thread_name(void) { cg_name_thread(thread_name, strlen(thread_name)); }

/* name(words): what the program calls this thread. It is told with the thread's first event. */
static Value name_thread(Env env, Info info)
{
	size_t n = 1;
	Value arg = NULL;
	napi_get_cb_info(env, info, &n, &arg, NULL, NULL);
	if (napi_get_value_string_utf8(env, arg, thread_name, sizeof thread_name, NULL))
		thread_name[0] = 0;
	cg_name_of_thread = node_thread_name;
	return NULL;
}

/* numbers(names): the number before that of a file's first site, or undefined where cg has to be asked. names are its
 * path, a zero byte and the lines of its sites; the box has how many. */
static Value numbers(Env env, Info info)
{
	size_t n = 1, length = 0;
	Value arg = NULL;
	void *names = NULL;
	napi_get_cb_info(env, info, &n, &arg, NULL, NULL);
	if (napi_get_typedarray_info(env, arg, NULL, &length, &names, NULL, NULL))
		return NULL;
	const char *end = memchr(names, 0, length);
	if (!end || !cg_head)
		return NULL;
	size_t path = (size_t)(end - (const char *)names);
	cg_part parts[3] = {{"", 0}, {names, path}, {end + 1, length - path - 1}};
	int64_t base = cg_number(parts, box->event);
	return base < 0 ? NULL : number(env, (uint32_t)base);
}

/* reached is a connection to a socket of cg's, -1 if it cannot be had. */
static int reached(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = {30, 0};
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	int e;
	do
		e = connect(fd, (const struct sockaddr *)at, sizeof *at);
	while (e < 0 && errno == EINTR);
	if (e == 0 || errno == EISCONN)
		return fd;
	close(fd);
	return -1;
}

/* sent reports whether all bytes of a request went out. */
static int sent(int fd, const char *bytes, size_t left)
{
	while (left) {
		ssize_t n = send(fd, bytes, left, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return 0;
		if (n > 0) {
			bytes += n;
			left -= (size_t)n;
		}
	}
	return 1;
}

/* received is all that comes on a connection, in memory of the caller's; NULL if it breaks. */
static char *received(int fd, size_t *length)
{
	size_t room = 1 << 16, have = 0;
	char *answer = malloc(room);
	while (answer) {
		if (have == room) {
			char *more = realloc(answer, room *= 2);
			if (!more)
				break;
			answer = more;
		}
		ssize_t n = recv(fd, answer + have, room - have, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (n == 0) {
			*length = have;
			return answer;
		}
		have += (size_t)n;
	}
	free(answer);
	return NULL;
}

/* ask(path, request): the answer of cg's server at a socket as an ArrayBuffer, or undefined.
 * What it takes is work for cg. */
static Value ask(Env env, Info info)
{
	size_t n = 2, length = 0;
	Value args[2] = {NULL, NULL}, result = NULL;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	void *request = NULL, *content = NULL;
	napi_get_cb_info(env, info, &n, args, NULL, NULL);
	if (napi_get_value_string_utf8(env, args[0], at.sun_path, sizeof at.sun_path, NULL) ||
	    napi_get_typedarray_info(env, args[1], NULL, &length, &request, NULL, NULL))
		return NULL;
	int e = errno;
	take_back();
	if (cg_head)
		cg_event(CG_OWN_SITE);
	int fd = reached(&at);
	char *answer = fd >= 0 && sent(fd, request, length) ? received(fd, &length) : NULL;
	if (fd >= 0)
		close(fd);
	if (answer && !napi_create_arraybuffer(env, length, &content, &result))
		memcpy(content, answer, length);
	free(answer);
	if (cg_head)
		cg_event((uint32_t)CG_EXIT << 21 | CG_OWN_SITE);
	errno = e;
	return result;
}

__attribute__((visibility("default"))) Value napi_register_module_v1(Env env, Value exports)
{
	static const struct {
		const char *name;
		Callback function;
	} functions[] = {{"event", event}, {"open", open_channel}, {"counting", counting},
			 {"known", known}, {"ask", ask}, {"nothing", nothing},
			 {"name", name_thread}, {"numbers", numbers}};
	Value v;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!napi_create_function(env, functions[i].name, strlen(functions[i].name), functions[i].function, NULL, &v))
			napi_set_named_property(env, exports, functions[i].name, v);
	if (!box && !(box = cg_private(sizeof *box))) /* which is kept until the thread ends */
		return NULL;
	share(env, exports, "box", box, sizeof *box);
	return exports;
}
