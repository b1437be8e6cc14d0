#!/usr/bin/env bash
# npm's "allowScripts" with exact versions allows nothing if the lock file has no addresses.
#
# Versions: npm 11.19.1, core-js 3.38.1 (a small package with an install script).
# Expected: {"core-js@3.38.1": true} allows the script of exactly the version that the lock file
#   names and whose digest it has, as {"core-js": true} allows that of any version.
# Seen: with a lock file written with "omit-lockfile-registry-resolved", which many use so that one
#   lock file serves several registries, the exact version never matches. By default npm runs the
#   script nevertheless and says that it is not covered; with "strict-allow-scripts" it refuses the
#   install. The name without a version matches in both cases.
# Source: node_modules/@npmcli/arborist/lib/script-allowed.js of npm 11.19.1 takes the version from
#   the address of the package alone; without one, "an allow is refused".
# For a user: with such a lock file, either name packages without versions, or keep the addresses.
#
# Output seen:
#   with addresses, exact version: covered
#   with addresses, strict: installed
#   without addresses, exact version: not covered
#   without addresses, exact version, strict: refused
#   without addresses, name only: covered
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir tool project
(cd tool && echo '{}' >package.json && npm install --silent --no-audit --no-fund npm@11.19.1)
npm() { node "$folder/tool/node_modules/npm/bin/npm-cli.js" "$@"; }

# Writes the project and its lock file. $1: the key in allowScripts; $2: whether to omit addresses.
lock() {
  rm -rf project && mkdir project && cd project
  cat >package.json <<JSON
{"name": "project", "version": "1.0.0", "dependencies": {"core-js": "3.38.1"}, "allowScripts": {"$1": true}}
JSON
  npm install --silent --package-lock-only --no-audit --no-fund --omit-lockfile-registry-resolved="$2"
  cd ..
}

# Prints how npm judges the install script.
judge() {
  local output
  output=$(cd project && npm ci --no-audit --no-fund "$@" 2>&1) && status=0 || status=$?
  if [ "$status" != 0 ]; then
    grep -q STRICTALLOWSCRIPTS <<<"$output" && echo refused || echo "failed: $output"
  elif grep -q 'not yet covered by allowScripts' <<<"$output"; then echo 'not covered'
  else [ "${1:-}" = --strict-allow-scripts ] && echo installed || echo covered; fi
}

seen=$(
  lock core-js@3.38.1 false
  echo "with addresses, exact version: $(judge)"
  echo "with addresses, strict: $(judge --strict-allow-scripts)"
  lock core-js@3.38.1 true
  echo "without addresses, exact version: $(judge)"
  echo "without addresses, exact version, strict: $(judge --strict-allow-scripts)"
  lock core-js true
  echo "without addresses, name only: $(judge)"
)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
