/*
 * Checkpoints for CPython 3.8 and later: one extension module, built without
 * Python.h, so that one library serves every version. It uses the stable ABI
 * (docs.python.org/3/c-api/stable.html) and the layout of the object head,
 * which is part of it. Not for free-threaded builds, whose head differs.
 *
 *   -checkpoint        records the event, gives None
 *   checkpoint[x]      records the event, gives x
 *   checkpoint << x    the same, but for NotImplemented
 *
 * Operators instead of calls: they need no frame and no arguments, and their
 * operand is a constant of the woven code.
 */
#include "channel.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef intptr_t Py_ssize_t;
typedef struct PyObject {
	Py_ssize_t refcount;
	struct PyObject *type;
} PyObject;
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef struct {
	const char *name;
	PyCFunction call;
	int flags;
	const char *doc;
} PyMethodDef;
typedef struct {
	int slot;
	void *value;
} PySlot; /* PyType_Slot and PyModuleDef_Slot */
typedef struct {
	PyObject head;
	PyObject *(*init)(void);
	Py_ssize_t index;
	PyObject *copy;
	const char *name, *doc;
	Py_ssize_t size;
	PyMethodDef *methods;
	PySlot *slots;
	void *traverse, *clear, *free;
} PyModuleDef;
typedef struct {
	const char *name;
	int size, item_size;
	unsigned int flags;
	PySlot *slots;
} PyType_Spec;

enum {
	METH_O = 8,
	METH_FASTCALL = 0x80,
	Py_mp_subscript = 5,
	Py_nb_index = 13,
	Py_nb_lshift = 28,
	Py_nb_negative = 30,
	Py_tp_call = 50,
	Py_mod_exec = 2,
	Py_mod_multiple_interpreters = 3,
	Py_TPFLAGS_DEFAULT = 1 << 18,
};

#define Py_MOD_PER_INTERPRETER_GIL_SUPPORTED ((void *)2)

extern PyObject _Py_NoneStruct;
extern PyObject _Py_TrueStruct, _Py_FalseStruct;
extern PyObject *PyExc_OSError, *PyExc_ValueError;
extern const char *Py_GetVersion(void);
extern void Py_IncRef(PyObject *);
extern long PyLong_AsLong(PyObject *);
extern PyObject *PyLong_FromLong(long);
extern PyObject *PyLong_FromUnsignedLongLong(unsigned long long);
extern PyObject *PyErr_Occurred(void);
extern void PyErr_SetString(PyObject *, const char *);
extern PyObject *PyErr_SetFromErrnoWithFilename(PyObject *, const char *);
extern PyObject *PyModuleDef_Init(PyModuleDef *);
extern PyObject *PyType_FromSpec(PyType_Spec *);
extern PyObject *PyType_GenericAlloc(PyObject *, Py_ssize_t);
extern void Py_DecRef(PyObject *);
extern PyObject *PyObject_CallObject(PyObject *, PyObject *);
extern PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t); /* borrowed */
extern int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
extern PyObject *PyObject_GetAttr(PyObject *, PyObject *);
extern PyObject *PyUnicode_InternFromString(const char *);
extern const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
extern PyObject *PyEval_GetFrame(void); /* borrowed */
extern PyObject *PyFrame_GetBack(PyObject *) __attribute__((weak)); /* not in 3.8 */
extern PyObject *PyObject_GetAttrString(PyObject *, const char *);
extern Py_ssize_t PyTuple_Size(PyObject *);
extern PyObject PyCoro_Type, PyGen_Type, PyAsyncGen_Type, PyFunction_Type;
extern PyObject *_PyType_Lookup(PyObject *, PyObject *) __attribute__((weak)); /* borrowed */
extern PyObject *PyUnicode_FromString(const char *);
extern PyObject *PyEval_EvalCode(PyObject *, PyObject *, PyObject *);
extern PyObject *PyUnicode_AsUTF8String(PyObject *);
extern char *PyBytes_AsString(PyObject *);
extern int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
extern void *PyModule_GetState(PyObject *);
extern void PyErr_Clear(void);
extern int PyDict_DelItemString(PyObject *, const char *);
extern PyObject *PyObject_Call(PyObject *, PyObject *, PyObject *);
extern PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
extern PyObject *PyExc_SystemExit, *PyExc_KeyboardInterrupt;
extern void PyErr_SetNone(PyObject *);
extern PyObject *PyErr_NoMemory(void);
extern void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
extern void PyErr_Restore(PyObject *, PyObject *, PyObject *);
extern int PyErr_ExceptionMatches(PyObject *);
extern PyObject *PyRun_StringFlags(const char *, int, PyObject *, PyObject *, void *);
extern int PySys_AddAuditHook(int (*)(const char *, PyObject *, void *), void *);
/* not in the stable ABI, and not wanted where it is missing */
extern PyObject *PyMarshal_ReadObjectFromString(const char *, Py_ssize_t) __attribute__((weak));
/* not in 3.8 */
extern int Py_EnterRecursiveCall(const char *) __attribute__((weak));
extern void Py_LeaveRecursiveCall(void) __attribute__((weak));

