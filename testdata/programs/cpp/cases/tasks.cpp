// flags: -pthread
// Coroutines: tasks that await tasks, generators, values of every kind, exceptions out of what is awaited, frames that
// are destroyed while they wait, and ones that go on in another thread.
#include <coroutine>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

struct Noisy {
	std::string name;
	explicit Noisy(const char *n) : name(n) { std::printf("+%s\n", n); }
	Noisy(Noisy &&o) noexcept : name(std::exchange(o.name, "moved")) { std::puts("moves"); }
	~Noisy() { std::printf("-%s\n", name.c_str()); }
};
template <typename T> struct Task {
	struct promise_type {
		std::coroutine_handle<> then;
		std::exception_ptr failed;
		std::unique_ptr<T> value;
		Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		struct Final {
			bool await_ready() noexcept { return false; }
			std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().then ? h.promise().then : std::noop_coroutine();
			}
			void await_resume() noexcept { }
		};
		Final final_suspend() noexcept { return {}; }
		template <typename V> void return_value(V &&v) { value = std::make_unique<T>(std::forward<V>(v)); }
		void unhandled_exception() { failed = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> handle;
	explicit Task(std::coroutine_handle<promise_type> h) : handle(h) { }
	Task(Task &&o) noexcept : handle(std::exchange(o.handle, nullptr)) { }
	~Task() { if (handle) handle.destroy(); }
	bool await_ready() const { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) { handle.promise().then = h; return handle; }
	T await_resume()
	{
		if (handle.promise().failed) std::rethrow_exception(handle.promise().failed);
		return std::move(*handle.promise().value);
	}
};
static std::deque<std::coroutine_handle<>> waiting;
struct Later {
	int value;
	bool await_ready() const noexcept { return value < 0; }
	void await_suspend(std::coroutine_handle<> h) const { waiting.push_back(h); }
	int await_resume() const noexcept { return value; }
};
struct Nothing : std::suspend_always { void await_suspend(std::coroutine_handle<> h) const { waiting.push_back(h); } };
struct Reference { int &to; bool await_ready() { return true; } void await_suspend(std::coroutine_handle<>) { } int &await_resume() { return to; } };
struct Ready { bool await_ready() { return true; } void await_suspend(std::coroutine_handle<>) { } };
struct Small { int n; };
class Sealed {
	Sealed(const Sealed &) = default;
public:
	int n;
	explicit Sealed(int k) : n(k) { }
};
struct Passing : Ready { int *of; explicit Passing(int *p) : of(p) { } int &&await_resume() { return std::move(*of); } };
struct Giving : Ready { Small &of; explicit Giving(Small &s) : of(s) { } Small &&await_resume() { return std::move(of); } };
struct Firm : Ready { const Small &of; explicit Firm(const Small &s) : of(s) { } const Small &&await_resume() { return std::move(of); } };
struct Fixed : Ready { const Small await_resume() { return {6}; } };
struct Closed : Ready { Sealed await_resume() { return Sealed(8); } };
static int bump(Small &&s) { while (s.n < 9) s.n += 3; return s.n; }
static int bump(const Small &s) { int k = s.n; while (k > 3) k -= 3; return -k; }
static const char *kind(Small &&) { return "own"; }
static const char *kind(const Small &&) { return "firm"; }
static const char *kind(Small &) { return "lasting"; }
static const char *kind(const Small &) { return "lasting and firm"; }
struct Elsewhere {
	std::thread *t;
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h) { *t = std::thread([h] { h.resume(); }); }
	void await_resume() { }
};
static void loop() { while (!waiting.empty()) { auto h = waiting.front(); waiting.pop_front(); h.resume(); } }
static int work(int n) { int k = 0; while (k < n) k++; return k; }
static Later later(int n) { std::printf("later %d\n", work(n < 0 ? -n : n)); return Later{n}; }
template <typename T> static Task<T> leaf(T v) { Noisy here("leaf"); co_await Nothing(); co_return v; }
static Task<int> fails(int n) { co_await later(n); if (n > 1) throw std::runtime_error("too much"); co_return n; }
static Task<std::string> text(std::string s) { s += co_await leaf(std::string("!")); co_return s + std::to_string(work(co_await later(3))); }
static Task<Noisy> noisy() { co_await Nothing(); co_return Noisy("result"); }
static Task<int> whole() try { co_return co_await fails(5); } catch (const std::exception &e) { std::printf("whole %s\n", e.what()); }
static Task<int> all(int n)
{
	int total = 0;
	for (int i = 0; i < n; i++) { total += co_await leaf(i) * 2; total += work(co_await later(-i)); }
	try { total += co_await fails(1); total += co_await fails(2); } catch (const std::exception &e) { std::printf("caught %s\n", e.what()); }
	if (co_await later(1)) total++;
	int seen = 4;
	(co_await Reference{seen}) += 2;
	int &same = co_await Reference{seen};
	same++;
	for (char c : co_await text("text")) total += c;
	auto &&kept = co_await noisy();
	std::printf("kept %s %d\n", kept.name.c_str(), seen);
	auto inner = [&](int k) -> Task<int> { co_return co_await later(k) + seen; };
	co_return total + (co_await inner(4) ? co_await inner(5) : 0);
}
static Task<int> referred()
{
	int value = 1;
	int &&passed = co_await Passing{&value};
	passed = 42;
	Small small{1};
	int bumped = bump(co_await Giving{small});
	auto &&fixed = co_await Fixed{};
	auto &&sealed = co_await Closed{};
	std::printf("%d %d %d %d %d\n", value, bumped, small.n, fixed.n, sealed.n);
	std::printf("%s, %s, %s\n", kind(co_await Giving{small}), kind(co_await Firm{small}), kind(co_await Fixed{}));
	co_return work(co_await Passing{&value});
}
struct Pair { int count; const char *of; };
struct Words {
	struct promise_type {
		std::string word;
		std::exception_ptr failed;
		Words get_return_object() { return Words{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(std::string w) { word = std::move(w); return {}; }
		std::suspend_always yield_value(Pair p) { word = std::to_string(p.count) + p.of; return {}; }
		void await_transform() = delete;
		void return_void() { }
		void unhandled_exception() { failed = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> handle;
	~Words() { handle.destroy(); }
	bool next()
	{
		handle.resume();
		if (auto failed = std::exchange(handle.promise().failed, nullptr)) std::rethrow_exception(failed);
		return !handle.done();
	}
};
static std::string made(int n) { return "made" + std::to_string(work(n)); }
static Words words(int n)
{
	Noisy owner("words");
	co_yield "first";
	co_yield {n, " of"};
	for (int i = 0; i < n; i++) co_yield made(i);
	throw std::logic_error("end of words");
}
static Task<int> moves(std::thread *t) { int before = work(3); co_await Elsewhere{t}; co_return before + work(4); }
static Task<int> abandoned() { Noisy left("abandoned"); co_await std::suspend_always(); co_return 1; }
int main()
{
	auto top = all(3);
	top.handle.resume();
	loop();
	std::printf("%d\n", top.await_resume());
	auto w = whole();
	w.handle.resume();
	loop();
	auto same = referred();
	same.handle.resume();
	std::printf("%d\n", same.await_resume());
	auto few = words(2), cut = words(9);
	try { while (few.next()) std::puts(few.handle.promise().word.c_str()); } catch (const std::logic_error &e) { std::puts(e.what()); }
	cut.next();
	std::thread t;
	auto m = moves(&t);
	m.handle.resume();
	t.join();
	auto a = abandoned();
	a.handle.resume();
	std::printf("%d %d\n", m.await_resume(), work(2));
	return 0;
}
