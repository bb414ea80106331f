# Uses processor time in known shares: a 6, b 3, both in spin; c 1; and waits half of the time
# on another thread. Argument: seconds of processor time.
import sys, threading, time

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(50))

def a(): spin(0.006)
def b(): spin(0.003)

def c():
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass

def idle():
    over.wait()

over = threading.Event()
waiting = threading.Thread(target=idle)
waiting.start()
print("ready", flush=True)
for _ in range(int(100 * float(sys.argv[1]))):
    a()
    b()
    c()
over.set()
waiting.join()
