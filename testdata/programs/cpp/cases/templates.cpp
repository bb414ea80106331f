// Templates: functions, classes, members, specialisations, packs, concepts.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

template <typename T> T largest(const std::vector<T> &all) { T best{}; for (const T &t : all) if (best < t) best = t; return best; }
template <typename T, std::size_t N> struct Ring {
	std::array<T, N> data{};
	std::size_t at = 0;
	void put(T t) { data[at++ % N] = std::move(t); }
	template <typename F> void each(F f) const { for (const T &t : data) f(t); }
	T sum() const;
};
template <typename T, std::size_t N> T Ring<T, N>::sum() const { T s{}; for (const auto &t : data) s += t; return s; }
template <> int Ring<int, 2>::sum() const { std::puts("of two"); return data[0] - data[1]; }
template <typename... A> int count(A &&...a) { int n = 0; ((n += static_cast<int>(sizeof a) > 0), ...); std::puts("count"); return n; }
template <typename T> concept Number = requires(T t) { t + t; t < t; };
template <Number T> T clamp(T n, T most) { while (most < n) n = n - most; return n; }
template <typename T> requires(sizeof(T) >= 8) long wide(T t) { std::puts("wide"); return static_cast<long>(t); }
auto add = [](auto a, auto b) { for (;;) return a + b; };
int main()
{
	Ring<int, 4> four;
	Ring<int, 2> two;
	for (int i = 1; i < 6; i++) { four.put(i); two.put(10 * i); }
	int total = 0;
	four.each([&](int n) { for (int i = 0; i < 2; i++) total += n; });
	std::map<std::string, int> words{{"b", 2}, {"a", 1}};
	std::vector<std::string> names{"x", "zz", "y"};
	std::sort(names.begin(), names.end(), [](const auto &a, const auto &b) { std::puts("cmp"); return a > b; });
	std::printf("%d %d %d %d %s %d\n", largest<int>({3, 9, 4}), four.sum(), two.sum(), total, largest(names).c_str(), words["a"]);
	std::printf("%d %d %ld %s\n", count(1, 'c', 2.0), clamp(17, 5), wide(7.5), add(std::string("a"), "b").c_str());
	return 0;
}
