// unbalanced: std::terminate ends it
// An exception leaves a function that is noexcept.
#include <cstdio>
#include <stdexcept>

static void thrower(int n) { if (n == 0) throw std::runtime_error("too far"); thrower(n - 1); }
static void wall() noexcept { thrower(3); }
int main() { std::puts("begin"); std::fflush(stdout); wall(); return 0; }
