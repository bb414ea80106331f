"""Builds the wheel of this folder with nothing but Python (PEP 517, PEP 660,
PEP 427), so that pip installs it where it can fetch nothing."""
import base64
import hashlib
import os
import zipfile

here = os.path.dirname(os.path.abspath(__file__))
TAG = "py3-none-any"


def fields():
    found = {}
    with open(os.path.join(here, "pyproject.toml"), encoding="utf-8") as f:
        for line in f:
            key, _, value = line.partition("=")
            if value.strip().startswith('"'):
                found[key.strip()] = value.strip().strip('"')
    return found


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


def wheel(folder, files):
    f = fields()
    info = "%s-%s.dist-info/" % (f["name"], f["version"])
    files = dict(files)
    files[info + "METADATA"] = ("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nRequires-Python: %s\n" % (
        f["name"], f["version"], f["description"], f["requires-python"])).encode()
    # The name is the module's, so that -p with that name does not register it twice.
    files[info + "entry_points.txt"] = b"[pytest11]\ncodegreen.pytest_plugin = codegreen.pytest_plugin\n"
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: cg\nRoot-Is-Purelib: true\nTag: %s\n" % TAG).encode()
    record = "".join("%s,sha256=%s,%d\n" % (name, digest(text), len(text)) for name, text in sorted(files.items()))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    name = "%s-%s-%s.whl" % (f["name"], f["version"], TAG)
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, text in sorted(files.items()):
            z.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    modules = [name for name in os.listdir(os.path.join(here, "codegreen")) if name.endswith(".py")]
    files = {}
    for name in ["codegreen_runtime.py", "recorder_viz.py"] + ["codegreen/" + module for module in modules]:
        with open(os.path.join(here, name), "rb") as f:
            files[name] = f.read()
    return wheel(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return wheel(wheel_directory, {"codegreen.pth": (here + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("this folder is the source")
