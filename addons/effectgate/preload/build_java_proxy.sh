#!/usr/bin/env bash
# Makes java_proxy.jar from ProxyLogin.java (needs a JDK); the jar is committed, so that nobody else needs one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
javac --release 8 -Xlint:-options -g:none -d "$work" ProxyLogin.java
printf 'Premain-Class: ProxyLogin\n' >"$work/manifest"
jar --create --date=2026-01-01T00:00:00Z --file="${1:-java_proxy.jar}" --manifest="$work/manifest" -C "$work" ProxyLogin.class
