// Constructors, destructors, operators, conversions, and the order in which they run.
#include <cstdio>
#include <string>
#include <utility>

namespace shapes::flat {
struct Base { Base() { std::puts("Base"); } virtual ~Base() { std::puts("~Base"); } virtual int area() const { std::puts("none"); return 0; } };
class Square : public Base {
	int side_;
	std::string name_;
public:
	explicit Square(int side, std::string name = "square") : side_(side), name_{std::move(name)} { std::printf("Square %d\n", side_); }
	Square(const Square &o) : Base(o), side_(o.side_), name_(o.name_) { std::puts("copied"); }
	Square(Square &&o) noexcept : Base(), side_(std::exchange(o.side_, 0)), name_(std::move(o.name_)) { std::puts("moved"); }
	~Square() override { std::printf("~Square %d\n", side_); }
	int area() const override { for (;;) return side_ * side_; }
	Square &operator+=(int n) { while (n--) side_++; return *this; }
	Square operator()(int n) const { return Square(side_ * n); }
	int operator[](int i) const { while (i > 9) i--; return i + side_; }
	operator int() const { std::puts("int"); return side_; }
	explicit operator bool() const noexcept { std::puts("bool"); return side_ != 0; }
	friend bool operator<(const Square &a, const Square &b) { std::puts("less"); return a.side_ < b.side_; }
	static Square make(int n);
};
Square Square::make(int n) { Square s(n, "made"); return s; }
}
static int order() { using shapes::flat::Square; Square a(2), b = Square::make(3); a += 4; int n = a + b[12]; return a < b ? n : a(2).area() + n; }
int main()
{
	shapes::flat::Base *p = new shapes::flat::Square(5);
	std::printf("%d\n", p->area());
	delete p;
	std::printf("%d\n", order());
	return static_cast<bool>(shapes::flat::Square(0));
}
