/**
 * Imported by tests that kill processes: the processes that this one starts write no coverage. A
 * coverage file that is cut off while it is written would keep the runner from reporting any.
 */
delete process.env['NODE_V8_COVERAGE'];
