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
	uint64_t serial, upto;
} events[EVENTS];

static void *primary[DEVICES]; /* the primary contexts, as the program got them */

static uint32_t event_place(const void *event)
{
	uint32_t from = (uint32_t)((uintptr_t)event >> 4) * 2654435761u >> 8, unused = from;
	for (uint32_t k = KEPT; k-- > 0;)
		if (events[(from + k) % EVENTS].event == event)
			return (from + k) % EVENTS;
		else if (!events[(from + k) % EVENTS].event)
			unused = from + k;
	return unused % EVENTS;
}

enum waiting { STREAM, CONTEXT, EVENT, RECORD, GONE, GONE_EVENT, GONE_CONTEXT, RESET, RELEASED, RETAINED, NAMED,
               CAPTURE, CAPTURED };

/* what is what a function of these is about: the entries of streams with what was launched on them before it. */
struct what {
	struct stream *of[STREAMS];
	uint64_t serial[STREAMS], upto[STREAMS];
	int n;
};

static void add(struct what *w, struct stream *s, uint64_t upto)
{
	w->of[w->n] = s, w->serial[w->n] = s->serial, w->upto[w->n++] = upto;
}

static void *primary_of(long device)
{
	return (int)device >= 0 && (int)device < DEVICES ? primary[(int)device] : NULL;
}

/* going is before what a call ends: another thread may get the same handle as soon as that is gone. */
static void going(enum waiting kind, const long *v, void *context)
{
	if (kind == GONE_EVENT) {
		uint32_t i = event_place((const void *)v[0]);
		if (events[i].event == (const void *)v[0])
			events[i].event = NULL;
	}
	for (int i = 0; streams && i < STREAMS && kind >= GONE_CONTEXT; i++)
		if (context && streams[i].context == context)
			harvest(&streams[i]);
	if (context && kind != RELEASED)
		forget_context(context);
}

/* look notes what a call stands for, before it. */
static void look(enum waiting kind, int way, const long *v, struct what *w)
{
	void *context = NULL, *handle = (void *)v[kind == RECORD ? 1 : 0];
	w->n = 0;
	if (kind == EVENT) {
		uint32_t i = event_place(handle);
		struct stream *s = events[i].event == handle ? events[i].stream : NULL;
		if (s && s->serial == events[i].serial)
			add(w, s, events[i].upto);
		return;
	}
	if (kind >= GONE_EVENT) {
		going(kind, v, kind == GONE_CONTEXT ? handle : kind == GONE_EVENT ? NULL : primary_of(v[0]));
		return;
	}
	if (driver.context(&context) || !context)
		return;
	if (kind == STREAM || kind == RECORD || kind == GONE) {
		uint32_t thread = thread_of(&handle, way);
		struct stream *s = stream_of(context, handle, thread, 0);
		if (s)
			add(w, s, s->launched);
		return;
	}
	for (int i = 0; streams && i < STREAMS; i++)
		if (streams[i].context == context)
			add(w, &streams[i], streams[i].launched);
}

static void record_event(const void *event, const struct what *w)
{
	uint32_t i = event_place(event);
	events[i].event = event;
	events[i].stream = w->n ? w->of[0] : NULL;
	if (w->n) {
		events[i].serial = w->serial[0];
		events[i].upto = w->upto[0];
	}
}

static void retained(const long *v)
{
	pthread_mutex_lock(&streaming);
	if (v[0] && (int)v[1] >= 0 && (int)v[1] < DEVICES)
		primary[(int)v[1]] = *(void **)v[0];
	pthread_mutex_unlock(&streaming);
}

/* released forgets a device's primary context where nobody holds it any longer. */
static void released(long device)
{
	unsigned flags;
	int active = 1;
	void *context = primary_of(device);
	if (context && driver.primary && !driver.primary((int)device, &flags, &active) && !active)
		forget_context(context);
}

/* over notes what a call says that succeeded. */
static void over(enum waiting kind, const long *v, const struct what *w)
{
	uint64_t at = now();
	for (int i = 0; i < w->n; i++) {
		struct stream *s = w->of[i];
		if (kind == RECORD)
			break;
		if (s->serial != w->serial[i])
			continue; /* another thread's stream has the entry */
		if (kind == GONE) {
			s->gone = 1;
			continue;
		}
		harvest(s);
		done(s, w->upto[i] < s->launched ? w->upto[i] : s->launched, at);
	}
	if (kind == RECORD)
		record_event((const void *)v[0], w);
	if (kind == RELEASED)
		released(v[0]);
}

static int waits(struct function *f, int way, const long *v)
{
	six real = real_of(f, way);
	enum waiting kind = (enum waiting)f->shape.kind;
	struct what w = {.n = 0};
	if (!real)
		return ABSENT;
	int mine = kind != RETAINED && ours(), e = errno; /* who only has a context launches nothing */
	if (kind == CAPTURE)
		captures++;
	if (mine && kind < NAMED) {
		pthread_mutex_lock(&streaming);
		look(kind, way, v, &w);
		for (int i = 0; i < w.n && kind == GONE; i++)
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
	if (kind == RETAINED && !code)
		retained(v);
	if (mine && kind == NAMED && !code && v[0] && *(void **)v[0])
		name_handle(*(void **)v[0], f->shape.label ? (const char *)v[2] : NULL);
	if (mine && !code && kind < NAMED && (kind >= GONE || !captures)) {
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
	X(cuEventDestroy_v2, cuEventDestroy_v2_ptsz, GONE_EVENT, NULL)           \
	X(cuCtxDestroy_v2, cuCtxDestroy_v2_ptsz, GONE_CONTEXT, NULL)             \
	X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset_v2_ptsz, RESET, NULL) \
	X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease_v2_ptsz, RELEASED, NULL) \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain_ptsz, RETAINED, NULL) \
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
