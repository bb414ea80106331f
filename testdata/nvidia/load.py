"""Loads of an NVIDIA GPU for real.sh, by CUDA's driver alone: load.py half SECONDS, phases SECONDS, many LAUNCHES.

The kernels are PTX, which the driver compiles. half keeps half of the processors busy, one block on each. phases runs three
kernels of different power one after the other and prints, for each, what NVML's counter of energy said: NAME JOULES SECONDS.
many launches a kernel of some microseconds, and prints how long that took.
"""
import ctypes, sys, time

PTX = b"""
.version 6.0
.target sm_52
.address_size 64
.visible .entry spin(.param .u64 cycles, .param .u64 out)
{
	.reg .u64 %r<5>;
	.reg .pred %p;
	ld.param.u64 %r1, [cycles];
	mov.u64 %r2, %clock64;
again:
	mov.u64 %r3, %clock64;
	sub.u64 %r4, %r3, %r2;
	setp.lt.u64 %p, %r4, %r1;
	@%p bra again;
	ret;
}
.visible .entry multiply(.param .u64 cycles, .param .u64 out)
{
	.reg .u64 %r<6>;
	.reg .f32 %f<6>;
	.reg .pred %p, %q;
	ld.param.u64 %r1, [cycles];
	ld.param.u64 %r5, [out];
	mov.u64 %r2, %clock64;
	mov.f32 %f1, 0f3F800001;
	mov.f32 %f2, 0f3F800002;
	mov.f32 %f3, 0f3F800003;
	mov.f32 %f4, 0f3F800004;
again:
	fma.rn.f32 %f1, %f1, %f2, %f3;
	fma.rn.f32 %f2, %f2, %f3, %f4;
	fma.rn.f32 %f3, %f3, %f4, %f1;
	fma.rn.f32 %f4, %f4, %f1, %f2;
	fma.rn.f32 %f1, %f1, %f2, %f3;
	fma.rn.f32 %f2, %f2, %f3, %f4;
	fma.rn.f32 %f3, %f3, %f4, %f1;
	fma.rn.f32 %f4, %f4, %f1, %f2;
	mov.u64 %r3, %clock64;
	sub.u64 %r4, %r3, %r2;
	setp.lt.u64 %p, %r4, %r1;
	@%p bra again;
	setp.eq.f32 %q, %f4, 0f12345678;
	@%q st.global.f32 [%r5], %f4;
	ret;
}
.visible .entry memory(.param .u64 cycles, .param .u64 out)
{
	.reg .u64 %r<9>;
	.reg .u32 %i<5>;
	.reg .pred %p;
	ld.param.u64 %r1, [cycles];
	ld.param.u64 %r5, [out];
	mov.u32 %i1, %ctaid.x;
	mov.u32 %i2, %ntid.x;
	mov.u32 %i3, %tid.x;
	mad.lo.u32 %i4, %i1, %i2, %i3;
	cvt.u64.u32 %r6, %i4;
	shl.b64 %r6, %r6, 4;
	mov.u64 %r2, %clock64;
again:
	and.b64 %r6, %r6, 268435440;
	add.u64 %r7, %r5, %r6;
	ld.volatile.global.u64 %r8, [%r7];
	add.u64 %r6, %r6, 4194304;
	mov.u64 %r3, %clock64;
	sub.u64 %r4, %r3, %r2;
	setp.lt.u64 %p, %r4, %r1;
	@%p bra again;
	ret;
}
"""

cuda, nvml = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        sys.exit(f"{name}: CUDA error {code}")


def attribute(which):
    value = ctypes.c_int()
    call("cuDeviceGetAttribute", ctypes.byref(value), which, device)
    return value.value


device, context, module, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(1 << 28))
SMS, KHZ, SHARED = attribute(16), attribute(13), attribute(97)  # processors, clock, shared memory of a block at most
assert not nvml.nvmlInit_v2()
gpu, uuid = ctypes.c_void_p(), (ctypes.c_uint8 * 16)()
call("cuDeviceGetUuid", uuid, device)
text = bytes(uuid).hex()
text = f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
assert not nvml.nvmlDeviceGetHandleByUUID(text.encode(), ctypes.byref(gpu)), text


def joules():
    mj = ctypes.c_ulonglong()
    assert not nvml.nvmlDeviceGetTotalEnergyConsumption(gpu, ctypes.byref(mj))
    return mj.value / 1e3


def kernel(name):
    f = ctypes.c_void_p()
    call("cuModuleGetFunction", ctypes.byref(f), module, name.encode())
    return f


def launch(f, blocks, threads, seconds, shared=0):
    cycles, out = ctypes.c_uint64(int(seconds * KHZ * 1e3)), ctypes.c_uint64(memory.value)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(cycles), ctypes.addressof(out))
    call("cuLaunchKernel", f, blocks, 1, 1, threads, 1, 1, shared, None, arguments, None)


def half(seconds):
    f = kernel("spin")
    call("cuFuncSetAttribute", f, 8, SHARED)  # a block takes all shared memory: one on each processor
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        launch(f, SMS // 2, 32, 0.05, SHARED)
        call("cuCtxSynchronize")


def phase_spin(seconds):
    phase("spin", 1, 32, seconds)


def phase_multiply(seconds):
    phase("multiply", 8, 256, seconds)


def phase_memory(seconds):
    phase("memory", 8, 256, seconds)


def phase(name, blocks, threads, seconds):
    f, begin, before = kernel(name), time.monotonic(), joules()
    while time.monotonic() < begin + seconds:
        for _ in range(10):
            launch(f, blocks * SMS, threads, 0.01)
        call("cuCtxSynchronize")
    print(name, joules() - before, time.monotonic() - begin, flush=True)


def many(launches):
    f, cycles, out = kernel("spin"), ctypes.c_uint64(int(2e-6 * KHZ * 1e3)), ctypes.c_uint64(memory.value)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(cycles), ctypes.addressof(out))
    run, begin = cuda.cuLaunchKernel, time.monotonic()
    for i in range(launches):
        if run(f, 1, 1, 1, 32, 1, 1, 0, None, arguments, None):
            sys.exit("cuLaunchKernel failed")
        if i % 1000 == 999:
            call("cuCtxSynchronize")
    call("cuCtxSynchronize")
    print(time.monotonic() - begin)


if __name__ == "__main__":
    what, amount = sys.argv[1], float(sys.argv[2])
    if what == "half":
        half(amount)
    elif what == "many":
        many(int(amount))
    elif what == "phases":
        time.sleep(2)
        for of in phase_spin, phase_multiply, phase_memory:
            of(amount)
            time.sleep(2)
    else:
        sys.exit(f"{what}: half, phases or many")
