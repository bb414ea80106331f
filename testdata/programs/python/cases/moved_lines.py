# Lines inside brackets stand where they like; when their block moves, they go
# with it, but for the lines of strings.
def f(x):
    y = (x if x else
      2)
    def g():
     z = [lambda:
      y, """a
  b""", x or \
      1, f"""{x
  }
 c"""]
     return z[
      0](), z[1:]
    return (g() +
     (  # why
      len("""
"""),))


class A:
    def m(self, *a): return [a if a else
        self.m(*a or
         (1,))]


print(f(0), f(3), A().m())
