// needs 25
// A file without a class (JEP 512).
record P(int x) { P { if (x < 0) x = 0; } }
int count = 1;
int next() { return count++; }
void main() {
    IO.println(next() + next() + " " + new P(-1));
}
