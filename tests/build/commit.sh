#!/bin/sh
# build_info says which commit was built: asked again at each build, rewritten only when it is another, "unknown" where
# there is none. Usage: commit.sh SOURCE_DIR
set -eu
script=$1/cmake/write_build_info.cmake
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
out=$scratch/build_info.cpp
mkdir "$tree"

fail() { echo "$1:"; cat "$out"; exit 1; }
build() { cmake -DOUTPUT="$out" -DSOURCE_DIR="$tree" -DVERSION=1.2.3 "-DCOMPILER=Some 12" -P "$script"; }
says() { grep -q "{\"1.2.3\", \"$1\", \"Some 12\"}" "$out" || fail "it should say $1"; }
git_in() { git -C "$tree" -c user.name=n -c user.email=e "$@"; }
commit() { date +%N > "$tree/file"; git_in add file; git_in commit -qm "$1"; git_in rev-parse --short=9 HEAD; }
GIT_CEILING_DIRECTORIES=$scratch
export GIT_CEILING_DIRECTORIES

build; says unknown
git_in init -q
build; says unknown  # nothing is committed

first=$(commit first)
build; says "$first"
touch -d "2001-01-01" "$out"
build
[ "$(date -r "$out" +%Y)" = 2001 ] || fail "the same commit was written again"

echo changed > "$tree/file"
build; says "$first-dirty"
second=$(commit second)
[ "$first" != "$second" ]
build; says "$second"

# Unpacked inside somebody else's checkout.
tree=$tree/inside
mkdir "$tree"
build; says unknown
