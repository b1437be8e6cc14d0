/** Full exports: plain, gzip and zstd, for the first time and again, beside servers that send the same bytes from a file. */
import { open, rm } from 'node:fs/promises';
import { type Bed, copyGround, type Ground, isLarge, openBed, type Plan } from '../bed.ts';
import { type Content, checkCompressed, readFileContent } from '../checks.ts';
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

export async function measureExports(ground: Ground, plan: Plan, aside: boolean): Promise<void> {
  await using site = await Site.make(`${ground.folder}/export`);
  const plainFile = site.pathOf('events.json');
  const firsts = new Map<
    Encoding,
    { totalMs: number; firstByteMs: number; memory: MemoryAboveIdle | undefined }
  >();
  for (const encoding of ['gzip', 'zstd'] as const) {
    if (plan.chosen(encoding)) firsts.set(encoding, await measureFirst(ground, plan, encoding, site));
  }
  await using bed = await openBed(ground, plan.signal);
  const first = await download(request(bed.product, 'identity', plan.signal));
  await download({ ...request(bed.product, 'identity', plan.signal), file: plainFile });
  const plain = await readFileContent(plainFile);
  const { title } = ground;
  plan.report.check(
    title,
    `the export has ${ground.community.events.toLocaleString('en')} events`,
    plain.events === ground.community.events,
  );
  await site.addFile('events.json');
  if (!aside) await rm(plainFile);
  for (const encoding of firsts.keys()) await site.addFile(fileName(encoding));
  const others = aside ? await site.open(plan.signal) : [];
  if (plan.chosen('plain')) await measurePlain(bed, plan, others, first);
  for (const [encoding, first] of firsts) {
    if (encoding === 'identity') continue;
    if (!(await hasMagic(site.pathOf(fileName(encoding)), MAGIC[encoding]))) {
      plan.report.remark(`Full export, ${encoding}: the product does not answer in ${encoding} here.`);
      continue;
    }
    await measureAgain(bed, plan, others, encoding, first);
    await check(bed, plan, encoding, site.pathOf(fileName(encoding)), plain);
  }
}

async function measurePlain(
  bed: Bed,
  plan: Plan,
  others: readonly Target[],
  first: DownloadFigures,
): Promise<void> {
  plan.report.say(`${bed.title}: full export, plain`);
  await settle(bed, plan);
  const outcomes = await measure(bed, plan, others, 'identity');
  const memory = await measureAboveIdle([bed.server.pid], () =>
    download(request(bed.product, 'identity', plan.signal)),
  );
  const speed = (one: Readonly<Record<Figures, number>>) =>
    `${Math.round(one.bytes / one.totalMs / 1000)} MB/s`;
  const once = outcomes.map((outcome, index) => asOutcome(index === 0 ? first : outcome.median));
  addRow(bed, plan, 'plain', `${bed.title}, first time`, once, undefined, speed);
  addRow(bed, plan, 'plain', `${bed.title}, unchanged data again`, outcomes, memory, speed);
  plan.report.setFigure(`${bed.title}/plain`, ratioOf(outcomes[1], outcomes[0], 'totalMs'));
  plan.report.setFigure(`${bed.title}/plain/ms`, outcomes[0]?.median.totalMs);
  plan.report.setFigure(`${bed.title}/plain/node`, ratioOf(outcomes.at(-1), outcomes[0], 'totalMs'));
}

const LEAST_SETTLING = 3;
const MOST_SETTLING = 8;

/** Asks again until that gains nothing more: a slow disk takes what is kept of a large export in several turns. */
async function settle(bed: Bed, plan: Plan): Promise<void> {
  let beforeMs = Number.POSITIVE_INFINITY;
  for (let turn = 1; turn <= MOST_SETTLING; turn++) {
    const { totalMs } = await download(request(bed.product, 'identity', plan.signal));
    if (turn >= LEAST_SETTLING && totalMs > 0.9 * beforeMs) return;
    beforeMs = totalMs;
  }
}

/** On a fresh server over a copy of the data each time; the last answer is kept for the others to send. */
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
      // Sampling costs little beside compression, and there is only one first time.
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
  first: { totalMs: number; firstByteMs: number; memory: MemoryAboveIdle | undefined },
): Promise<void> {
  plan.report.say(`${bed.title}: full export, ${encoding}, again`);
  // Whatever is kept may be kept by each process.
  for (const _ of readProcessTree(bed.server.pid))
    await download(request(bed.product, encoding, plan.signal));
  const outcomes = await measure(bed, plan, others, encoding);
  const memory = await measureAboveIdle([bed.server.pid], () =>
    download(request(bed.product, encoding, plan.signal)),
  );
  const speed = (one: { totalMs: number }) => duration(one.totalMs);
  const once = outcomes.map((outcome, index) =>
    index === 0 ? asOutcome({ ...outcome.median, ...first }) : asOutcome(outcome.median),
  );
  addRow(bed, plan, encoding, `${bed.title}, first time`, once, first.memory, speed);
  addRow(bed, plan, encoding, `${bed.title}, unchanged data again`, outcomes, memory, speed);
  plan.report.setFigure(`${bed.title}/${encoding}`, ratioOf(outcomes[1], outcomes[0], 'totalMs'));
  plan.report.setFigure(`${bed.title}/${encoding}/ms`, outcomes[0]?.median.totalMs);
  plan.report.setFigure(`${bed.title}/${encoding}/first/ms`, first.totalMs);
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

/** The product first, then the others in their order. */
function measure(
  bed: Bed,
  plan: Plan,
  others: readonly Target[],
  encoding: Encoding,
): Promise<Outcome<Figures>[]> {
  // A large export takes long, and has been asked for before.
  const large = isLarge(bed);
  const rounds = { count: large ? Math.min(3, plan.rounds) : plan.rounds, warm: large || plan.quick };
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
  // nginx finds the .gz beside the file by itself; there is nothing of the kind for zstd, and nothing at all in Node.
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
