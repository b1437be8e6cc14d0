/**
 * Full exports, plain and with gzip and zstd, for the first time and again, compared with servers
 * that send the same bytes from a file.
 */
import { open, rm } from 'node:fs/promises';
import { type Bed, copyGround, type Ground, isLarge, openBed, type Plan } from '../bed.ts';
import { type Content, checkCompressed, readResponseContent } from '../checks.ts';
import { type DownloadFigures, download } from '../curl.ts';
import { type MemoryAboveIdle, measureAboveIdle, readProcessTree } from '../memory.ts';
import { measureRounds, type Outcome, ratioOf } from '../rounds.ts';
import { Site, type Target } from '../site.ts';
import { median } from '../statistics.ts';
import { bytes, duration, ratio } from '../table.ts';

const PATH = '/a/v1/events';
const MAGIC = { gzip: '1f8b', zstd: '28b52ffd' } as const;

type Encoding = 'identity' | 'gzip' | 'zstd';
type Figures = 'bytes' | 'firstByteMs' | 'totalMs';

/** A download that takes longer is measured in one round, in which most noise evens out. */
const LONG_MS = 120_000;

/** One encoding after the other, because the files for all servers must fit into the page cache. */
export async function measureExports(ground: Ground, plan: Plan, aside: boolean): Promise<void> {
  const plain = await measurePlain(ground, plan, aside);
  for (const encoding of ['gzip', 'zstd'] as const) {
    if (plan.chosen(encoding)) await measureCompressed(ground, plan, encoding, aside, plain);
  }
}

/** Reads the plain export even if it is not chosen: the compressed ones are compared with it. */
async function measurePlain(ground: Ground, plan: Plan, aside: boolean): Promise<Content> {
  const { title } = ground;
  const { report, signal } = plan;
  report.say(`${title}: full export, plain`);
  await using site = await Site.make(`${ground.folder}/export`);
  await using bed = await openBed(ground, signal);
  const first = await download(request(bed.product, 'identity', signal));
  const { url, headers } = request(bed.product, 'identity', signal);
  const plain = await readResponseContent(url, headers ?? {});
  const { events } = ground.community;
  report.check(title, `the export has ${events.toLocaleString('en')} events`, plain.events === events);
  if (!plan.chosen('plain')) return plain;
  if (aside) {
    const name = fileName('identity');
    await download({ ...request(bed.product, 'identity', signal), file: site.pathOf(name) });
    await site.addFile(name);
  }
  const others = aside ? await site.open(signal) : [];
  await settle(bed, plan);
  const outcomes = await measure(bed, plan, others, 'identity');
  const memory = await measureAboveIdle([bed.server.pid], () =>
    download(request(bed.product, 'identity', signal)),
  );
  const speed = (one: Readonly<Record<Figures, number>>) =>
    `${Math.round(one.bytes / one.totalMs / 1000)} MB/s`;
  const once = outcomes.map((outcome, index) => asOutcome(index === 0 ? first : outcome.median));
  addRow(bed, plan, 'plain', `${title}, first time`, once, undefined, speed);
  addRow(bed, plan, 'plain', `${title}, unchanged data again`, outcomes, memory, speed);
  report.setFigure(`${title}/plain`, ratioOf(outcomes[1], outcomes[0], 'totalMs'));
  report.setFigure(`${title}/plain/first/ms`, first.totalMs);
  report.setFigure(`${title}/plain/bytes`, first.bytes);
  report.setFigure(`${title}/plain/ms`, outcomes[0]?.median.totalMs);
  report.setFigure(`${title}/plain/node`, ratioOf(outcomes.at(-1), outcomes[0], 'totalMs'));
  return plain;
}

/** Longer than the time for which the product avoids a slow disk. */
const SETTLED_MS = 25_000;
const MOST_SETTLING_MS = 180_000;

/**
 * Repeats the export until it has not become faster for a while: with a slow disk, caching it takes
 * several attempts.
 */
