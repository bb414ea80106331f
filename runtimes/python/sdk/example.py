"""Three ways to measure parts of a program."""
import codegreen


@codegreen.task("squares")
def squares(n):
    return sum(i * i for i in range(n))


def main():
    with codegreen.Session("example") as s:
        with s.task("context"):
            squares(200000)
        s.start_task("by hand")
        squares(100000)
        result = s.stop_task("by hand")
        print("by hand: %.3f s, %.3f J" % (result.duration_s, result.energy_j))
    for task in s.tasks:
        print("%s%s: %.3f s" % ("  " * task.depth, task.name, task.duration_s))
    print("written to", s.output_file)


if __name__ == "__main__":
    main()
