// A generator.
#include <coroutine>
#include <cstdio>
#include <exception>

struct Numbers {
	struct promise_type {
		int value = 0;
		Numbers get_return_object() { return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v) { value = v; return {}; }
		void return_void() { }
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> handle;
	~Numbers() { if (handle) handle.destroy(); }
	bool next() { handle.resume(); return !handle.done(); }
};
static int square(int n) { for (;;) return n * n; }
static Numbers squares(int n) { for (int i = 0; i < n; i++) co_yield square(i); }
int main() { auto all = squares(5); int total = 0; while (all.next()) total += all.handle.promise().value; std::printf("%d\n", total); return 0; }