static int none_is_immortal; /* PEP 683, 3.12 and later */

static inline PyObject *none(void)
{
	if (!none_is_immortal)
		_Py_NoneStruct.refcount++;
	return &_Py_NoneStruct;
}

typedef struct {
	PyObject head;
	uint64_t bits; /* kind << 21 | site */
} Checkpoint;

typedef struct {
	char *text;
	size_t room;
} Buffer;

enum { ENTER, EXIT, SUSPEND, RESUME, UNWIND, CLOSE };

/* How a checkpoint of such a site looks at its frame, above its 24 bits. */
enum {
	PLAIN, /* a yield; an enter, exit, unwind or resume of any kind */
	WAIT,  /* await x, yield from x: x may tell when it leaves */
	ALONE, /* yield in an asynchronous generator: gives to the one that waits */
	OPEN,  /* no event: an async statement begins */
	OVER,  /* what it is over, or with, is known */
	AGAIN, /* its body is left for the next value, or for the end */
	SHUT,  /* it is over */
};

enum { UP = 15 }; /* the most frames between a checkpoint and its site's */

/* Each interpreter of the process has a module and types of its own. */
typedef struct {
	PyObject *types[3]; /* checkpoint, counting, pausing */
	PyObject *main_type, *around_type;
	PyObject *co_consts; /* the name */
	char *cache;         /* what the names of cache entries begin with */
	Buffer spare;
	Checkpoint ***made[(SHUT + 1) * (UP + 1)]; /* by their bits: the highest, 12, and 12 */
} State;

static State *state_of(PyObject *module) { return PyModule_GetState(module); }

static PyObject *checkpoint_negative(PyObject *self)
{
	cg_event(((Checkpoint *)self)->bits);
	return &_Py_NoneStruct;
}

static PyObject *checkpoint_negative_counted(PyObject *self)
{
	cg_event(((Checkpoint *)self)->bits);
	_Py_NoneStruct.refcount++;
	return &_Py_NoneStruct;
}

static PyObject *checkpoint_lshift(PyObject *self, PyObject *value)
{
	cg_event(((Checkpoint *)self)->bits);
	Py_IncRef(value);
	return value;
}

/* What is known of frames that can be suspended, by address: a table with open
 * addressing. A generator that is closed, or thrown into, comes back without
 * passing its resume; the checkpoint it passes next then knows that it was
 * away. The frame object lives as long as the frame, and a new frame begins with
 * an enter, which forgets what an earlier one at its address left. Guarded by
 * the global lock; one table for the process, since addresses are.
 *
 * A frame that waits for one with checkpoints of its own stays where it is: what
 * that one uses is inclusive in it. When the inner one leaves the thread, all
 * that wait for it leave, and they come back with it. */
enum { AWAY = 1, WAITS = 2 };

typedef struct {
	PyObject *frame;
	uint64_t own; /* a bit for each open async statement: its object tells */
	uint32_t site, flags;
} Pause;

static struct {
	Pause *slots;
	size_t size, used; /* used counts removed ones, too */
	size_t waits;      /* frames that wait for one that tells */
} pauses;

static PyObject *const removed = (PyObject *)1;

static size_t pause_home(PyObject *frame) { return ((uintptr_t)frame >> 4) * 0x9e3779b97f4a7c15u >> 20; }

static Pause *pause_find(PyObject *frame)
{
	if (!pauses.size)
		return NULL;
	for (size_t i = pause_home(frame);; i++) {
		Pause *p = &pauses.slots[i & (pauses.size - 1)];
		if (!p->frame)
			return NULL;
		if (p->frame == frame)
			return p;
	}
}

static Pause *pause_put(PyObject *frame)
{
	if (2 * (pauses.used + 1) > pauses.size) {
		Pause *old = pauses.slots;
		size_t n = pauses.size, live = 0;
		for (size_t i = 0; i < n; i++)
			live += old[i].frame && old[i].frame != removed;
		size_t size = 64;
		while (size < 4 * (live + 1))
			size *= 2;
		Pause *slots = calloc(size, sizeof *slots);
		if (!slots)
			return NULL;
		pauses.slots = slots;
		pauses.size = size;
		pauses.used = 0;
		for (size_t i = 0; i < n; i++)
			if (old[i].frame && old[i].frame != removed)
				*pause_put(old[i].frame) = old[i];
		free(old);
	}
	size_t i = pause_home(frame);
	while (pauses.slots[i & (pauses.size - 1)].frame)
		i++;
	Pause *p = &pauses.slots[i & (pauses.size - 1)];
	*p = (Pause){frame, 0, 0, 0};
	pauses.used++;
	return p;
}

