"""Seed sentences about the constructor, the forms and the file of a session."""
import ast
import csv
import datetime
import inspect
import json
import os
import re
import threading
import time
import unittest

import codegreen
from codegreen import _energy, _noise, _session
from sessions import Case, Exact, WATTS, busy, until


class Constructor(Case):
    def test_parameters_and_their_defaults(self):
        got = {n: p.default for n, p in inspect.signature(codegreen.Session).parameters.items()}
        self.assertEqual(got, {
            "name": "default", "output_file": None, "output_format": "auto", "save_to_file": True, "warn_on_concurrent": True,
            "record_time_series": False, "buffer_samples": None, "sample_interval_ms": None, "sampling_mode": "fixed",
            "gauges": None, "gauge_interval_ms": 1000.0})

    def test_by_default_results_are_written_to_codegreen_pid_json_in_the_working_directory(self):
        p = self.program("with codegreen.Session('a') as s:\n    with s.task('t'): time.sleep(0.05)\nprint(os.getpid())\n")
        self.assertEqual(p.returncode, 0, p.err)
        self.assertEqual(self.files(), ["codegreen_%s.json" % p.out.strip()])
        self.assertEqual(self.load(self.files()[0])["meta"]["session_name"], "a")

    def test_csv_is_chosen_automatically_when_the_path_ends_in_csv(self):
        with codegreen.Session(output_file="x.csv") as s:
            with s.task("one"):
                with s.task('two, "quoted"'):
                    time.sleep(0.03)
        with open("x.csv", newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([(r["name"], r["depth"], r["parent"]) for r in rows], [("one", "0", ""), ('two, "quoted"', "1", "one")])
        self.near(float(rows[0]["energy_j"]), WATTS * float(rows[0]["duration_s"]), 0.15)
        self.near(float(rows[0]["domain_dram_w"]), 3, 0.2)

    def test_csv_has_no_text_that_a_spreadsheet_runs(self):
        with codegreen.Session(output_file="x.csv") as s:
            for name in "=1+1", "-5", "a\x1b[2J\nb;@x", "\t+1", "＝1", "-nan":
                with s.task(name):
                    pass
        with open("x.csv", newline="") as f:
            names = [row["name"] for row in csv.DictReader(f)]
        self.assertEqual(names, ["'=1+1", "-5", "a\\x1b[2J\\nb;'@x", "'\\t+1", "'＝1", "'-nan"])

    def test_csv_is_chosen_by_output_format(self):
        with codegreen.Session(output_file="x.out", output_format="csv"):
            pass
        with open("x.out") as f:
            self.assertTrue(f.read().startswith("name,depth,parent,energy_j,"))

    def test_auto_sniffs_from_the_extension_and_defaults_to_json(self):
        with codegreen.Session(output_file="x.anything"):
            pass
        self.assertEqual(self.load("x.anything")["meta"]["schema_version"], "2")

    def test_output_format_json_wins_over_the_extension(self):
        with codegreen.Session(output_file="x.csv", output_format="json"):
            pass
        self.assertEqual(self.load("x.csv")["tasks"], [])

    def test_save_to_file_false_suppresses_file_writes_entirely(self):
        with codegreen.Session(save_to_file=False) as s:
            with s.task("t"):
                pass
        with codegreen.Session(output_format="none", output_file="x.json"):
            pass
        self.assertEqual(self.files(), [])

    def test_what_means_nothing_is_refused(self):
        for wrong in {"output_format": "xml"}, {"sampling_mode": "adaptive"}, {"sample_interval_ms": 0}, {"buffer_samples": 3}:
            with self.assertRaises(ValueError):
                codegreen.Session(**wrong)

    def test_sample_interval_ms_overrides_the_sampler_s_interval(self):
        with codegreen.Session(save_to_file=False, sample_interval_ms=5, record_time_series=True) as s:
            with s.task("t"):
                time.sleep(0.2)
        report = s.stop()
        self.assertEqual(report["totals"]["sample_interval_ms"], 5)
        self.assertLess(len(report["tasks"][0]["timeseries"]), report["tasks"][0]["duration_s"] * 200 + 2)

    def test_by_default_it_is_sampled_each_millisecond(self):
        with codegreen.Session(save_to_file=False) as s:
            pass
        self.assertEqual(s.stop()["totals"]["sample_interval_ms"], 1)

    def test_buffer_samples_overrides_the_ring_s_size(self):
        with codegreen.Session(save_to_file=False, buffer_samples=77) as s:
            self.assertEqual(s._source.slots, 77)
            with s.task("t"):
                time.sleep(0.3)
        self.near(s.tasks[0].energy_j, WATTS * s.tasks[0].duration_s)


class Forms(Case):
    def test_three_usage_forms_give_the_same(self):
        @codegreen.task("decorated")
        def work(n):
            time.sleep(0.05)
            return n + 1

        self.exactly()
        with codegreen.Session(output_file="x.json") as s:
            with s.task("context") as context:
                time.sleep(0.05)
            s.start_task("explicit")
            time.sleep(0.05)
            explicit = s.stop_task("explicit")
            self.assertEqual(work(1), 2)
        self.assertEqual([t.name for t in s.tasks], ["context", "explicit", "decorated"])
        self.assertIs(s.tasks[0], context)
        self.assertIs(s.tasks[1], explicit)
        for t in s.tasks:
            self.assertLess(abs(t.energy_j - WATTS * t.duration_s), 0.02 * t.energy_j)

    def test_start_and_stop_by_hand(self):
        s = codegreen.Session("h", output_file="x.json")
        s.start()
        s.start_task("t")
        s.stop_task()
        report = s.stop()
        self.assertEqual(report, self.load("x.json"))
        self.assertEqual(s.stop()["meta"]["run_id"], report["meta"]["run_id"])

    def test_explicit_start_task_gives_a_number_and_stop_task_the_result(self):
        with codegreen.Session(save_to_file=False) as s:
            numbers = [s.start_task("outer"), s.start_task(name="inner")]
            inner = s.stop_task(expected_name="inner")
            outer = s.stop_task("outer")
            numbers.append(s.start_task("any"))
            any_ = s.stop_task(expected_name=None)
        self.assertEqual([type(n) for n in numbers], [int] * 3)
        self.assertEqual(len(set(numbers)), 3)
        self.assertGreater(min(numbers), 0)
        self.assertEqual([(type(t), t.name) for t in (outer, inner, any_)],
                         [(codegreen.TaskResult, n) for n in ("outer", "inner", "any")])
        self.assertEqual(s.tasks, [outer, inner, any_])

    def test_start_task_begins_a_session_that_was_not_started(self):
        s = codegreen.Session(save_to_file=False)
        s.start_task("t")
        self.assertEqual(s.stop_task("t").name, "t")
        s.stop()
        with self.assertRaisesRegex(RuntimeError, "over"):
            s.start_task("u")

    def test_a_decorated_function_without_a_session_is_just_called(self):
        @codegreen.task
        def f(a, *, b=2):
            "doc"
            return a, b
        self.assertEqual(f(1), (1, 2))
        self.assertEqual((f.__name__, f.__doc__), ("f", "doc"))

    def test_an_exception_ends_its_tasks_and_passes(self):
        with codegreen.Session(save_to_file=False) as s:
            with self.assertRaisesRegex(KeyError, "mine"):
                with s.task("outer"):
                    s.start_task("left open")
                    raise KeyError("mine")
            with s.task("after"):
                pass
        self.assertEqual([(t.name, t.depth, t.forgotten) for t in s.tasks], [("outer", 0, False), ("left open", 1, True), ("after", 0, False)])


class Schema(Case):
    """On exact samples."""

    @classmethod
    def setUpClass(cls):
        before, _session.open_source = _session.open_source, Exact
        os.environ["CODEGREEN_MARK"] = "seen"
        cls.before = time.time()
        with codegreen.Session("schema", record_time_series=True, save_to_file=False) as s:
            with s.task("outer"):
                busy(0.2)
                with s.task("inner"):
                    busy(0.2)
            time.sleep(0.1)
            with s.task("last"):
                busy(0.2)
        cls.s, cls.report = s, s.stop()
        cls.meta, cls.tasks, cls.totals = cls.report["meta"], cls.report["tasks"], cls.report["totals"]
        cls.after = time.time()
        _session.open_source = before

    def exactly_near(self, got, want):
        self.assertLess(abs(got - want), 0.006 * want, "%r, want %r" % (got, want))

    def test_top_level_keys_are_meta_tasks_totals(self):
        self.assertEqual(list(self.report), ["meta", "tasks", "totals", "warnings"])

    def test_every_numeric_field_carries_a_unit_suffix(self):
        units = ("_j", "_s", "_w", "_ns", "_ms", "_percent")
        bare = {"depth", "thread", "pid", "n_tasks", "n_top_level_tasks", "samples_captured", "samples_expected", "drop_ratio", "nemb_abi_version",
                "started_at", "ended_at", "samples", "lost", "gaps"}

        def walk(v, key, of_map):
            if isinstance(v, bool):
                return
            if isinstance(v, dict):
                for k, x in v.items():
                    walk(x, key if key in ("domains", "domains_power_w", "domain_j", "domain_w") else k, v)
            elif isinstance(v, list):
                for x in v[:5]:
                    walk(x, key, v)
            elif isinstance(v, (int, float)):
                self.assertTrue(key.endswith(units) or key in bare or key == "domains", key)
        walk(self.report, "", None)

    def test_meta_has_every_field(self):
        for field in ("schema_version codegreen_version run_id session_name started_at ended_at started_at_local ended_at_local host_timezone "
                      "duration_total_s hostname pid platform python_version cpu_model kernel cwd argv codegreen_env measurement_quality domain_support "
                      "outlier_method iso_timestamp_format nemb_abi_version domain_topology timeseries").split():
            self.assertIn(field, self.meta)
        self.assertEqual((self.meta["schema_version"], self.meta["outlier_method"], self.meta["iso_timestamp_format"]), ("2", "iqr_1.5", "rfc3339_utc"))
        self.assertEqual((self.meta["session_name"], self.meta["pid"]), ("schema", os.getpid()))

    def test_run_id_is_12_hex_characters_unique_per_process(self):
        self.assertRegex(self.meta["run_id"], "^[0-9a-f]{12}$")
        p = self.program("print(codegreen.Session(save_to_file=False).stop()['meta']['run_id'])\n")
        self.assertNotEqual(p.out.strip(), self.meta["run_id"])

    def test_started_at_is_rfc_3339_utc_with_microseconds(self):
        for field in "started_at", "ended_at":
            self.assertRegex(self.meta[field], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$")
        began = datetime.datetime.fromisoformat(self.meta["started_at"]).timestamp()
        self.assertTrue(self.before - 1 < began < self.after)

    def test_utc_and_local_describe_the_same_instant(self):
        for zone, label in ("PST8PDT", "P[DS]T"), ("IST-5:30", "IST"), ("<+04>-4", r"\+04:00"), ("<-0330>3:30", "-03:30"), ("UTC0", "UTC"):
            p = self.program("import json\nprint(json.dumps(codegreen.Session(save_to_file=False).stop()['meta']))\n", TZ=zone)
            meta = json.loads(p.out)
            a, b = (datetime.datetime.fromisoformat(meta[f]) for f in ("started_at", "started_at_local"))
            self.assertEqual(a, b)
            self.assertRegex(meta["host_timezone"], "^" + label + "$")

    def test_duration_total_s_spans_the_session(self):
        self.assertGreater(self.meta["duration_total_s"], 0.5)
        self.assertLess(self.meta["duration_total_s"], self.after - self.before)

    def test_codegreen_env_is_a_snapshot_of_the_codegreen_variables(self):
        self.assertEqual(self.meta["codegreen_env"]["CODEGREEN_MARK"], "seen")

    def test_measurement_quality_is_ok_and_domain_support_full(self):
        self.assertEqual((self.meta["measurement_quality"], self.meta["domain_support"]), ("ok", "full"))

    def test_domain_topology_tells_top_level_from_nested(self):
        self.assertEqual(self.meta["domain_topology"], {
            "package-0": {"top_level": True, "kind": "cpu_package", "includes": ["core"]},
            "core": {"top_level": False, "kind": "nested", "includes": []},
            "dram": {"top_level": True, "kind": "dram", "includes": []}})

    def test_timeseries_block_describes_the_samples(self):
        self.assertEqual(self.meta["timeseries"], {
            "enabled": True, "schema_version": "2", "sample_keys": ["t_ns", "energy_j", "power_w", "domain_j", "domain_w"],
            "t_ns_clock": "clock_monotonic", "inclusive_of_children": True})

    # totals

    def test_totals_have_every_field(self):
        for field in ("energy_j duration_s wall_duration_s task_duration_s gap_duration_s concurrent_overlap_s n_tasks n_top_level_tasks domains "
                      "domains_power_w sample_interval_ms worst_within_task_power_cv_percent noise_warnings").split():
            self.assertIn(field, self.totals)
        self.assertEqual((self.totals["n_tasks"], self.totals["n_top_level_tasks"]), (3, 2))

    def test_energy_and_task_duration_are_sums_over_depth_0(self):
        tops = [t for t in self.tasks if t["depth"] == 0]
        self.assertEqual(round(self.totals["energy_j"] * 1e6), sum(round(t["energy_j"] * 1e6) for t in tops))
        self.assertAlmostEqual(self.totals["task_duration_s"], sum(t["duration_s"] for t in tops))
        self.assertEqual(self.totals["duration_s"], self.totals["task_duration_s"])

    def test_gap_is_wall_less_the_union_of_tasks(self):
        t = self.totals
        self.assertAlmostEqual(t["gap_duration_s"], t["wall_duration_s"] - t["task_duration_s"], 6)
        self.assertGreater(t["gap_duration_s"], 0.09)
        self.assertEqual(t["concurrent_overlap_s"], 0)

    def test_a_domain_present_on_only_some_tasks_is_not_diluted(self):
        from codegreen import _report

        class Part:
            def __init__(self, seconds, domains):
                self.depth, self.name, self.units = 0, "t", {}
                self._windows, self._active_ns = [(0, int(seconds * 1e9), None, int(seconds * 1e9))], int(seconds * 1e9)
                self._energy = e = _energy.Energy()
                e.domains, e.total = domains, sum(domains.values())
        done = [Part(2, {"package-0": 40000000, "gpu0": 6000000}), Part(4, {"package-0": 80000000})]
        got = _report.totals_of(self.s, done, {}, self.s._mono + 1)["domains_power_w"]
        self.assertEqual(got, {"package-0": 20.0, "gpu0": 3.0})

    # tasks

    def test_avg_power_is_energy_by_duration(self):
        for t in self.tasks:
            self.assertAlmostEqual(t["avg_power_w"], t["energy_j"] / t["duration_s"])
            self.exactly_near(t["avg_power_w"], WATTS)

    def test_domains_power_w_is_domains_by_duration(self):
        for t in self.tasks:
            self.assertEqual(set(t["domains"]), {"package-0", "core", "dram"})
            for d, v in t["domains"].items():
                self.assertAlmostEqual(t["domains_power_w"][d], v / t["duration_s"])
            self.exactly_near(t["domains_power_w"]["core"], 8)

    def test_energy_j_aggregates_package_and_dram_and_excludes_nested_domains(self):
        for t in self.tasks:
            self.assertEqual(round(t["energy_j"] * 1e6), round(t["domains"]["package-0"] * 1e6) + round(t["domains"]["dram"] * 1e6))

    def test_dram_is_always_included(self):
        self.exactly_near(self.totals["domains_power_w"]["dram"], 3)

    def test_parent_is_the_immediately_enclosing_task(self):
        self.assertEqual([(t["name"], t["depth"], t["parent"]) for t in self.tasks], [("outer", 0, None), ("inner", 1, "outer"), ("last", 0, None)])

    def test_monotonic_stamps_align_with_t_ns(self):
        for t in self.tasks:
            self.assertAlmostEqual((t["ended_at_mono_ns"] - t["started_at_mono_ns"]) * 1e-9, t["duration_s"])
            self.assertAlmostEqual(t["ended_at"] - t["started_at"], t["duration_s"], 4)
            stamps = [x["t_ns"] for x in t["timeseries"]]
            self.assertTrue(t["started_at_mono_ns"] <= stamps[0] and stamps[-1] <= t["ended_at_mono_ns"])
            self.assertLess(stamps[0] - t["started_at_mono_ns"], 50e6)

    def test_intervals_and_provenance_stand_beside_energies(self):
        for t in self.tasks:
            self.assertTrue(t["energy_lo_j"] <= t["energy_j"] <= t["energy_hi_j"])
            self.assertEqual(t["energy_kind"], "measured")
            self.assertIn(t["energy_method"], ("bracket", "interpolation", "sampled"))
            # The ends err independently: the interval is not of both at their worst. And a process
            # that is stopped between reading the clock and the counter is off by as much.
            self.assertLess(abs(WATTS * t["duration_s"] - t["energy_j"]), 0.75 * (t["energy_hi_j"] - t["energy_lo_j"]) + 0.01 * t["energy_j"])

    # samples

    def test_samples_are_self_describing(self):
        x = self.tasks[0]["timeseries"][10]
        self.assertEqual(list(x), ["t_ns", "energy_j", "power_w", "domain_j", "domain_w"])
        self.assertIsInstance(x["t_ns"], int)
        self.assertIsInstance(x["energy_j"], float)
        self.assertEqual(set(x["domain_j"]), {"package-0", "core", "dram"})
        self.assertAlmostEqual(x["energy_j"], x["domain_j"]["package-0"] + x["domain_j"]["dram"])

    def test_samples_are_sorted_deduplicated_and_cumulative(self):
        for t in self.tasks:
            stamps = [x["t_ns"] for x in t["timeseries"]]
            self.assertEqual(stamps, sorted(set(stamps)))
            energies = [x["energy_j"] for x in t["timeseries"]]
            self.assertEqual(energies, sorted(energies))

    def test_a_parent_s_timeseries_contains_its_children_s(self):
        outer, inner = ({x["t_ns"] for x in t["timeseries"]} for t in self.tasks[:2])
        self.assertTrue(inner and inner < outer)

    def test_timeseries_is_none_when_it_is_not_recorded(self):
        with codegreen.Session(output_file="x.json") as s:
            with s.task("t"):
                pass
        self.assertIsNone(s.tasks[0].timeseries)
        self.assertIsNone(s.tasks[0].noise)
        task = self.load("x.json")["tasks"][0]
        self.assertIsNone(task["timeseries"])
        self.assertIsNone(task["noise"])

    def test_timeseries_is_empty_for_a_task_shorter_than_an_interval(self):
        with codegreen.Session(record_time_series=True, save_to_file=False, sample_interval_ms=200) as s:
            time.sleep(0.25)
            for _ in range(3):  # one of them may meet a sample
                with s.task("t"):
                    pass
        self.assertIn([], [t.timeseries for t in s.tasks])

    def test_domains_without_power_are_absent_rather_than_0(self):
        self.exactly()
        with codegreen.Session(record_time_series=True, save_to_file=False) as s:
            with s.task("t"):
                time.sleep(0.05)
            s.tasks[0].energy_j
            s._samples.flags[len(s._samples.flags) // 2] |= _energy.FLAG_FAILED
            middle = s._samples.times[len(s._samples.flags) // 2]
        for x in s.tasks[0].timeseries:
            if x["t_ns"] == middle:
                self.assertEqual((x["domain_w"], x["power_w"]), ({}, None))

    def test_gpu_watts_are_read_directly_with_get(self):
        self.assertEqual({x["domain_w"].get("gpu0", 0.0) for x in self.tasks[0]["timeseries"]}, {0.0})

    def test_the_file_s_samples_are_those_of_the_report(self):
        from codegreen import _report
        self.s._samples.flags[1] |= _energy.FLAG_FAILED
        try:
            n = len(self.s._samples.times)
            for i, j in (0, n), (1, 5), (n - 3, n), (7, 7):
                text = "[%s]" % ",".join(_report.sample_lines(self.s, i, j))
                self.assertEqual(json.loads(text), list(_report.samples_of(self.s, i, j)))
        finally:
            self.s._samples.flags[1] &= ~_energy.FLAG_FAILED

    # TaskResult

    def test_task_result_has_the_fields_of_the_file(self):
        for result, entry in zip(self.s.tasks, self.tasks):
            for field in "name duration_s started_at ended_at started_at_mono_ns ended_at_mono_ns depth parent domains noise timeseries".split():
                self.assertEqual(getattr(result, field), entry[field], field)
            self.assertAlmostEqual(result.energy_j, entry["energy_j"], 6)
            self.assertAlmostEqual(result.avg_power_w, entry["avg_power_w"], 6)
            for d, w in result.domains_power_w.items():
                self.assertAlmostEqual(w, entry["domains_power_w"][d], 6)

    # noise

    def test_every_task_carries_a_noise_dict(self):
        for t in self.tasks:
            n = t["noise"]
            self.assertEqual(n["samples_captured"], len(t["timeseries"]))
            self.assertEqual(n["samples_expected_method"], "observed_median")
            self.assertAlmostEqual(n["drop_ratio"], max(0, 1 - n["samples_captured"] / n["samples_expected"]), 3)
            self.exactly_near(n["power_mean_w"], WATTS)
            self.assertEqual(n["quality"], "excellent")
            self.assertAlmostEqual(n["power_cv_percent"], 100 * n["power_std_w"] / n["power_mean_w"], 2)
            self.assertEqual(n["sample_interval_ms"], 1)

    def test_worst_within_task_cv_is_the_largest(self):
        self.assertEqual(self.totals["worst_within_task_power_cv_percent"], max(t["noise"]["power_cv_percent"] for t in self.tasks))


class Noise(unittest.TestCase):  # its rule is held by runtimes/sdk/spec/cases/noise.json
    def test_a_warning_names_its_reasons(self):
        noise = dict.fromkeys(("power_cv_percent", "drop_ratio"), 0.0)
        self.assertIsNone(_noise.warning_of("t", 0, noise))
        noise.update(power_cv_percent=50.0, quality="high-noise")
        self.assertEqual(_noise.warning_of("data_load", 0, noise), {
            "task": "data_load", "depth": 0, "within_task_power_cv_percent": 50.0, "drop_ratio": 0.0,
            "quality": "high-noise", "reasons": ["within_task_power_cv_above_10pct"]})

    def test_thresholds_can_be_set(self):
        noise = {"power_cv_percent": 6.0, "drop_ratio": 0.0, "quality": "moderate"}
        self.assertIsNone(_noise.warning_of("t", 0, noise))
        os.environ["CODEGREEN_NOISE_CV_PERCENT"] = "5"
        try:
            self.assertEqual(_noise.warning_of("t", 0, noise)["reasons"], ["within_task_power_cv_above_5pct"])
        finally:
            del os.environ["CODEGREEN_NOISE_CV_PERCENT"]


class Modules(unittest.TestCase):
    def test_the_imports_between_the_modules_have_no_circle(self):
        folder = os.path.dirname(codegreen.__file__)
        imports = {}
        for name in os.listdir(folder):
            if name.endswith(".py"):
                with open(os.path.join(folder, name)) as f:
                    nodes = [n for n in ast.walk(ast.parse(f.read())) if isinstance(n, ast.ImportFrom) and n.level]
                imports[name[:-3]] = {m for n in nodes for m in ([n.module] if n.module else [a.name for a in n.names])}
        left = {m: set(needs) & set(imports) for m, needs in imports.items()}
        while True:
            free = {m for m, needs in left.items() if not needs & set(left)}
            if not free:
                break
            left = {m: needs for m, needs in left.items() if m not in free}
        self.assertEqual(left, {})


if __name__ == "__main__":
    unittest.main()
