# Functions and classes are pickled by their names, instances by their state.
import copy
import pickle


def function(x):
    return x + 1


class Item:
    def __init__(self, v):
        self.v, self.w = v, [v]

    def __reduce__(self):
        return Item, (self.v,)

    def __deepcopy__(self, memo):
        return Item(copy.deepcopy(self.v, memo))

    def method(self):
        return self.v


class State:
    def __getstate__(self): return {"a": 1}
    def __setstate__(self, s): self.__dict__ = {"b": s["a"]}


for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    data = [pickle.dumps(v, protocol) for v in (function, Item, Item(3), State(), Item(4).method, len)]
    out = [pickle.loads(d) for d in data]
    print([len(d) for d in data], out[0] is function, out[1] is Item, out[2].v, vars(out[3]), out[4]())
print(data[0], data[2])
try:
    pickle.dumps(lambda: 1)
except Exception as e:
    print(type(e).__name__)
a = Item([1])
b, c = copy.copy(a), copy.deepcopy(a)
print(a.v is b.v, a.v is c.v, c.v, copy.deepcopy(function) is function)