/* pause_set changes the flags of a frame; one that has nothing to remember is
 * forgotten. */
static void pause_set(Pause *p, uint32_t flags)
{
	if ((p->flags ^ flags) & WAITS)
		pauses.waits += flags & WAITS ? 1 : (size_t)-1;
	p->flags = flags;
	if (!flags && !p->own)
		p->frame = removed;
}

/* frame_back is the frame that a frame returns to; borrowed: it runs. */
static PyObject *frame_back(PyObject *frame)
{
	if (!PyFrame_GetBack) /* 3.8: behind the head and the size */
		return ((PyObject **)frame)[3];
	PyObject *back = PyFrame_GetBack(frame);
	if (back)
		Py_DecRef(back);
	return back;
}

/* is_comprehension tells frames that stand between one that waits and its
 * function's, before 3.12. Checkpoints in them are of the function's frame: so
 * many up stands above their low 32 bits. */
static int is_comprehension(PyObject *frame)
{
	static int framed = -1;
	if (framed < 0)
		framed = atoi(Py_GetVersion() + 2) < 12;
	if (!framed)
		return 0;
	PyObject *code = PyObject_GetAttrString(frame, "f_code"), *name = code ? PyObject_GetAttrString(code, "co_name") : NULL;
	PyObject *text = name ? PyUnicode_AsUTF8String(name) : NULL;
	const char *s = text ? PyBytes_AsString(text) : "";
	int is = !strcmp(s, "<listcomp>") || !strcmp(s, "<setcomp>") || !strcmp(s, "<dictcomp>");
	if (text)
		Py_DecRef(text);
	if (name)
		Py_DecRef(name);
	if (code)
		Py_DecRef(code);
	PyErr_Clear();
	return is;
}

/* chain gives the frames that wait for this one, and are away or are not, the
 * nearest first. They run, or did until this one left: the pointers hold. What
 * is known of them may move meanwhile, since a frame object that is made can
 * set off the garbage collector. */
enum { CHAIN = 512 };

static int chain(PyObject *frame, uint32_t flags, PyObject *out[CHAIN])
{
	int n = 0;
	while (pauses.waits && n < CHAIN && (frame = frame_back(frame))) {
		Pause *p = pause_find(frame);
		if (!p && is_comprehension(frame))
			continue;
		if (!p || p->flags != flags)
			break;
		out[n++] = frame;
	}
	return n;
}

/* The types of checkpoints, of all interpreters. */
static PyObject *ours[64];
static int n_ours;

/* has_checkpoints reports whether the code object that is an attribute of an
 * object has checkpoints. */
static int has_checkpoints(PyObject *o, const char *attribute)
{
	PyObject *code = PyObject_GetAttrString(o, attribute), *consts = NULL;
	int found = 0;
	if (code && (consts = PyObject_GetAttrString(code, "co_consts")))
		for (Py_ssize_t i = 0, n = PyTuple_Size(consts); i < n && !found; i++) {
			PyObject *type = PyTuple_GetItem(consts, i)->type;
			for (int k = 0; k < n_ours && !found; k++)
				found = type == ours[k];
		}
	if (consts)
		Py_DecRef(consts);
	if (code)
		Py_DecRef(code);
	PyErr_Clear();
	return found;
}

/* method_has_checkpoints looks a function up in a type, past its metaclass. */
static int method_has_checkpoints(PyObject *type, PyObject *name)
{
	PyObject *method = _PyType_Lookup && name ? _PyType_Lookup(type, name) : NULL;
	return method && method->type == &PyFunction_Type && has_checkpoints(method, "__code__");
}

/* tells reports whether what a frame waits for tells when it leaves. */
static int tells(PyObject *value, int statement)
{
	if (statement && value->type == &PyAsyncGen_Type)
		return has_checkpoints(value, "ag_code");
	if (statement) {
		PyObject *enter = PyUnicode_FromString("__aenter__"), *leave = PyUnicode_FromString("__aexit__");
		int both = method_has_checkpoints(value->type, enter) && method_has_checkpoints(value->type, leave);
		Py_DecRef(enter);
		Py_DecRef(leave);
		PyErr_Clear();
		return both;
	}
	if (value->type == &PyCoro_Type)
		return has_checkpoints(value, "cr_code");
	return value->type == &PyGen_Type && has_checkpoints(value, "gi_code");
}

static void event(int kind, uint64_t site) { cg_event((uint64_t)kind << 21 | site); }

