// Exceptions through many calls, thrown again, out of constructors, in function try blocks.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

struct Noisy { const char *name; explicit Noisy(const char *n) : name(n) { std::printf("+%s\n", n); } ~Noisy() { std::printf("-%s\n", name); } };
static int deep(int n) { Noisy here("deep"); if (n == 0) throw std::runtime_error("bottom"); return deep(n - 1) + 1; }
static int caught(int n) { try { return deep(n); } catch (const std::runtime_error &e) { std::printf("caught %s\n", e.what()); return -n; } }
static void again(int n) { try { deep(n); } catch (...) { std::puts("again"); throw; } }
struct Member { Noisy a{"a"}; int value; explicit Member(int v) try : value(v) { if (v > 2) throw v; std::puts("made"); } catch (int n) { std::printf("failed %d\n", n); } };
static int whole(int n) try { if (n) throw n; return 0; } catch (int k) { return k + 100; }
static int nested()
{
	try {
		try { again(1); } catch (const std::exception &e) { std::throw_with_nested(std::logic_error(std::string("outer of ") + e.what())); }
	} catch (const std::exception &e) {
		try { std::rethrow_if_nested(e); } catch (const std::exception &inner) { std::printf("%s: %s\n", e.what(), inner.what()); }
	}
	return 4;
}
static void stops() noexcept { std::puts("stops"); try { throw 3; } catch (int) { } }
int main()
{
	for (int i = 0; i < 20; i++) if (caught(2) != -2) return 1;
	try { Member good(1), bad(3); } catch (int n) { std::printf("main %d\n", n); }
	stops();
	std::printf("%d %d %d\n", whole(0), whole(5), nested());
	return 0;
}
