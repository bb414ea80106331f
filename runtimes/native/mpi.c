/*
 * Time in MPI, by function: preloaded into a program, this library takes the place of the blocking functions of MPI
 * and calls those that MPI offers to tools under other names, PMPI_* (MPI 4.0, chapter 15). It is compiled without
 * an MPI: handles are pointers in Open MPI and integers in MPICH, and both are passed on as words. Fortran's
 * functions take the addresses of their arguments and have names of their own: those of mpif.h and the module mpi, and
 * those of the module mpi_f08 (MPI 4.0, 19.1.5), with the ending ts where a buffer is passed by descriptor.
 *
 * What is counted goes into a file of shared memory in the folder that CG_MPI_CALLS names, one for each process, so it
 * outlives a program that is killed (ranks/mpi.go reads it):
 *
 *   0    "CGMPI001"
 *   64   entries of 64 bytes: name[40], then calls, nanoseconds by the clock, nanoseconds of processor time of the
 *        calling thread, as words of 64 bits
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define MAGIC "CGMPI001"
#define NAME 40
#define ENTRIES 255
#define FILE_SIZE (64 + ENTRIES * 64)

typedef intptr_t word;

struct entry {
	char name[NAME];
	uint64_t calls, time, cpu;
};

_Static_assert(sizeof(struct entry) == 64, "the layout in ranks/mpi.go");

/* A wrapped function: its name in the file, that of the function for tools, in MPICH's mpi_f08 another one, and the
 * symbol that is wrapped. */