/* come_back resumes the frames that wait for this one. */
static void come_back(PyObject *frame)
{
	PyObject *outer[CHAIN];
	for (int n = chain(frame, AWAY | WAITS, outer); n > 0; n--) {
		Pause *p = pause_find(outer[n - 1]);
		event(RESUME, p->site);
		pause_set(p, WAITS);
	}
}

static void suspend(PyObject *frame, uint32_t site, int how, PyObject *value)
{
	PyObject *outer[CHAIN];
	int telling = how == WAIT ? tells(value, 0) : how == OVER ? tells(value, 1) : 0;
	int n = how == ALONE || how == OPEN || telling ? 0 : chain(frame, WAITS, outer);
	Pause *p = pause_find(frame);
	if (p && p->flags & AWAY)
		return; /* thrown into, and leaves without having come back */
	if (!p && !(p = pause_put(frame))) {
		event(SUSPEND, site); /* the frame counts as one that never left */
		return;
	}
	p->site = site;
	if (how == OPEN) {
		p->own <<= 1;
		pause_set(p, p->flags);
		return;
	}
	if (how == OVER)
		p->own |= (uint64_t)telling;
	if (telling || (how == AGAIN && p->own & 1)) {
		pause_set(p, WAITS);
		return;
	}
	pause_set(p, AWAY);
	event(SUSPEND, site);
	for (int i = 0; i < n; i++) {
		p = pause_find(outer[i]);
		event(SUSPEND, p->site);
		pause_set(p, AWAY | WAITS);
	}
}

/* pausing_event records the event of a site whose frames can be suspended.
 * value is what its statement goes on with, NULL if it has none. */
static void pausing_event(uint64_t bits, PyObject *value)
{
	uint64_t site = bits & ((1u << 21) - 1);
	int kind = bits >> 21 & 7, how = (int)(bits >> 24 & 255);
	PyObject *frame = PyEval_GetFrame(), *back;
	for (uint64_t up = bits >> 32; up && (back = frame_back(frame)); up--)
		frame = back;
	if (kind == SUSPEND) {
		suspend(frame, (uint32_t)site, how, value);
		return;
	}
	Pause *p = pause_find(frame);
	if (kind == RESUME && p && p->flags == WAITS) {
		pause_set(p, 0); /* it was never away */
		return;
	}
	if (kind == RESUME || (kind == UNWIND && p && p->flags & AWAY)) {
		come_back(frame);
		p = pause_find(frame);
		kind = RESUME;
	}
	if (kind == EXIT && p && p->flags & AWAY)
		kind = CLOSE;
	event(kind, site);
	if (!p)
		return;
	if (how == SHUT)
		p->own >>= 1;
	else if (kind != RESUME && kind != UNWIND)
		p->own = 0;
	pause_set(p, 0);
}

static PyObject *pausing_negative(PyObject *self)
{
	pausing_event(((Checkpoint *)self)->bits, NULL);
	return none();
}

static PyObject *pausing_lshift(PyObject *self, PyObject *value)
{
	pausing_event(((Checkpoint *)self)->bits, value);
	Py_IncRef(value);
	return value;
}

/* counting_negative records the event of a small function, unless its calls
 * are only counted. */
static PyObject *counting_negative(PyObject *self)
{
	uint64_t bits = ((Checkpoint *)self)->bits;
	if (!cg_counted((uint32_t)bits & ((1u << 21) - 1), bits >> 21 == ENTER))
		cg_event(bits);
	return none();
}

static PyObject *counting_lshift(PyObject *self, PyObject *value)
{
	Py_DecRef(counting_negative(self)); /* None */
	Py_IncRef(value);
	return value;
}

/* one gives the checkpoint of some bits: always the same, so that code that is
 * loaded twice is equal. */
static PyObject *one(State *s, uint64_t bits, int type)
{
	uint32_t kind = (bits >> 24 & 255) + (SHUT + 1) * (bits >> 32 & UP);
	Checkpoint ***pages = s->made[kind];
	if (!pages && !(pages = s->made[kind] = calloc(1 << 12, sizeof *pages)))
		return PyErr_NoMemory();
	Checkpoint **page = pages[bits >> 12 & ((1 << 12) - 1)];
	if (!page && !(page = pages[bits >> 12 & ((1 << 12) - 1)] = calloc(1 << 12, sizeof *page)))
		return PyErr_NoMemory();
	Checkpoint **p = &page[bits & ((1 << 12) - 1)];
	if (!*p || (*p)->head.type != s->types[type]) {
		Checkpoint *c = (Checkpoint *)PyType_GenericAlloc(s->types[type], 0);
		if (!c)
			return NULL;
		c->bits = bits;
		*p = c; /* kept for the life of the interpreter */
	}
	Py_IncRef((PyObject *)*p);
	return (PyObject *)*p;
}

