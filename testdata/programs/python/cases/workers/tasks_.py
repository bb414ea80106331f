def work(n):
    return [x * n for x in range(n)]


if __name__ == "__main__":
    print(work(2))
