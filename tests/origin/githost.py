"""github.com's git side: the real `git http-backend` over bare repositories (gitprotocol-http, git-http-backend(1))."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from origin.journal import Reply, Seen

_IDENTITY = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}
_QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def git(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run git in `directory` with no configuration but its own; 20 s at most."""
    known = {**os.environ, **_IDENTITY, **_QUIET, "GIT_TERMINAL_PROMPT": "0", **environment}
    return subprocess.run(
        ["git", *arguments], cwd=directory, env=known, capture_output=True, text=True, timeout=20, check=False
    )


class GitHost:
    """Serves every bare repository below `root`; pushes are open to all, so that only the gate can refuse one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True)

    def create(self, path: str) -> Path:
        """Make `path` (such as ``acme/web.git``) with one commit on main."""
        bare, work = self._root / path, self._root / "work"
        git(self._root, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
        git(self._root, "init", "--quiet", "--initial-branch=main", str(work))
        (work / "README").write_text("hello\n")
        git(work, "add", "README")
        git(work, "commit", "--quiet", "-m", "first")
        git(work, "push", "--quiet", str(bare), "main")
        git(bare, "config", "http.receivepack", "true")
        return bare

    def __call__(self, seen: Seen) -> Reply:
        """Run the CGI program for one request."""
        path, _, query = seen.target.decode().partition("?")
        environment = {
            **_QUIET,
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": seen.method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": (seen.header(b"content-type") or b"").decode(),
            "CONTENT_LENGTH": str(len(seen.body)),
            "HTTP_CONTENT_ENCODING": (seen.header(b"content-encoding") or b"").decode(),
            "GIT_PROTOCOL": (seen.header(b"git-protocol") or b"").decode(),
            "REMOTE_USER": "t",
            "REMOTE_ADDR": "127.0.0.1",
        }
        run = subprocess.run(
            ["git", "http-backend"], input=seen.body, env=environment, capture_output=True, timeout=20, check=False
        )
        return _from_cgi(run.stdout)


def _from_cgi(output: bytes) -> Reply:
    """Read a CGI answer (RFC 3875 section 6)."""
    head, _, body = output.partition(b"\r\n\r\n")
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
    status = int(fields.pop(b"Status", b"200 OK").split()[0])
    kind = fields.pop(b"Content-Type", b"text/plain").decode()
    return Reply(status, body, kind, tuple(fields.items()))