static PyObject *checkpoint_index(PyObject *self)
{
	return PyLong_FromLong((long)((Checkpoint *)self)->bits);
}

static PyObject *make(PyObject *module, int type, PyObject *arg)
{
	long bits = PyLong_AsLong(arg);
	if (bits == -1 && PyErr_Occurred())
		return NULL;
	if (bits <= 0 || (bits & 0xffffffff) >= (SHUT + 1) << 24 || bits >> 32 > UP) {
		PyErr_SetString(PyExc_ValueError, "a checkpoint has 24 bits, and is not 0");
		return NULL;
	}
	return one(state_of(module), (uint64_t)bits, type);
}

/* checkpoint(bits): a checkpoint that records these 24 bits */
static PyObject *new_checkpoint(PyObject *module, PyObject *arg)
{
	return make(module, 0, arg);
}

/* pausing(bits): the same, of a site whose frames can be suspended; how << 24 in
 * addition says what kind of pause it is */
static PyObject *new_pausing(PyObject *module, PyObject *arg)
{
	return make(module, 2, arg);
}

/* counting(bits): the same, of a site whose calls may be counted only */
static PyObject *new_counting(PyObject *module, PyObject *arg)
{
	return make(module, 1, arg);
}

static PyObject *(*volatile slot)(PyObject *) = checkpoint_negative;

/* negate passes a checkpoint as the interpreter does. */
static void negate(void *checkpoint) { slot(checkpoint); }

/* open(path): map the channel; False if it is mapped already; OSError */
static PyObject *open_channel(PyObject *module, PyObject *path)
{
	(void)module;
	PyObject *bytes = PyUnicode_AsUTF8String(path);
	if (!bytes)
		return NULL;
	const char *name = PyBytes_AsString(bytes);
	PyObject *result = cg_head ? &_Py_FalseStruct : &_Py_TrueStruct;
	errno = cg_open(name);
	if (!errno && !cg_cost) {
		Checkpoint c = {.bits = 1};
		cg_calibrate(negate, &c);
	}
	result = errno ? PyErr_SetFromErrnoWithFilename(PyExc_OSError, name) : result;
	Py_DecRef(bytes);
	if (result)
		Py_IncRef(result);
	return result;
}

/* Loading woven code (runtimes/python/hook.py describes an entry of the cache):
 * what the interpreter does for a .pyc, and a checkpoint in each place that the
 * entry's list of places names. */
typedef struct {
	char magic[8];
	uint64_t digest; /* of what follows */
	uint64_t stamp, hash, length;
	uint32_t path, places, sites, count; /* sizes of what follows; sites */
} Entry;

static const char magic[8] = {'c', 'g', 'w', 'o', 'v', 'e', 'n', 3};

/* put sets the checkpoints of a code object and of those in it. The tuple of
 * constants is changed in place, so it must be nobody else's; it is, fresh from
 * marshal. 0 when it cannot be done. */
static int put(State *s, PyObject *code, const uint32_t **at, const uint32_t *end, uint32_t base)
{
	PyObject *consts = PyObject_GetAttr(code, s->co_consts);
	if (!consts)
		return 0;
	int alone = consts->refcount == 2;
	Py_DecRef(consts);
	if (!alone || *at >= end)
		return 0;
	for (uint32_t n = *(*at)++; n; n--) {
		if (end - *at < 2)
			return 0;
		uint32_t index = *(*at)++, mark = *(*at)++;
		if (PyTuple_GetItem(consts, index) != &_Py_NoneStruct || (mark >> 24 & 15) > 2 + SHUT)
			return 0;
		uint32_t type = mark >> 24 & 15, how = type > 2 ? type - 2 : 0;
		PyObject *c = one(s, (uint64_t)(mark >> 28) << 32 | how << 24 | ((mark & 0xffffff) + base), type < 2 ? (int)type : 2);
		if (!c || PyTuple_SetItem(consts, index, c) < 0)
			return 0;
	}
	if (*at >= end)
		return 0;
	for (uint32_t n = *(*at)++; n; n--) {
		if (*at >= end)
			return 0;
		PyObject *inner = PyTuple_GetItem(consts, *(*at)++);
		if (!inner || inner->type != code->type || !put(s, inner, at, end, base))
			return 0;
	}
	return 1;
}

/* contents reads a file that is this user's own and that nobody else may write,
 * 0 bytes if it cannot: hook.py says why. */
