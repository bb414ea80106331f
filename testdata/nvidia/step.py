"""A training step of PyTorch on a GPU, with the ranges that real.sh looks for."""
import sys, time

try:
    import torch
except ImportError:
    sys.exit(3)
if not torch.cuda.is_available():
    sys.exit(3)
from torch.profiler import record_function

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())


def load():
    return torch.rand(4096, 2048)


end = time.monotonic() + float(sys.argv[1])
with torch.autograd.profiler.emit_nvtx():
    while time.monotonic() < end:
        with record_function("load"):
            batch = load().cuda()
        with record_function("forward"):
            loss = model(batch).square().mean()
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
