#!/bin/sh
# Sends requests with curl. Each line of standard input is a request: method, URL, value of Accept
# and body, separated by tabs; "-" is none. Each line of the output is a response: status, content
# type and the SHA-256 of its body.
set -eu
body=$(mktemp)
trap 'rm -f "$body"' EXIT
tab=$(printf '\t')
while IFS="$tab" read -r method url accept data; do
  set -- --silent --show-error --header "apikey: $CORKBOARD_KEY" --output "$body"
  if [ "$method" = HEAD ]; then set -- "$@" --head; fi
  if [ "$accept" != - ]; then set -- "$@" --header "Accept: $accept"; fi
  if [ "$data" != - ]; then set -- "$@" --request GET --data "$data"; fi
  curl "$@" --write-out '%{http_code}\t%{content_type}\t' "$url"
  sha256sum <"$body" | cut -d ' ' -f 1
done
