#!/usr/bin/env bash
# ./run_proxy.sh            make .venv, the CA and a demo grant where they are missing, then serve
# ./run_proxy.sh setup      stop after the making
# ./run_proxy.sh demo       show, offline, a read allowed, a write refused, and the receipts of both
# ./run_proxy.sh ARGS...    is `effectgate ARGS...` in that .venv
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
venv=$root/.venv
stamp=$venv/effectgate.stamp

# What an interpreter reports when run: a pyenv shim may only print an error, a Debian python3 may lack venv.
reports_supported() {
  [ "$("$1" -I -c 'import ensurepip, sqlite3, ssl, sys, venv; print((3, 12) <= sys.version_info < (3, 14))' 2>/dev/null)" = True ]
}

candidates() {
  local pyenv_root
  printf '%s\n' python3.13 python3.12 python3
  pyenv_root=$(pyenv root 2>/dev/null) || pyenv_root=$HOME/.pyenv
  printf '%s\n' "$pyenv_root"/versions/3.13*/bin/python "$HOME"/.pyenv/versions/3.13*/bin/python \
    "$pyenv_root"/versions/3.12*/bin/python "$HOME"/.pyenv/versions/3.12*/bin/python
}

find_python() {
  local candidate version
  while read -r candidate; do
    if reports_supported "$candidate"; then printf '%s\n' "$candidate"; return; fi
  done < <(candidates)
  for version in 3.13 3.12; do
    candidate=$(uv python find --no-project "$version" 2>/dev/null) || continue
    if reports_supported "$candidate"; then printf '%s\n' "$candidate"; return; fi
  done
  echo "run_proxy.sh: no Python 3.12 or 3.13 with venv found; install one, e.g. \`apt-get install python3.12-venv\`, \`pyenv install 3.13\` or \`uv python install 3.13\`" >&2
  return 1
}

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

# What .venv was made from: the lock, the project file, and the place (its scripts hold absolute paths).
wanted_stamp() { { cat "$root/requirements.lock" "$root/pyproject.toml"; printf '%s\n' "$root"; } | sha256 | cut -d' ' -f1; }

make_venv() {
  local wanted python log=$venv/install.log
  wanted=$(wanted_stamp)
  if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && [ -x "$venv/bin/effectgate" ]; then return; fi
  python=$(find_python)
  echo "making $venv from requirements.lock ($("$python" -V), once; a minute or two)" >&2
  "$python" -m venv --clear "$venv"
  if ! { "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes -r "$root/requirements.lock" &&
         "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-index --no-build-isolation --no-deps -e "$root" &&
         "$venv/bin/python" -m compileall -q "$root/addons"
       } >"$log" 2>&1; then
    grep -v '^WARNING' "$log" | tail -n 3 >&2
    echo "run_proxy.sh: pip could not install requirements.lock; see $log, mend the network or the index, and run this again" >&2
    return 1
  fi
  printf '%s\n' "$wanted" >"$stamp"
}

main() {
  make_venv
  if [ $# -eq 0 ]; then set -- serve --demo; fi
  exec "$venv/bin/effectgate" "$@"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then main "$@"; fi
