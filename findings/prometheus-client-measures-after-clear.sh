#!/usr/bin/env bash
# The Prometheus client for Node.js goes on measuring the event loop after its registry was cleared.
#
# Versions: @prometheus-io/client 0.16.1, in Node.js 20 and 24.
# Expected: collectDefaultMetrics() measures for one registry, and stops when the registry is
#   cleared, or when the metric of the event loop is removed from it.
# Seen: each call starts a timer of its own that observes the event loop ten times a second. Neither
#   clear() nor removeSingleMetric() stops it, and there is nothing to stop it with.
# Source: lib/metrics/eventLoopUtilization.js starts the timer and keeps no reference to it.
# For a user: a process that makes a registry for each server or test, and clears it, slows down
#   with each one. Collect the metrics of the process once, and merge registries.
#
# Output seen:
#   timers after three registries: 3
#   stopped by removing the metric: 0
#   stopped by clearing the registries: 0
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund @prometheus-io/client@0.16.1
cat >run.mjs <<'JS'
const started = [];
const stopped = [];
const { setInterval, clearInterval } = globalThis;
globalThis.setInterval = (...words) => started[started.push(setInterval(...words)) - 1];
globalThis.clearInterval = (timer) => (stopped.push(timer), clearInterval(timer));
const { collectDefaultMetrics, Registry } = (await import('@prometheus-io/client')).default;
const registries = [1, 2, 3].map(() => new Registry());
for (const register of registries) collectDefaultMetrics({ register });
console.log(`timers after three registries: ${started.length}`);
for (const registry of registries) registry.removeSingleMetric('nodejs_eventloop_utilization_summary');
for (const registry of registries) registry.removeSingleMetric('nodejs_eventloop_utilization_histogram');
console.log(`stopped by removing the metric: ${stopped.length}`);
for (const registry of registries) registry.clear();
console.log(`stopped by clearing the registries: ${stopped.length}`);
JS
seen=$(node run.mjs)
expected=$(sed -n '/^# Output seen:/,/^set /s/^#   //p' "$script")
echo "$seen"
[ "$seen" = "$expected" ]
