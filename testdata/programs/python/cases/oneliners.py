# A body on the line of its head has no line of its own for a try; what stands
# behind a return must stay unreached.
x = []
def f(): return 1; x.append("never")
def g(): x.append("g"); return 2
def h(): pass
def i(): """doc"""; x.append("i")
def j(): raise ValueError("j")
def k(a=lambda: 3): return a()
def l(): yield 1; yield 2
def m(): global y; y = 7
class A: x = 1; y = lambda self: self.x
class B(A): pass
class C:
    def n(self): return self.__class__.__name__
    @staticmethod
    def o(): return "o"
    async def p(self): return 4
if f() == 1: print("if")
else: print("else")
for q in l(): print(q)
try: j()
except ValueError as e: print(e)
finally: print("finally")
with open(__file__) as s: print(s.readline().strip()[:10])
while g() and len(x) < 4: i()
m(); print(h(), k(), A().y(), B().y(), C().n(), C.o(), x, y)
if 1:
    (print
     ("brackets", (1,
2)))
    print("back" \
"slash", """triple
  less indented
      more""")
    # a comment
        # deeper than its block
def t():
    return """a
b""", [
1,
]; print("no")
print(t())
