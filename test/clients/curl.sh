#!/bin/sh
# Sends requests with curl. Each line of standard input is a request: method, URL, value of Accept
# and body, separated by tabs; "-" is none, and no body has a quote. Each line of the output is a
# response: status, content type and the SHA-256 of its body.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tab=$(printf '\t')
count=0
while IFS="$tab" read -r method url accept data; do
  if [ "$count" -gt 0 ]; then echo next; fi
  count=$((count + 1))
  : >"$folder/$count"
  echo "url = \"$url\""
  echo "header = \"apikey: $CORKBOARD_KEY\""
  echo "output = \"$folder/$count\""
  echo 'write-out = "%{http_code}\t%{content_type}\n"'
  if [ "$method" = HEAD ]; then echo head; fi
  if [ "$accept" != - ]; then echo "header = \"Accept: $accept\""; fi
  if [ "$data" != - ]; then printf 'request = GET\ndata = "%s"\n' "$data"; fi
done >"$folder/requests"
curl --silent --show-error --fail-early --config "$folder/requests" >"$folder/responses"
cd "$folder"
sha256sum $(seq "$count") | cut -d ' ' -f 1 | paste responses -
