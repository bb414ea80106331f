// unbalanced: abort ends it
// Raw strings, digit separators, user's literals, attributes, alternative words, names of other alphabets.
#include <cassert>
#include <cstdio>
#include <string>

static const char *raw(int n) { while (n > 1) n--; return n ? R"x({ } " ) )" ' \)x" : R"(})"; }
static int separated(int n) { if (n > 1'000'000) return 0x1'F; return n > 1'000 ? 'a' : '\''; }
static long operator""_km(unsigned long long n) { std::puts("km"); return static_cast<long>(n) * 1'000; }
[[nodiscard, gnu::noinline]] static int attributed([[maybe_unused]] int n) { [[likely]] if (n) return 1; return 0; }
static bool words(bool a, bool b) { std::puts("words"); return not a and b or a xor b; }
static auto größe(std::string s) -> decltype(s.size()) { std::puts(s.c_str()); return s.size(); }
extern "C" { static int inside(int n) { do n--; while (n > 2); return n; } }
extern "C" int outside(int n) { for (;;) return n + inside(9); }
union Either { int i; float f; explicit Either(int n) : i(n) { std::puts("either"); } };
enum class Colour { red, green };
static const char *name(Colour c) { switch (c) { case Colour::red: return "red"; default: return "green"; } }
int main()
{
	std::printf("%s %s %d %d\n", raw(5), raw(0), separated(5), separated(2'000));
	std::printf("%ld %d %d %zu %d %d %s\n", 3_km, attributed(1), words(true, false), größe("größe"), outside(1), Either(4).i, name(Colour::green));
	std::fflush(stdout);
	assert(separated(1) == 0 && "a line of the user's");
}