struct wrapped {
	const char *name, *real, *other, *symbol;
	void *function;
	struct entry *entry;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *table;  /* the file; NULL before the first call, and where it cannot be made */
static pid_t owner;  /* the process that made it */
static int used;     /* entries */
static __thread int depth; /* MPI's own functions call each other */

static uint64_t now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* open_table makes the file of this process. */
static void open_table(void) {
	const char *dir = getenv("CG_MPI_CALLS");
	char path[PATH_MAX];
	owner = getpid();
	if (!dir || snprintf(path, sizeof path, "%s/%ld.mpi", dir, (long)owner) >= (int)sizeof path)
		return;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (!posix_fallocate(fd, 0, FILE_SIZE)) {
		void *m = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (m != MAP_FAILED) {
			table = m;
			memcpy(table, MAGIC, 8);
		}
	}
	close(fd);
}

/* Libraries of MPI that a module of the program has loaded for itself alone (dlopen without RTLD_GLOBAL). */
struct libraries {
	char path[8][PATH_MAX];
	int n;
};

static int collect(struct dl_phdr_info *info, size_t size, void *to) {
	struct libraries *all = to;
	(void)size;
	const char *base = strrchr(info->dlpi_name, '/');
	base = base ? base + 1 : info->dlpi_name;
	if (all->n < 8 && !strncmp(base, "libmpi", 6) && strlen(info->dlpi_name) < PATH_MAX)
		strcpy(all->path[all->n++], info->dlpi_name);
	return 0;
}

/* find finds MPI's own function; NULL where no MPI is loaded. */
static void *find(const char *name) {
	void *f = dlsym(RTLD_NEXT, name);
	if (f)
		return f;
	static struct libraries all; /* under the lock */
	all.n = 0;
	dl_iterate_phdr(collect, &all);
	for (int i = 0; i < all.n && !f; i++) {
		void *h = dlopen(all.path[i], RTLD_LAZY | RTLD_NOLOAD);
		if (h)
			f = dlsym(h, name);
	}
	return f;
}

/* prepare finds the function and its entry at the first call. */
static void *prepare(struct wrapped *w) {
	pthread_mutex_lock(&lock);
	if (!w->function) {
		void *f = find(w->real);
		if (!f && w->other)
			f = find(w->other);
		if (!f && w->symbol) /* the one that this library stands before */
			f = find(w->symbol);
		if (!table && !owner)
			open_table();
		for (int i = 0; table && i < used && !w->entry; i++) {
			struct entry *e = (struct entry *)(table + 64) + i;
			if (!strcmp(e->name, w->name)) /* Fortran's beside C's */
				w->entry = e;
		}
		if (table && !w->entry && used < ENTRIES) {
			w->entry = (struct entry *)(table + 64) + used++;
			strncpy(w->entry->name, w->name, NAME - 1);
		}
		__atomic_store_n(&w->function, f, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (!w->function) {
		fprintf(stderr, "cg: %s was called, and no library of MPI has %s\n", w->name, w->real);
		abort();
	}
	return w->function;
}

struct span {
	uint64_t time, cpu;
};

static void *begin(struct wrapped *w, struct span *s) {
	void *f = __atomic_load_n(&w->function, __ATOMIC_ACQUIRE);
	if (!f)
		f = prepare(w);
	if (!depth++) {
		s->cpu = now(CLOCK_THREAD_CPUTIME_ID);
		s->time = now(CLOCK_MONOTONIC);
	}
	return f;
}

static void end(struct wrapped *w, struct span *s) {
	if (--depth || !w->entry)
		return;
	__atomic_fetch_add(&w->entry->time, now(CLOCK_MONOTONIC) - s->time, __ATOMIC_RELAXED);
	__atomic_fetch_add(&w->entry->cpu, now(CLOCK_THREAD_CPUTIME_ID) - s->cpu, __ATOMIC_RELAXED);
	__atomic_fetch_add(&w->entry->calls, 1, __ATOMIC_RELAXED);
}

#define P0 void
#define A0
#define P1 word a
#define A1 a
#define P2 P1, word b
#define A2 A1, b
#define P3 P2, word c
#define A3 A2, c
#define P4 P3, word d
#define A4 A3, d
#define P5 P4, word e
#define A5 A4, e
#define P6 P5, word f
#define A6 A5, f
#define P7 P6, word g
#define A7 A6, g
#define P8 P7, word h
#define A8 A7, h
#define P9 P8, word i
#define A9 A8, i
#define P10 P9, word j
#define A10 A9, j
#define P11 P10, word k
#define A11 A10, k
#define P12 P11, word l
#define A12 A11, l
#define P13 P12, word m
#define A13 A12, m

/* C(Send, 6) is MPI_Send with six arguments; F(Send, send, 7) is Fortran's, with the error behind them, in its two
 * kinds. */
#define C(name, n)                                                                                          \
	PUBLIC int MPI_##name(P##n) {                                                                       \
		static struct wrapped w = {"MPI_" #name, "PMPI_" #name, NULL, NULL, NULL, NULL};            \
		struct span s = {0, 0};                                                                     \
		int (*real)(P##n) = (int (*)(P##n))begin(&w, &s);                                           \
		int status = real(A##n);                                                                    \
		end(&w, &s);                                                                                \
		return status;                                                                              \
	}
#define FORTRAN(c_name, wrapper, first, second, n)                                                          \
	PUBLIC void wrapper(P##n) {                                                                         \
		static struct wrapped w = {"MPI_" #c_name, first, second, #wrapper, NULL, NULL};            \
		struct span s = {0, 0};                                                                     \
		void (*real)(P##n) = (void (*)(P##n))begin(&w, &s);                                         \
		real(A##n);                                                                                 \
		end(&w, &s);                                                                                \
	}
#define F(name, lower, n)                                                                                   \
	FORTRAN(name, mpi_##lower##_, "pmpi_" #lower "_", NULL, n)                                          \
	FORTRAN(name, mpi_##lower##_f08_, "pmpi_" #lower "_f08_", "pmpir_" #lower "_f08_", n)               \
	FORTRAN(name, mpi_##lower##_f08ts_, "pmpi_" #lower "_f08ts_", "pmpir_" #lower "_f08ts_", n)
#define BOTH(name, lower, n, more) C(name, n) F(name, lower, more)
/* MPI 4 has each function that counts elements with counts of 64 bits, too. */
#define LARGE(name, lower, n, more)                                                                         \
	BOTH(name, lower, n, more)                                                                          \
	C(name##_c, n)                                                                                      \
	FORTRAN(name##_c, mpi_##lower##_f08ts_large_, "pmpi_" #lower "_f08ts_large_",                       \
		"pmpir_" #lower "_f08ts_large_", more)

BOTH(Init, init, 2, 1)
BOTH(Init_thread, init_thread, 4, 3)
BOTH(Finalize, finalize, 0, 1)
LARGE(Send, send, 6, 7)
LARGE(Bsend, bsend, 6, 7)
LARGE(Ssend, ssend, 6, 7)
LARGE(Rsend, rsend, 6, 7)
LARGE(Recv, recv, 7, 8)
LARGE(Mrecv, mrecv, 5, 6)
LARGE(Sendrecv, sendrecv, 12, 13)
LARGE(Sendrecv_replace, sendrecv_replace, 9, 10)
BOTH(Probe, probe, 4, 5)
BOTH(Mprobe, mprobe, 5, 6)
BOTH(Wait, wait, 2, 3)
BOTH(Waitall, waitall, 3, 4)
BOTH(Waitany, waitany, 4, 5)
BOTH(Waitsome, waitsome, 5, 6)
BOTH(Barrier, barrier, 1, 2)
LARGE(Bcast, bcast, 5, 6)
LARGE(Reduce, reduce, 7, 8)
LARGE(Allreduce, allreduce, 6, 7)
LARGE(Reduce_scatter, reduce_scatter, 6, 7)
LARGE(Reduce_scatter_block, reduce_scatter_block, 6, 7)
LARGE(Scan, scan, 6, 7)
LARGE(Exscan, exscan, 6, 7)
LARGE(Gather, gather, 8, 9)
LARGE(Gatherv, gatherv, 9, 10)
LARGE(Scatter, scatter, 8, 9)
LARGE(Scatterv, scatterv, 9, 10)
LARGE(Allgather, allgather, 7, 8)
LARGE(Allgatherv, allgatherv, 8, 9)
LARGE(Alltoall, alltoall, 7, 8)
LARGE(Alltoallv, alltoallv, 9, 10)
LARGE(Alltoallw, alltoallw, 9, 10)
BOTH(Comm_dup, comm_dup, 2, 3)
BOTH(Comm_split, comm_split, 4, 5)
BOTH(Comm_split_type, comm_split_type, 5, 6)
BOTH(Win_fence, win_fence, 2, 3)
BOTH(Win_lock, win_lock, 4, 5)
BOTH(Win_unlock, win_unlock, 2, 3)
BOTH(Win_flush, win_flush, 2, 3)
BOTH(Win_wait, win_wait, 1, 2)
BOTH(File_open, file_open, 5, 7) /* the length of the name comes last */
BOTH(File_close, file_close, 1, 2)
BOTH(File_sync, file_sync, 1, 2)
LARGE(File_read, file_read, 5, 6)
LARGE(File_read_all, file_read_all, 5, 6)
LARGE(File_read_at, file_read_at, 6, 7)
LARGE(File_read_at_all, file_read_at_all, 6, 7)
LARGE(File_write, file_write, 5, 6)
LARGE(File_write_all, file_write_all, 5, 6)
LARGE(File_write_at, file_write_at, 6, 7)
LARGE(File_write_at_all, file_write_at_all, 6, 7)
