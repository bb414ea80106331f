"""A program for cupti.pm_sampling that takes the module's name: pm.py MODULE METRIC [COMMAND...].

It uses the whole of that module's model, samples METRIC while COMMAND runs, and prints how many samples there are and the
middle one of those above 5. Nothing but the import tells the modules cupti.pm_sampling and codegreen.pm_sampling apart.
"""
import importlib, pickle, subprocess, sys, time

pm = importlib.import_module(sys.argv[1])
metric, command = sys.argv[2], sys.argv[3:]


def refuses(error, call, *args):
    try:
        call(*args)
    except error:
        return
    sys.exit(f"{call.__qualname__} did not raise {error.__name__}")


collector = pm.Collector(device_index=0)
refuses(RuntimeError, collector.start)
collector.enable()
refuses(RuntimeError, collector.start)
collector.configure(
    metrics=[metric],
    hardware_buffer_size=536870912,
    sampling_interval=100000,
    trigger_mode=pm.TriggerMode.GPU_TIME_INTERVAL,
    hw_buffer_append_mode=pm.HardwareBuffer_AppendMode.KEEP_OLDEST,
)
child = subprocess.Popen(command, stdout=subprocess.DEVNULL) if command else None
if child:
    time.sleep(1.5)
collector.start()
refuses(RuntimeError, collector.start)
time.sleep(0.5)
collector.stop()
refuses(RuntimeError, collector.stop)
data = collector.decode(max_samples=20000)
collector.disable()
if child:
    child.wait()

assert data.metrics == [metric] and len(data) == data.num_completed_samples <= data.num_populated_samples
assert data.num_populated_samples <= data.num_total_samples
assert data[-1].end_timestamp == data[len(data) - 1].end_timestamp
assert [s.start_timestamp for s in data[1:5:2]] == [data[1].start_timestamp, data[3].start_timestamp]
refuses(IndexError, data.__getitem__, len(data))
samples = list(data)
assert all(s.start_timestamp < s.end_timestamp for s in samples)
again = pickle.loads(pickle.dumps(data))
assert [s.metric_values for s in again[:10]] == [s.metric_values for s in samples[:10]]
values = sorted(s.metric_values[0] for s in samples if s.metric_values[0] > 5)
print(len(samples), values[len(values) // 2] if values else "none above 5")
