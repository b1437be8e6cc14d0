#!/usr/bin/env bash
# csvkit empties cells such as NA, None and n/a, even if it must not infer types.
#
# Versions: csvkit 1.0.7 with agate 1.6.3 (Debian 12: apt-get install csvkit; it must be installed).
# Expected: csvsort --no-inference changes the order of rows only. Its help says that the option
#   ends "type inference when parsing the input", so all cells are text.
# Seen: cells with NA, N/A, None, null or a dot, in any case, come out empty, with and without the
#   option; csvjson writes null for them. Only --blanks keeps them. csvcut and csvgrep keep
#   them without it.
# Source: csvsort --help: "--blanks: Do not convert ... to NULL"; run.
# For a user: a person called Na or None loses the name by sorting. Use --no-inference --blanks.
#
# Output seen:
#   csvcut -c name: NA None n/a null . Nana
#   csvsort -c id: Nana
#   csvsort --no-inference -c id: Nana
#   csvsort --blanks -c id: NA None n/a null . Nana
#   csvsort --no-inference --blanks -c id: NA None n/a null . Nana
set -euo pipefail
script=$(realpath "$0")
if ! csvsort --version 2>/dev/null | grep -q ' 1\.0\.7$'; then
  echo 'This needs csvkit 1.0.7.' >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf 'id,name\n1,NA\n2,None\n3,n/a\n4,null\n5,.\n6,Nana\n' >names.csv

# Prints the names that a command writes, without the empty ones.
print() {
  echo "$*: $("$@" names.csv | tail -n +2 | sed 's/.*,//' | grep -v '^\(""\)\?$' | paste -sd' ')"
}
seen=$(
  print csvcut -c name
  print csvsort -c id
  print csvsort --no-inference -c id
  print csvsort --blanks -c id
  print csvsort --no-inference --blanks -c id
)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
