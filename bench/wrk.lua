-- Sends the requests of a file in turn, starting at number FIRST, and prints the result as one line
-- of JSON. Usage: wrk ... -- FILE FIRST PAUSE_MS; each line of the file is a path, or a path, a tab
-- and the body of a POST.
local requests, next = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    local path, body = line:match('^([^\t]*)\t(.*)$')
    if body then
      local headers = { ['content-type'] = 'application/json' }
      for name, value in pairs(wrk.headers) do headers[name] = value end
      requests[#requests + 1] = wrk.format('POST', path, headers, body)
    else
      requests[#requests + 1] = wrk.format('GET', line)
    end
  end
  next = tonumber(args[2])
  local pause = tonumber(args[3])
  if pause > 0 then
    function delay() return pause end
  end
end

function request()
  next = next % #requests + 1
  return requests[next]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"us":%d,"bytes":%d,"p50Us":%.1f,"p99Us":%.1f,"failures":%d,"refusals":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
