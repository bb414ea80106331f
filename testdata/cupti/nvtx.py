"""Runs a program that uses NVTX with cg's library, and compares the ranges that it tells: nvtx.py PROGRAM LIBRARY."""
import os, socket, struct, subprocess, sys, tempfile

program, library = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(folder + "/s")
    subprocess.run([program], check=True, env=os.environ | {"CG_KERNELS": folder + "/s", "NVTX_INJECTION64_PATH": library})
    s.settimeout(5)
    d = s.recv(1 << 16)
names, ranges, told, at = {}, {0: ""}, [], 8
while at < len(d):
    kind, n = struct.unpack_from("II", d, at)
    b, at = d[at + 8:at + 8 + n], at + 8 + n
    if kind == 3:
        names[struct.unpack_from("I", b)[0]] = b[4:].decode()
    elif kind == 7:
        number, around, name = struct.unpack("III", b)
        ranges[number] = ranges[around] + "/" + names[name]
    elif kind == 8:
        begin, end, number, thread = struct.unpack("QQII", b)
        assert begin <= end and thread, b
        told.append(ranges[number])
assert told == ["/step/forward", "/step/backward", "/copy", "/step"], told
print("NVTX's own header tells its ranges")
