// Functions that the compiler computes.
#include <array>
#include <cstdio>

constexpr int fib(int n) { int a = 0, b = 1; for (int i = 0; i < n; i++) { int c = a + b; a = b; b = c; } return a; }
consteval int twice(int n) { return fib(n) * 2; }
struct Point { int x, y; constexpr Point(int a, int b) : x(a), y(b) { } constexpr int sum() const { return x + y; } static constexpr int origin() { return 0; } };
struct Step { int n; constexpr friend Step operator+(Step s, int k) { while (k--) s.n++; return s; } };
static_assert((Step{1} + 2).n == 3);
static_assert(fib(10) == 55 && Point(1, 2).sum() == 3 && Point::origin() == 0);
constexpr auto square = [](int n) { return n * n; };
static_assert(square(4) == 16);
static std::array<int, fib(7)> sized;
static int plain(int n) { while (n > 3) n -= 3; return n; }
static int computed(int n)
{
	constexpr auto sum = [](int k) { int s = 0; while (k) s += k--; return s; };
	constexpr int five = [] { int s = 0; for (int i = 0; i < 5; i++) s++; return s; }();
	int sizes[sum(2)] = {};
	static_assert(sum(3) == 6);
	for (int i = 0; i < 3; i++) sizes[i] = sum(i + n);
	return sizes[0] + sizes[1] + sizes[2] + five;
}
int main(int argc, char **) { if constexpr (sizeof(int) == 4) std::puts("four"); std::printf("%d %d %zu %d %d\n", fib(argc + 10), twice(5), sized.size(), square(argc), plain(11)); std::printf("%d\n", computed(argc)); return 0; }
