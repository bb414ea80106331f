// Jumps within functions: backwards, out of loops, into a switch, by address.
#include <stdio.h>

static int back(int n)
{
again:
	if (n < 10) { n += 3; goto again; }
	return n;
}
static int out(int a, int b)
{
	for (int i = 0; i < a; i++)
		for (int k = 0; k < b; k++)
			if (i * k == 12) goto found;
	return -1;
found:
	return 12;
}
static void duff(char *to, const char *from, int n)
{
	int rounds = (n + 3) / 4;
	switch (n % 4) {
	case 0: do { *to++ = *from++;
	case 3: *to++ = *from++;
	case 2: *to++ = *from++;
	case 1: *to++ = *from++;
		} while (--rounds > 0);
	}
}
static int machine(const char *program)
{
	static void *table[] = {&&add, &&twice, &&stop};
	int value = 0;
	goto *table[*program++ - '0'];
add:
	value++;
	goto *table[*program++ - '0'];
twice:
	value *= 2;
	goto *table[*program++ - '0'];
stop:
	return value;
}
int main(void)
{
	char text[16] = "";
	duff(text, "hello, goto", 12);
	printf("%d %d %d %s %d\n", back(1), out(9, 9), out(2, 2), text, machine("0011012"));
	return 0;
}
