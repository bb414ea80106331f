// unbalanced: exit is called in a function
// exit in a method: destructors of locals do not run, those of globals do.
#include <cstdio>
#include <cstdlib>

struct Local { ~Local() { std::puts("never"); } };
struct Global { ~Global() { std::puts("global"); } } global;
struct Program { int status; [[noreturn]] void leave(int depth) const { Local l; if (depth) leave(depth - 1); std::exit(status); } };
int main() { Program{6}.leave(3); }
