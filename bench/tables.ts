/** The tables of the report, in their order. */

const EXPORT_HEADER = [
  ...['data', 'to nginx', 'to Node', 'corkboard', 'nginx', 'Node', 'first byte'],
  ...['size', 'memory above idle', 'by resident peaks'],
];
const SMALL_HEADER = [
  ...['data', 'answer', 'to nginx', 'to Node', 'corkboard', 'nginx', 'Node', 'p50', 'p99', 'alone', 'size'],
];
const SMALL_NOTE =
  'Requests a second on 16 connections; p50 and p99 are of corkboard / nginx / Node under that load, "alone" is the ' +
  'median of corkboard on one connection.';

export const TABLES = {
  plain: {
    title: 'Full export, plain',
    note: 'MB/s; first byte and memory are of corkboard. "First time": rendered as it goes. Memory above idle: by samples of what all processes hold together, and by their resident peaks.',
    header: EXPORT_HEADER,
  },
  gzip: {
    title: 'Full export, gzip',
    note: 'Seconds to the last byte. nginx: gzip_static with the very same bytes. "First time": a fresh server over fresh data.',
    header: EXPORT_HEADER,
  },
  zstd: {
    title: 'Full export, zstd',
    note: 'Seconds to the last byte. nginx: the very same bytes as a static file.',
    header: EXPORT_HEADER,
  },
  board: { title: 'Events of a board', note: SMALL_NOTE, header: SMALL_HEADER },
  user: { title: 'Events of a user', note: SMALL_NOTE, header: SMALL_HEADER },
  window: { title: 'Events of a time window', note: SMALL_NOTE, header: SMALL_HEADER },
  points: { title: "A board's points", note: SMALL_NOTE, header: SMALL_HEADER },
  range: { title: "A board's points in half of the time", note: SMALL_NOTE, header: SMALL_HEADER },
  unchanged: { title: 'Nothing new: 304', note: SMALL_NOTE, header: SMALL_HEADER },
  mixed: {
    title: 'Ten exports and small requests together',
    note: 'Events of different boards, 16 connections, while ten clients export without end: p99 (p50) of the small ones, requests a second.',
    header: ['data', 'exports', 'small requests', 'corkboard', 'nginx', 'Node', 'rates'],
  },
  insights: {
    title: 'Insights',
    note: 'Over all events, computed each time; one connection, nothing else asked; with curl.',
    header: ['data', 'figure', 'median', 'slowest', 'size'],
  },
  blocking: {
    title: 'Longest stalls',
    note: 'For how long one request blocks the event loop of the server: CPU time of its main thread, and by the clock; the minimum of several. "First": after a start. A tick of a millisecond is included.',
    header: ['data', 'request', 'first', 'by the clock', 'again', 'by the clock'],
  },
  import: {
    title: 'Import',
    note: 'Times are those of whole commands. "1,000 more events" lie within the time range of the data, "1,000 latest events" after it. The first import of more events has no spare file. "Taken up": the time from the end of an import until a server with one worker shows its events. "On disk": the file of the version.',
    header: ['data', 'what', 'events/s', 'time', 'taken up', 'peak memory', 'on disk'],
  },
  start: {
    title: 'Start-up',
    note: "From the start of the process to its first answer, a board's events: from the version, and once more from its memory image; then the memory of all its processes at rest.",
    header: [
      'data',
      'first answer',
      'a million events',
      'listening',
      'from its image',
      'image',
      'memory at rest',
      'an event',
    ],
  },
  growth: {
    title: 'Growth',
    note: 'The larger data against the next smaller one. Small requests: one connection, rendered each time, both servers in the same rounds.',
    header: ['data', 'what', 'ratio', 'smaller', 'larger'],
  },
  stores: {
    title: 'Stores',
    note: 'The same data and commands in turn, in the same rounds. "To the folder": how often it is as fast as the folder of this checkout. Taken up: from the end of an import until a server that has the version before shows the new one. Started: to the first answer, with nothing in the local cache, and again. Processes, database and bucket share the cores.',
    header: [
      ...['data', 'store', 'import', 'to the folder', '1,000 more', 'to the folder'],
      ...['taken up', 'started with an empty cache', 'again'],
    ],
  },
  sync: {
    title: 'Copies in databases and Parquet files',
    note: 'The whole command `corkboard sync`, from start to end: a new copy, and the same one after 1,000 more events. "Curl": the same events, discarded. "To curl": how many times as long. Memory: the highest of the command, without PostgreSQL. The server, the command, PostgreSQL and the store of the bucket share the cores.',
    header: [
      ...['data', 'target', 'curl', 'first run', 'to curl', 'events/s', 'peak memory'],
      ...['1,000 more', 'to curl', 'peak memory', 'copy'],
    ],
  },
  against: {
    title: 'Against another checkout',
    note: 'Both in turn, in the same rounds, with data of their own in a folder. "Ratio": how often this checkout is as fast, or the other takes as much memory; the median of the ratios of the rounds. "Again": the fastest of all that fit into three seconds. Small requests (boards, users, windows): both servers at once, asked in turn; a round is the median of five turns after a start of both.',
    header: ['data', 'what', 'ratio', 'lowest', 'highest', 'this checkout', 'the other'],
  },
  shared: {
    title: 'Many organizations in a shared store',
    note: 'Four servers and two importers on one machine with the database. Taken up: from the end of an import until a server shows it. Moved: from the database to all servers; "ratio": moved beside what has changed, for each server.',
    header: ['organizations', 'versions', 'taken up', 'p99', 'slowest', 'changed', 'moved', 'ratio'],
  },
  peers: {
    title: 'Comparable servers',
    note: 'The same data everywhere; the times as often as corkboard is faster, of boards with its defaults / with a process for each core, which are asked in the same rounds as the other server. Memory: all processes of the server and its database.',
    header: [
      ...['server', 'export: times', 'export', 'first byte', 'memory above idle'],
      ...['board: times rendered each time', 'times given before', 'boards/s', 'p50', 'p99'],
    ],
  },
  neighbours: {
    title: 'Beside a hostile neighbour',
    note: 'Requests of one organization while another one attacks with one key, or with none. Small ones come at a steady rate; their times count from when they were due. Failures are of all its requests. /readyz: p99; a new stream, a small Parquet response and an export: the slowest.',
    header: [
      ...['phase', 'small requests', 'failures', 'p50', 'p99', 'slowest'],
      ...['/readyz', 'stream', 'Parquet', 'export'],
    ],
  },
  neighboursServer: {
    title: 'The server meanwhile',
    note: 'Memory resident in all its processes before, at most, and some seconds after; temporary files at most. "Revoked": from the end of the command until the last byte came for that key, and until its last response ended.',
    header: ['phase', 'before', 'at most', 'after', 'disk', 'responses to the attacker', 'revoked'],
  },
  organizations: {
    title: 'Many organizations',
    note: 'Events of a board, four connections, one worker. "first": one request to each organization, which the server then reads from its version. "again": any of them, at random. Memory at the end, shared pages divided.',
    header: ['organizations', 'visits', 'requests', 'p50', 'p90', 'p99', 'slowest', 'memory'],
  },
  soak: {
    title: 'Answers',
    note: 'All of them read to their end and checked. One of four asks with the tag of the answer before.',
    header: ['question', 'answers', 'of them 304', 'p50', 'p99', 'bytes'],
  },
} as const satisfies Record<string, { title: string; note: string; header: readonly string[] }>;

export type TableName = keyof typeof TABLES;