async function settle(bed: Bed, plan: Plan): Promise<void> {
  const startMs = performance.now();
  let gainedMs = startMs;
  let least = Number.POSITIVE_INFINITY;
  for (let nowMs = startMs; nowMs - startMs < MOST_SETTLING_MS; nowMs = performance.now()) {
    if (!plan.quick && nowMs - gainedMs > SETTLED_MS) return;
    const { totalMs } = await download(request(bed.product, 'identity', plan.signal));
    if (totalMs < 0.9 * least) gainedMs = performance.now();
    else if (plan.quick) return;
    least = Math.min(least, totalMs);
  }
}

async function measureCompressed(
  ground: Ground,
  plan: Plan,
  encoding: 'gzip' | 'zstd',
  aside: boolean,
  plain: Content,
): Promise<void> {
  await using site = await Site.make(`${ground.folder}/export-${encoding}`);
  const first = await measureFirst(ground, plan, encoding, site);
  const file = fileName(encoding);
  if (!(await hasMagic(site.pathOf(file), MAGIC[encoding]))) {
    plan.report.remark(`Full export, ${encoding}: the product does not answer in ${encoding} here.`);
    return;
  }
  await site.addFile(file);
  const others = aside ? await site.open(plan.signal) : [];
  await using bed = await openBed(ground, plan.signal);
  await measureAgain(bed, plan, others, encoding, first);
  await check(bed, plan, encoding, site.pathOf(file), plain);
}

/**
 * Uses a new server over a copy of the data each time. The last body is kept for the other servers
 * to send.
 */
async function measureFirst(ground: Ground, plan: Plan, encoding: 'gzip' | 'zstd', site: Site) {
  const { report, signal } = plan;
  report.say(`${ground.title}: full export, ${encoding}, for the first time`);
  const figures: DownloadFigures[] = [];
  let memory: MemoryAboveIdle | undefined;
  for (let round = 0; round < (isLarge(ground) ? 1 : Math.min(3, plan.rounds)); round++) {
    const copy = await copyGround(ground, 'fresh-data');
    {
      await using fresh = await openBed(copy, signal);
      const work = async () => {
        figures.push(
          await download({
            ...request(fresh.product, encoding, signal),
            file: site.pathOf(fileName(encoding)),
          }),
        );
      };
      // Sampling costs little compared to compression, and there is only one first time.
      memory = await measureAboveIdle([fresh.server.pid], work);
    }
    await rm(copy.dataDir, { recursive: true });
  }
  return {
    totalMs: median(figures.map((one) => one.totalMs)),
    firstByteMs: median(figures.map((one) => one.firstByteMs)),
    memory,
  };
}

async function measureAgain(
  bed: Bed,
  plan: Plan,
  others: readonly Target[],
  encoding: 'gzip' | 'zstd',
  first: Awaited<ReturnType<typeof measureFirst>>,
): Promise<void> {
  plan.report.say(`${bed.title}: full export, ${encoding}, again`);
  const { outcomes, memory } = await measureRepeated(bed, plan, others, encoding);
  const speed = (one: { totalMs: number }) => duration(one.totalMs);
  const once = outcomes.map((outcome, index) =>
    index === 0 ? asOutcome({ ...outcome.median, ...first }) : asOutcome(outcome.median),
  );
  addRow(bed, plan, encoding, `${bed.title}, first time`, once, first.memory, speed);
  addRow(bed, plan, encoding, `${bed.title}, unchanged data again`, outcomes, memory, speed);
  plan.report.setFigure(`${bed.title}/${encoding}`, ratioOf(outcomes[1], outcomes[0], 'totalMs'));
  plan.report.setFigure(`${bed.title}/${encoding}/ms`, outcomes[0]?.median.totalMs);
  plan.report.setFigure(`${bed.title}/${encoding}/first/ms`, first.totalMs);
  plan.report.setFigure(`${bed.title}/${encoding}/bytes`, outcomes[0]?.median.bytes);
}

