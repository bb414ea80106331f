/* A native that does nothing: what is the least that a call of one costs. */
#include <stdint.h>

void Java_Bench_nop(void *env, void *class, int32_t n)
{
	(void)env, (void)class, (void)n;
}

void JavaCritical_Bench_nop(int32_t n) { (void)n; }
