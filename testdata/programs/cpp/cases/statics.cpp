// flags: -pthread
// Initialisers of globals, local statics, thread_local, and what runs after main.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

struct Said { std::string what; explicit Said(const char *w) : what(w) { std::printf("+%s\n", w); } ~Said() { std::printf("-%s\n", what.c_str()); } };
static int compute(int n) { int s = 0; for (int i = 0; i <= n; i++) s += i; std::printf("compute %d\n", s); return s; }
static Said first("first");
static int value = compute(4);
Said second("second");
static Said &local() { static Said s("local"); return s; }
thread_local Said own("thread");
inline Said shared("inline");
static void last() { std::puts("atexit"); }
int main()
{
	std::atexit(last);
	std::printf("%s %s %d\n", local().what.c_str(), local().what.c_str(), value);
	std::thread([] { std::printf("in %s\n", own.what.c_str()); }).join();
	return 0;
}
