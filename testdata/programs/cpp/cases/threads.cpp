// flags: -pthread
// std::thread, async, mutexes, and exceptions from another thread.
#include <cstdio>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex lock;
static long total;
static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static void work(int n) { long f = fib(n); std::lock_guard<std::mutex> held(lock); total += f; }
static int fails(int n) { if (n > 2) throw std::out_of_range("n"); return n; }
int main()
{
	std::vector<std::thread> all;
	for (int i = 0; i < 6; i++) all.emplace_back(work, 10 + i);
	for (auto &t : all) t.join();
	auto good = std::async(std::launch::async, fails, 1), bad = std::async(std::launch::async, fails, 3);
	int got = good.get();
	try { bad.get(); } catch (const std::out_of_range &e) { std::printf("caught %s\n", e.what()); }
	std::printf("%ld %d\n", total, got);
	return 0;
}
