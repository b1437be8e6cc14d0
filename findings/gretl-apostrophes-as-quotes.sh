#!/usr/bin/env bash
# gretl takes apostrophes in names for quotes, depending on how many each row has.
#
# Versions: gretl 2022c (Debian 12: apt-get install gretl; it must be installed).
# Expected: CSV as in RFC 4180, where only double quotes quote: O'Brien,O'Hara are two cells in
#   every file.
# Seen: if every row has an even number of apostrophes, and there are more of them than double
#   quotes, they quote: both cells and their comma become one, the next columns move to the left,
#   and the last one is missing in that row. Usually there is no error. A further row with one
#   apostrophe makes the same rows right. Double quotes around all cells help, around a few not.
# Source: run; gretl prints which character it takes ("Assuming single-quote is the relevant
#   quotation character").
# For a user: quote all cells, for example with mlr --quote-all, or replace the apostrophes.
#
# Output seen:
#   two in one row: x = missing, 20, 30; actor = O'Brien,O'Hara | Ann | Bob
#   and one in another: x = 10, 20, 30; actor = O'Brien | Ann | Bob
#   all quoted: x = 10, 20, 30; actor = O'Brien | Ann | Bob
#   one quoted: x = missing, missing, 20, 30; actor = O'Brien,O'Hara | O'Brien,O'Hara | Ann | Bob
set -euo pipefail
script=$(realpath "$0")
if ! gretlcli --version 2>/dev/null | grep -q 'gretl version 2022c'; then
  echo 'This needs gretl 2022c.' >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HOME=$folder

# Prints the first and the last column as gretl reads them. $1: the name; $2: rows of CSV.
print() {
  printf 'actor,owner,x\n%s\n' "$2" >names.csv
  cat >names.inp <<'INP'
set verbose off
open names.csv --quiet
loop i=1..$nobs
  printf "row:%s:%g\n", actor[i], x[i]
endloop
INP
  gretlcli --batch names.inp >output.txt
  echo "$1: x = $(sed -n 's/^row:.*://p' output.txt | sed 's/^nan$\|^NA$/missing/' | paste -sd, | sed 's/,/, /g');" \
    "actor = $(sed -n 's/^row:\(.*\):.*/\1/p' output.txt | paste -sd'|' | sed 's/|/ | /g')"
}
seen=$(
  print 'two in one row' "O'Brien,O'Hara,10
Ann,Sue,20
Bob,Eve,30"
  print 'and one in another' "O'Brien,O'Hara,10
Ann,O'Hara,20
Bob,Eve,30"
  print 'all quoted' "\"O'Brien\",\"O'Hara\",\"10\"
\"Ann\",\"Sue\",\"20\"
\"Bob\",\"Eve\",\"30\""
  print 'one quoted' "O'Brien,O'Hara,10
O'Brien,O'Hara,15
\"Ann\",Sue,20
Bob,Eve,30"
)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
