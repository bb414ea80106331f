// Lambdas: captures, mutable ones, in initialisers, in default arguments, returned.
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

static int global = [] { std::puts("global"); return 7; }();
static std::function<int(int)> adder(int n) { return [n](int k) { std::puts("adds"); return n + k; }; }
static int with(int n, const std::function<int(int)> &f = [](int k) { for (;;) return k * 3; }) { return f(n); }
struct Owner {
	int seen = 0;
	std::function<void()> bump = [this] { while (seen < 2) seen++; };
	auto counter() { return [this, step = std::make_unique<int>(2)]() mutable { *step += 1; seen += *step; return seen; }; }
};
int main()
{
	Owner o;
	o.bump();
	auto c = o.counter();
	std::vector<std::function<int()>> all;
	for (int i = 0; i < 3; i++) all.push_back([=, &o]() { auto inner = [&](int k) { o.seen += k; return i; }; return inner(i) + inner(1); });
	int total = 0;
	for (auto &f : all) total += f();
	auto recursive = [](auto &&self, int n) -> int { return n < 2 ? n : self(self, n - 1) + self(self, n - 2); };
	std::printf("%d %d %d %d %d %d %d\n", global, adder(3)(4), with(5), c(), c(), total, recursive(recursive, 10));
	return 0;
}