async function measureRepeated(
  bed: Bed,
  plan: Plan,
  others: readonly Target[],
  encoding: 'gzip' | 'zstd',
): Promise<{ outcomes: Outcome<Figures>[]; memory: MemoryAboveIdle | undefined }> {
  const again = () => download(request(bed.product, encoding, plan.signal));
  // Each process may have its own cache, so each gets a request first.
  let takenMs = 0;
  for (const _ of readProcessTree(bed.server.pid)) takenMs = (await again()).totalMs;
  if (takenMs <= LONG_MS) {
    const outcomes = await measure(bed, plan, others, encoding);
    return { outcomes, memory: await measureAboveIdle([bed.server.pid], again) };
  }
  let outcomes: Outcome<Figures>[] = [];
  const memory = await measureAboveIdle([bed.server.pid], async () => {
    outcomes = await measure(bed, { ...plan, rounds: 1 }, others, encoding);
  });
  return { outcomes, memory };
}

async function check(
  bed: Bed,
  plan: Plan,
  encoding: 'gzip' | 'zstd',
  file: string,
  plain: Content,
): Promise<void> {
  plan.report.say(`${bed.title}: decoding the whole ${encoding} export`);
  await checkCompressed(bed.title, encoding, file, plain, plan.report, {
    product: bed.product,
    path: PATH,
    thorough: !isLarge(bed),
    signal: plan.signal,
  });
}

/** Outcomes of the product first, then of the others in their order. */
function measure(
  bed: Bed,
  plan: Plan,
  others: readonly Target[],
  encoding: Encoding,
): Promise<Outcome<Figures>[]> {
  // A large export takes long, and has already been requested: it needs no warm-up round.
  const rounds = { count: plan.rounds, warm: isLarge(bed) || plan.quick };
  return measureRounds([bed.product, ...others], rounds, async (target) => {
    const { bytes: count, firstByteMs, totalMs } = await download(request(target, encoding, plan.signal));
    return { bytes: count, firstByteMs, totalMs };
  });
}

function addRow(
  bed: Bed,
  plan: Plan,
  table: 'plain' | 'gzip' | 'zstd',
  title: string,
  outcomes: readonly Outcome<Figures>[],
  memory: MemoryAboveIdle | undefined,
  speed: (one: Readonly<Record<Figures, number>>) => string,
): void {
  const [product, nginx, node] = outcomes.length === 2 ? [outcomes[0], undefined, outcomes[1]] : outcomes;
  const cell = (outcome: Outcome<Figures> | undefined) => (outcome ? speed(outcome.median) : '-');
  if (new Set(outcomes.map((one) => one.median.bytes)).size > 1) {
    plan.report.check(bed.title, `all servers send as many bytes (${table})`, false);
  }
  plan.report.addRow(
    table,
    ...[title, ratio(ratioOf(nginx, product, 'totalMs')), ratio(ratioOf(node, product, 'totalMs'))],
    ...[cell(product), cell(nginx), cell(node), duration(product?.median.firstByteMs)],
    ...[bytes(product?.median.bytes), bytes(memory?.sampledBytes), bytes(memory?.residentBytes)],
  );
}

function request(target: Target, encoding: Encoding, signal: AbortSignal) {
  const own = target.name === 'corkboard';
  // nginx finds the .gz beside the file itself. It has nothing similar for zstd, and Node has
  // nothing similar at all.
  const file = target.name === 'nginx' && encoding === 'gzip' ? 'events.json' : fileName(encoding);
  return {
    url: `http://127.0.0.1:${target.port}${own ? PATH : `/${file}`}`,
    headers: { ...target.headers, 'accept-encoding': encoding },
    signal,
  };
}

function fileName(encoding: Encoding): string {
  return { identity: 'events.json', gzip: 'events.json.gz', zstd: 'events.json.zst' }[encoding];
}

function asOutcome(figures: Readonly<Record<Figures, number>>): Outcome<Figures> {
  return { rounds: [figures], median: figures };
}

async function hasMagic(file: string, magic: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(magic.length / 2), 0, magic.length / 2, 0);
  return buffer.toString('hex') === magic;
}