static size_t contents(Buffer *b, const char *name)
{
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size_t n = 0;
	struct stat st;
	int own = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
	while (own) {
		if (n == b->room) {
			size_t room = b->room ? 4 * b->room : 64 << 10;
			char *more = realloc(b->text, room);
			if (!more) {
				n = 0;
				break;
			}
			b->text = more;
			b->room = room;
		}
		ssize_t k = read(fd, b->text + n, b->room - n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			n = 0;
		if (k <= 0)
			break;
		n += (size_t)k;
		if (n < b->room)
			break; /* a regular file gives all that it has */
	}
	close(fd);
	return n;
}

/* stamp is the digest of what says that a file has not changed. */
static uint64_t stamp(const struct stat *st)
{
	uint64_t f[4] = {
		(uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec,
		(uint64_t)st->st_size, (uint64_t)st->st_ino,
	};
	return cg_digest(0, f, sizeof f);
}

static PyObject *load_entry(State *s, Buffer *buffer, const cg_part *module, const cg_part *path, const cg_part *role)
{
	struct stat st;
	if (cg_head->closed || stat(path->text, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	char name[4096];
	int n = snprintf(name, sizeof name, "%s%016llx", s->cache,
		(unsigned long long)cg_digest(cg_digest(0, path->text, path->size), role->text, role->size));
	size_t size = n < (int)sizeof name ? contents(buffer, name) : 0;
	const char *b = buffer->text;
	const Entry *e = (const Entry *)b;
	if (size < sizeof *e || memcmp(e->magic, magic, sizeof magic) != 0 || e->stamp == 0 || e->stamp != stamp(&st))
		return NULL;
	const size_t sealed = offsetof(Entry, stamp);
	if (e->digest != cg_digest(0, b + sealed, size - sealed))
		return NULL;
	uint64_t head = sizeof *e + (uint64_t)e->places + e->path + e->sites;
	const char *p = b + sizeof *e;
	const uint32_t *at = (const uint32_t *)p, *end = at + e->places / 4;
	p += e->places;
	if (head > size || e->places % 4 || e->path != path->size || memcmp(p, path->text, path->size) != 0)
		return NULL;
	cg_part names[3] = {*module, *path, {p + e->path, e->sites}};
	int64_t base = cg_number(names, e->count);
	if (base < 0)
		return NULL;
	PyObject *code = PyMarshal_ReadObjectFromString(b + head, (Py_ssize_t)(size - head));
	if (code && e->places && !put(s, code, &at, end, (uint32_t)base)) {
		Py_DecRef(code);
		code = NULL;
	}
	return code;
}

/* load(module, path, role): the woven code of a file from the cache, live, or
 * None if it is not there or may be out of date. A file that another process
 * has not loaded yet gets its numbers. What this takes is cg's. */
static PyObject *load(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
	State *s = state_of(module);
	cg_part parts[3];
	cg_event((uint64_t)ENTER << 21 | (CG_SITES - 1));
	PyObject *code = NULL;
	int ok = n == 3 && cg_head && s->cache && &PyMarshal_ReadObjectFromString;
	for (int i = 0; ok && i < 3; i++) {
		Py_ssize_t size;
		parts[i].text = PyUnicode_AsUTF8AndSize(args[i], &size);
		parts[i].size = (size_t)size;
		ok = parts[i].text && !memchr(parts[i].text, 0, parts[i].size);
	}
	/* a path in the working folder names many files */
	if (ok && parts[1].text[0] == '/') {
		/* kept from one module to the next; the collector may run code of the
		 * program's meanwhile, which imports another */
		Buffer b = s->spare;
		s->spare = (Buffer){0};
		code = load_entry(s, &b, &parts[0], &parts[1], &parts[2]);
		if (s->spare.text || b.room > 1 << 20)
			free(b.text);
		else
			s->spare = b;
	}
	if (!code)
		PyErr_Clear();
	cg_event((uint64_t)EXIT << 21 | (CG_SITES - 1));
	return code ? code : none();
}

/* digest(bytes): what an entry has for its content */
static PyObject *digest(PyObject *module, PyObject *bytes)
{
	(void)module;
	char *text;
	Py_ssize_t size;
	if (PyBytes_AsStringAndSize(bytes, &text, &size) < 0)
		return NULL;
	return PyLong_FromUnsignedLongLong(cg_digest(0, text, (size_t)size));
}

/* cache(prefix): where load finds entries */
static PyObject *set_cache(PyObject *module, PyObject *prefix)
{
	Py_ssize_t size;
	const char *text = PyUnicode_AsUTF8AndSize(prefix, &size);
	if (text) {
		free(state_of(module)->cache);
		state_of(module)->cache = strdup(text);
	}
	PyErr_Clear(); /* without a cache, then */
	return none();
}

/* Main runs the script: a callable without a frame of its own, so that the
 * script's is the outermost. It is called once, as runpy._run_module_as_main. */
typedef struct {
	PyObject head;
	PyObject *prepare;
} Main;

/* leave deletes the names that the interpreter takes from a main module that
 * has ended. */
static void leave(PyObject *names)
{
	static const char *const gone[] = {"__file__", "__cached__"};
	for (int i = 0; i < 2; i++)
		if (PyDict_DelItemString(names, gone[i]) < 0)
			PyErr_Clear();
}

static PyObject *main_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	(void)args, (void)kwargs;
	PyObject *pair = PyObject_CallObject(((Main *)self)->prepare, NULL);
	if (!pair)
		return NULL;
	PyObject *code = PyTuple_GetItem(pair, 0), *names = PyTuple_GetItem(pair, 1);
	/* The interpreter runs a script without a call around it. */
	int level = Py_EnterRecursiveCall && Py_LeaveRecursiveCall;
	if (level)
		Py_LeaveRecursiveCall();
	PyObject *result = code && names ? PyEval_EvalCode(code, names, names) : NULL;
	if (level)
		Py_EnterRecursiveCall("");
	if (result)
		leave(names);
	Py_DecRef(pair);
	return result;
}

/* The interpreter tells its audit hooks the code of a main module before it
 * runs it (docs.python.org/3/library/audit_events.html, exec). */
static PyObject *replacement; /* (code) -> (other code, names, leave them), or None */

static int audit(const char *event, PyObject *args, void *unused)
{
	(void)unused;
	if (!replacement || strcmp(event, "exec") != 0 || PyEval_GetFrame())
		return 0;
	PyObject *pair = PyObject_Call(replacement, args, NULL);
	if (!pair)
		return -1;
	if (pair == &_Py_NoneStruct) {
		Py_DecRef(pair);
		return 0;
	}
	replacement = NULL; /* kept for the life of the process */
	PyObject *code = PyTuple_GetItem(pair, 0), *names = PyTuple_GetItem(pair, 1);
	PyObject *result = code && names ? PyEval_EvalCode(code, names, names) : NULL;
	if (result) {
		Py_DecRef(result);
		if (PyTuple_GetItem(pair, 2) == &_Py_TrueStruct)
			leave(names);
		/* A main module that ends and one that exits with None do the same. */
		PyErr_SetNone(PyExc_SystemExit);
	} else if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
		/* The interpreter notes that its main module was interrupted, and
		 * ends by the signal then. */
		PyObject *type, *value, *trace;
		PyErr_Fetch(&type, &value, &trace);
		PyRun_StringFlags("raise KeyboardInterrupt", 257 /* Py_file_input */, names, names, NULL);
		PyErr_Clear();
		PyErr_Restore(type, value, trace);
	}
	Py_DecRef(pair);
	return -1;
}

/* replace(prepare): run (code, names, whether from a file) = prepare(code) in
 * place of the next main module; as it is where prepare gives None */
static PyObject *new_replacement(PyObject *module, PyObject *prepare)
{
	(void)module;
	Py_IncRef(prepare);
	replacement = prepare;
	if (PySys_AddAuditHook(audit, NULL) < 0)
		return NULL;
	return none();
}

/* Around calls before(*args), a function with the same arguments, and
 * after(what before gave): without a frame of its own. */
typedef struct {
	PyObject head;
	PyObject *before, *function, *after;
} Around;

static PyObject *around_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	Around *a = (Around *)self;
	PyObject *token = PyObject_Call(a->before, args, kwargs);
	if (!token)
		return NULL;
	PyObject *result = PyObject_Call(a->function, args, kwargs);
	PyObject *type, *value, *trace;
	PyErr_Fetch(&type, &value, &trace);
	PyObject *done = PyObject_CallFunctionObjArgs(a->after, token, NULL);
	if (done)
		Py_DecRef(done);
	else
		PyErr_Clear();
	PyErr_Restore(type, value, trace);
	Py_DecRef(token);
	return result;
}

/* around((before, function, after)): a callable; see Around */
static PyObject *new_around(PyObject *module, PyObject *three)
{
	Around *a = (Around *)PyType_GenericAlloc(state_of(module)->around_type, 0);
	if (!a)
		return NULL;
	Py_IncRef(three); /* kept for the life of the process */
	a->before = PyTuple_GetItem(three, 0);
	a->function = PyTuple_GetItem(three, 1);
	a->after = PyTuple_GetItem(three, 2);
	if (!a->before || !a->function || !a->after) {
		Py_DecRef((PyObject *)a);
		return NULL;
	}
	return (PyObject *)a;
}

/* main(prepare): a callable that runs (code, names) = prepare() */
static PyObject *new_main(PyObject *module, PyObject *prepare)
{
	Main *m = (Main *)PyType_GenericAlloc(state_of(module)->main_type, 0);
	if (m) {
		Py_IncRef(prepare); /* kept for the life of the process */
		m->prepare = prepare;
	}
	return (PyObject *)m;
}

static PyMethodDef methods[] = {
	{"checkpoint", new_checkpoint, METH_O, "checkpoint($module, bits, /)\n--\n\nA checkpoint that records kind << 21 | site."},
	{"pausing", new_pausing, METH_O, "pausing($module, bits, /)\n--\n\nThe same, of a site whose frames can be suspended."},
	{"counting", new_counting, METH_O, "counting($module, bits, /)\n--\n\nThe same, of a site whose calls may be counted only."},
	{"load", (PyCFunction)(void *)load, METH_FASTCALL, "load($module, module, path, role, /)\n--\n\nThe woven code of a file from the cache, or None."},
	{"digest", digest, METH_O, "digest($module, bytes, /)\n--\n\nWhat an entry of the cache has for its content."},
	{"cache", set_cache, METH_O, "cache($module, prefix, /)\n--\n\nWhere load finds entries."},
	{"main", new_main, METH_O, "main($module, prepare, /)\n--\n\nA callable that runs (code, names) = prepare()."},
	{"replace", new_replacement, METH_O, "replace($module, prepare, /)\n--\n\nRun (code, names) = prepare(code) in place of the next main module."},
	{"around", new_around, METH_O, "around($module, three, /)\n--\n\nA callable that runs the second of three between the others."},
	{"open", open_channel, METH_O, "open($module, path, /)\n--\n\nMap the channel at path: False if this process has it. OSError if it is none."},
	{0},
};

static PySlot checkpoint_slots[] = {
	{Py_nb_negative, checkpoint_negative_counted}, /* until None is known to be immortal */
	{Py_nb_index, checkpoint_index},
	{Py_nb_lshift, checkpoint_lshift},
	{Py_mp_subscript, checkpoint_lshift},
	{0},
};

static PySlot counting_slots[] = {
	{Py_nb_index, checkpoint_index},
	{Py_nb_lshift, counting_lshift},
	{Py_mp_subscript, counting_lshift},
	{Py_nb_negative, counting_negative},
	{0},
};

static PySlot pausing_slots[] = {
	{Py_nb_index, checkpoint_index},
	{Py_nb_lshift, pausing_lshift},
	{Py_mp_subscript, pausing_lshift},
	{Py_nb_negative, pausing_negative},
	{0},
};

static PyType_Spec counting_spec = {"cgprobe.Counting", sizeof(Checkpoint), 0, Py_TPFLAGS_DEFAULT, counting_slots};
static PyType_Spec pausing_spec = {"cgprobe.Pausing", sizeof(Checkpoint), 0, Py_TPFLAGS_DEFAULT, pausing_slots};
static PyType_Spec checkpoint_spec = {"cgprobe.Checkpoint", sizeof(Checkpoint), 0, Py_TPFLAGS_DEFAULT, checkpoint_slots};

static PySlot main_slots[] = {{Py_tp_call, main_call}, {0}};
static PyType_Spec main_spec = {"cgprobe.Main", sizeof(Main), 0, Py_TPFLAGS_DEFAULT, main_slots};

static PySlot around_slots[] = {{Py_tp_call, around_call}, {0}};
static PyType_Spec around_spec = {"cgprobe.Around", sizeof(Around), 0, Py_TPFLAGS_DEFAULT, around_slots};

static int module_exec(PyObject *module)
{
	State *s = state_of(module);
	s->types[0] = PyType_FromSpec(&checkpoint_spec);
	s->types[1] = PyType_FromSpec(&counting_spec);
	s->types[2] = PyType_FromSpec(&pausing_spec);
	s->co_consts = PyUnicode_InternFromString("co_consts");
	s->main_type = PyType_FromSpec(&main_spec);
	s->around_type = PyType_FromSpec(&around_spec);
	for (int i = 0; i < 3 && n_ours < (int)(sizeof ours / sizeof *ours); i++)
		ours[n_ours++] = s->types[i];
	return s->types[0] && s->types[1] && s->types[2] && s->co_consts && s->main_type && s->around_type ? 0 : -1;
}

static PySlot module_slots[] = {{Py_mod_exec, module_exec}, {0}, {0}};
static PyModuleDef module_def = {{1, NULL}, NULL, 0, NULL, "cgprobe", "Checkpoints of cg (checkpoint/FORMAT.md).", sizeof(State), methods, module_slots, NULL, NULL, NULL};

__attribute__((visibility("default"))) PyObject *PyInit_cgprobe(void)
{
	const char *v = Py_GetVersion();
	if (atoi(v) > 3 || (v[0] == '3' && v[1] == '.' && atoi(v + 2) >= 12)) {
		none_is_immortal = 1;
		checkpoint_slots[0].value = checkpoint_negative;
		/* a slot of 3.12, refused by earlier ones */
		module_slots[1] = (PySlot){Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED};
	}
	return PyModuleDef_Init(&module_def);
}
