# not alike: code that is compiled has room for one block more
# Twenty blocks are as many as the interpreter nests; with one more around them
# the text of the function is refused: it has to run without checkpoints, the rest with.
def deep(n):
    for _0 in range(1):
        for _1 in range(1):
            for _2 in range(1):
                for _3 in range(1):
                    for _4 in range(1):
                        for _5 in range(1):
                            for _6 in range(1):
                                for _7 in range(1):
                                    for _8 in range(1):
                                        for _9 in range(1):
                                            for _10 in range(1):
                                                for _11 in range(1):
                                                    for _12 in range(1):
                                                        for _13 in range(1):
                                                            for _14 in range(1):
                                                                for _15 in range(1):
                                                                    for _16 in range(1):
                                                                        for _17 in range(1):
                                                                            for _18 in range(1):
                                                                                try:
                                                                                    return beside(n)
                                                                                finally:
                                                                                    beside(0)


def beside(n):
    return [x for x in range(n)]


def withs(m):
    with m:
        with m:
            with m:
                with m:
                    with m:
                        with m:
                            with m:
                                with m:
                                    with m:
                                        with m:
                                            with m:
                                                with m:
                                                    with m:
                                                        with m:
                                                            with m:
                                                                with m:
                                                                    with m:
                                                                        with m:
                                                                            with m:
                                                                                with m:
                                                                                    return beside(2)


class M:
    def __enter__(self): pass
    def __exit__(self, *e): pass


print(deep(3), withs(M()), deep.__code__.co_name)
