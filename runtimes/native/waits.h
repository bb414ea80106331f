/*
 * The functions of CUDA's driver that wait for what was launched, ask whether it is over, and what else streams.h has
 * to know of. launches.c includes this file.
 */
#ifndef CG_WAITS_H
#define CG_WAITS_H

#define EVENTS 4096
#define KEPT 8 /* of the table, from the place of its hash on */

/* The program's events: up to what they stand for; under streaming. */
static struct {
	const void *event;
	struct stream *stream;
	void *context, *handle;
	uint64_t upto;
} events[EVENTS];

static uint32_t event_place(const void *event)
{
	uint32_t from = (uint32_t)((uintptr_t)event >> 4) * 2654435761u >> 8, i = from;
	for (uint32_t k = 0; k < KEPT; k++, i++)
		if (!events[i % EVENTS].event || events[i % EVENTS].event == event)
			return i % EVENTS;
	return from % EVENTS;
}

enum waiting { STREAM, CONTEXT, EVENT, RECORD, GONE, GONE_CONTEXT, NAMED, CAPTURE, CAPTURED };

/* what is what a function of these is about: the entries of streams with what was launched on them before it. */
struct what {
	struct stream *of[STREAMS];
	uint64_t upto[STREAMS];
	int n;
};

/* look notes what a call stands for, before it. */
static void look(enum waiting kind, int way, const long *v, struct what *w)
{
	void *context = NULL, *handle = (void *)v[kind == RECORD ? 1 : 0];
	w->n = 0;
	if (kind == EVENT) {
		uint32_t i = event_place(handle);
		struct stream *s = events[i].event == handle ? events[i].stream : NULL;
		if (s && s->context == events[i].context && s->handle == events[i].handle)
			w->of[0] = s, w->upto[0] = events[i].upto, w->n = 1;
		return;
	}
	if (driver.context(&context) || !context)
		return;
	if (kind == GONE_CONTEXT)
		context = handle;
	if (kind == STREAM || kind == RECORD || kind == GONE) {
		uint32_t thread = thread_of(&handle, way);
		struct stream *s = stream_of(context, handle, thread, 0);
		if (s)
			w->of[0] = s, w->upto[0] = s->launched, w->n = 1;
		return;
	}
	for (int i = 0; streams && i < STREAMS; i++)
		if (streams[i].context == context)
			w->of[w->n] = &streams[i], w->upto[w->n++] = streams[i].launched;
}

static void record_event(const void *event, const struct what *w)
{
	uint32_t i = event_place(event);
	events[i].event = event;
	events[i].stream = w->n ? w->of[0] : NULL;
	if (w->n) {
		events[i].context = w->of[0]->context;
		events[i].handle = w->of[0]->handle;
		events[i].upto = w->upto[0];
	}
}

/* over notes what a call says that succeeded. */
static void over(enum waiting kind, const long *v, const struct what *w)
{
	uint64_t at = now();
	for (int i = 0; i < w->n; i++) {
		struct stream *s = w->of[i];
		if (kind == RECORD)
			break;
		if (kind == GONE || kind == GONE_CONTEXT) {
			s->gone = 1;
			if (kind == GONE_CONTEXT)
				forget(s), s->waiting = 0;
			continue;
		}
		harvest(s);
		done(s, w->upto[i], at);
	}
	if (kind == RECORD)
		record_event((const void *)v[0], w);
}

static int waits(struct function *f, int way, const long *v)
{
	six real = real_of(f, way);
	enum waiting kind = (enum waiting)f->shape.kind;
	struct what w = {.n = 0};
	if (!real)
		return ABSENT;
	int mine = ours(), e = errno;
	if (kind == CAPTURE)
		captures++;
	if (mine && kind < NAMED) {
		pthread_mutex_lock(&streaming);
		look(kind, way, v, &w);
		for (int i = 0; i < w.n && (kind == GONE || kind == GONE_CONTEXT) && !captures; i++)
			harvest(w.of[i]);
		pthread_mutex_unlock(&streaming);
	}
	errno = e;
	within++;
	int code = real(v[0], v[1], v[2], v[3], v[4], v[5]);
	within--;
	e = errno;
	if ((kind == CAPTURE && code) || kind == CAPTURED)
		captures -= captures > 0;
	if (mine && kind == NAMED && !code && v[0] && *(void **)v[0])
		name_handle(*(void **)v[0], f->shape.label ? (const char *)v[2] : NULL);
	if (mine && !code && kind < NAMED && !captures) {
		pthread_mutex_lock(&streaming);
		over(kind, v, &w);
		pthread_mutex_unlock(&streaming);
		flush_sometimes();
	}
	errno = e;
	return code;
}

/* Each function with its kind. cuKernelGetFunction's names are asked of the driver. */
#define WAITING(X)                                                           \
	X(cuStreamSynchronize, cuStreamSynchronize_ptsz, STREAM, NULL)           \
	X(cuStreamQuery, cuStreamQuery_ptsz, STREAM, NULL)                       \
	X(cuCtxSynchronize, cuCtxSynchronize_ptsz, CONTEXT, NULL)                \
	X(cuEventSynchronize, cuEventSynchronize_ptsz, EVENT, NULL)              \
	X(cuEventQuery, cuEventQuery_ptsz, EVENT, NULL)                          \
	X(cuEventRecord, cuEventRecord_ptsz, RECORD, NULL)                       \
	X(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, RECORD, NULL)     \
	X(cuStreamDestroy_v2, cuStreamDestroy_v2_ptsz, GONE, NULL)               \
	X(cuCtxDestroy_v2, cuCtxDestroy_v2_ptsz, GONE_CONTEXT, NULL)             \
	X(cuModuleGetFunction, cuModuleGetFunction_ptsz, NAMED, "name")          \
	X(cuLibraryGetKernel, cuLibraryGetKernel_ptsz, NAMED, "name")            \
	X(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, CAPTURE, NULL)  \
	X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, CAPTURE, NULL) \
	X(cuStreamEndCapture, cuStreamEndCapture_ptsz, CAPTURED, NULL)

#define WAIT_PLACE(name, own, ...) AT_##name,
enum { BEFORE_WAITS = WAITS - 1, WAITING(WAIT_PLACE) };

#define WAIT_WAY(visible, name, place, way)                          \
	int visible name(long a, long b, long c, long d, long e, long f) \
	{                                                                \
		const long v[6] = {a, b, c, d, e, f};                        \
		return waits(&functions[place], way, v);                     \
	}
#define WAIT_WAYS(name, own, ...)                               \
	WAIT_WAY(PUBLIC, name, AT_##name, PLAIN)                    \
	WAIT_WAY(PUBLIC, own, AT_##name, OWN_DEFAULT)               \
	WAIT_WAY(HIDDEN, name##_other, AT_##name, OTHER_PLAIN)      \
	WAIT_WAY(HIDDEN, own##_other, AT_##name, OTHER_OWN_DEFAULT)
WAITING(WAIT_WAYS)

#define WAIT_ROW(name, own, kind, label) {#name, OWN(name, own), {NULL}, {-3, -1, 0, kind, label, 0}},

#endif
