// Assembly in functions and at the top level, functions without frames.
#include <stdio.h>

#if defined(__x86_64__)
__asm__(".text\n.globl plain_asm\nplain_asm:\n\tmovl $17, %eax\n\tret\n");
static int add(int a, int b) { __asm__ volatile("addl %1, %0" : "+r"(a) : "r"(b) : "cc"); return a; }
static int jumps(int n) { __asm__ goto("testl %0, %0\n\tjz %l[zero]" : : "r"(n) : "cc" : zero); return 1; zero: return 0; }
__attribute__((naked)) int bare_frame(void) { __asm__("movl $5, %eax\n\tret"); }
#elif defined(__aarch64__)
__asm__(".text\n.globl plain_asm\nplain_asm:\n\tmov w0, #17\n\tret\n");
static int add(int a, int b) { __asm__ volatile("add %w0, %w0, %w1" : "+r"(a) : "r"(b)); return a; }
static int jumps(int n) { __asm__ goto("cbz %w0, %l[zero]" : : "r"(n) : : zero); return 1; zero: return 0; }
int bare_frame(void) { return 5; }
#else
int plain_asm(void) { return 17; }
static int add(int a, int b) { return a + b; }
static int jumps(int n) { return n != 0; }
int bare_frame(void) { return 5; }
#endif
int plain_asm(void);
int main(void)
{
	printf("%d %d %d %d %d\n", plain_asm(), add(2, 3), jumps(0), jumps(4), bare_frame());
	return 0;
}
