"""pypi.org with files.pythonhosted.org, and registry.npmjs.org, each with a package made here."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile

from origin.journal import Reply, Seen

_MISSING = Reply(404, b"{}")


def wheel(name: str, version: str) -> bytes:
    """A pure-Python wheel whose one module has a `VALUE` of 42 (PEP 427)."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "VALUE = 42\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "".join(f"{file},,\n" for file in (f"{name}.py", *(f"{info}/{n}" for n in _INFO))),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return packed.getvalue()


_INFO = ("METADATA", "WHEEL", "RECORD")


class PackageIndex:
    """A simple index of one project (PEP 503) and the host of its files."""

    def __init__(self, name: str, version: str) -> None:
        self._name, self._wheel = name, wheel(name, version)
        self._file = f"/packages/aa/bb/{'c' * 60}/{name}-{version}-py3-none-any.whl"

    def index(self, seen: Seen) -> Reply:
        """What pypi.org answers."""
        if seen.target.decode() != f"/simple/{self._name.replace('_', '-')}/":
            return _MISSING
        digest = hashlib.sha256(self._wheel).hexdigest()
        link = f"https://files.pythonhosted.org{self._file}#sha256={digest}"
        page = f'<!DOCTYPE html><html><body><a href="{link}">{self._file.rpartition("/")[2]}</a></body></html>'
        return Reply(200, page.encode(), "text/html")

    def files(self, seen: Seen) -> Reply:
        """What files.pythonhosted.org answers."""
        if seen.target.decode() != self._file:
            return _MISSING
        return Reply(200, self._wheel, "application/octet-stream")


def tarball(name: str, version: str) -> bytes:
    """An npm package whose index.js exports 42."""
    files = {
        "package/package.json": json.dumps({"name": name, "version": version, "main": "index.js"}),
        "package/index.js": "module.exports = 42;\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


class NpmRegistry:
    """Packuments and tarballs; a scoped packument is ``/@scope%2fname``, its tarball ``/@scope/name/-/…``."""

    _HOST = "https://registry.npmjs.org"

    def __init__(self, *names: str, version: str = "1.0.0") -> None:
        self._answers: dict[str, Reply] = {}
        for name in names:
            self._publish(name, version)

    def _publish(self, name: str, version: str) -> None:
        packed = tarball(name, version)
        path = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
        dist = {"tarball": self._HOST + path, "integrity": integrity}
        one = {"name": name, "version": version, "dist": dist}
        packument = {"name": name, "dist-tags": {"latest": version}, "versions": {version: one}}
        self._answers[path] = Reply(200, packed, "application/octet-stream")
        self._answers["/" + name.replace("/", "%2f")] = Reply(200, json.dumps(packument).encode())

    def __call__(self, seen: Seen) -> Reply:
        """What registry.npmjs.org answers; the target must match byte for byte."""
        return self._answers.get(seen.target.decode(), _MISSING)
