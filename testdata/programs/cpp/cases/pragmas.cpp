// flags: -fopenmp
// gcc: the OpenMP of clang is a package of its own
#include <cstdio>

/* Directives of macros: what they rule must not run on the other threads. */
#define MASTER _Pragma("omp master")
#define CRITICAL _Pragma("omp critical")

static long s, c;

template<class T> static void step(T n)
{
	for (T i = 0; i < n; i++) {
		MASTER s += 10;
		CRITICAL c++;
	}
}

int main()
{
	auto run = [](int n) {
		MASTER s++;
		step(n);
	};
	_Pragma("omp parallel num_threads(4)") { run(1000); }
	std::printf("%ld %ld\n", s, c);
}
