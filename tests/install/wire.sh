#!/usr/bin/env bash
# The C++ API as a stranger finds it: installed, found by pkg-config, its example compiled and run on loopback.
#   tests/install/wire.sh BUILD_DIRECTORY COMPILER
set -euo pipefail
build=$1 compiler=$2
[ -z "$(find "$build" -maxdepth 1 -name libweft-wire.a)" ] && { echo "SKIPPED: weft-wire was not built"; exit 77; }
nm -A "$build/libweft-wire.a" 2>/dev/null | grep -q '__asan_init' && { echo "SKIPPED: built with sanitizers"; exit 77; }
root=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -r "$root"' EXIT
cmake --install "$build" --prefix "$root/usr" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$root/usr" -name weft-wire.pc)")
export PKG_CONFIG_PATH
if command -v pkg-config >/dev/null; then
  flags=$(pkg-config --cflags --libs weft-wire)
else
  flags="-I$root/usr/include -L$(dirname "$(find "$root/usr" -name libweft-wire.a)") -lweft-wire -lsodium -lpthread"
fi
# shellcheck disable=SC2086
"$compiler" -std=c++20 -Wall -Wextra "$root/usr/share/weft/wire/example.cpp" $flags -o "$root/example"
"$root/example" >"$root/said" &
server=$!
for _ in $(seq 100); do grep -q listening "$root/said" && break; sleep 0.1; done
port=$(sed -n 's/.*://p' "$root/said")
timeout 60 "$root/example" "127.0.0.1:$port" | grep -qx '65536000 bytes came back'
! timeout 60 "$root/example" nonsense:port 2>"$root/complaint"
grep -q 'is no port' "$root/complaint"
echo "the example exchanges messages over the installed library"
