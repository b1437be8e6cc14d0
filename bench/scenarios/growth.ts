/**
 * The effect of more data on speed: small requests to two servers, with less and with more data, in
 * turn, and values of the other scenarios.
 */
import { type Bed, type Ground, openBed, type Plan } from '../bed.ts';
import { questionsOf, SMALL_KINDS } from '../questions.ts';
import type { Report } from '../report.ts';
import { askForFragments, untilAtRest } from '../rest.ts';
import { measureRounds, type Outcome, ratioOf } from '../rounds.ts';
import { fetchAnswer, readEntityTag } from '../site.ts';
import { duration, ratio } from '../table.ts';

const ALL_EVENTS = '/a/v1/events';

type Paths = ReadonlyMap<Bed, readonly string[]>;

/** All other scenarios must have run with `smaller` and `larger`. */
export async function measureGrowth(plan: Plan, smaller: Ground, larger: Ground): Promise<void> {
  const data = `${smaller.title} to ${larger.title}`;
  const isChosen = (scenario: string) => plan.chosen('growth') || plan.chosen(scenario);
  const kinds = SMALL_KINDS.filter(isChosen);
  if (kinds.length > 0 || isChosen('unchanged')) {
    await using before = await openBed(smaller, plan.signal);
    await using after = await openBed(larger, plan.signal);
    const beds = [before, after];
    for (const bed of beds) await askForFragments(bed, plan.signal);
    const pids = beds.map(({ server }) => server.pid);
    await untilAtRest(pids, plan.signal);
    for (const kind of kinds) {
      const paths = new Map(beds.map((bed) => [bed, questionsOf(kind, bed.community)]));
      await addSmall(plan, { data, what: `one ${kind} request` }, paths, 200);
    }
    if (isChosen('unchanged')) {
      await addSmall(plan, { data, what: '304' }, new Map(beds.map((bed) => [bed, [ALL_EVENTS]])), 304);
    }
  }
  addLinear(plan.report, data, smaller, larger);
}

async function addSmall(
  plan: Plan,
  { data, what }: { readonly data: string; readonly what: string },
  paths: Paths,
  status: 200 | 304,
): Promise<void> {
  plan.report.say(`growth, ${data}: ${what}`);
  const [before, after] = await measureAlone(plan, paths, status);
  const value = ratioOf(after, before, 'p50Ms');
  const times = [before, after].map((outcome) => duration(outcome?.median.p50Ms));
  plan.report.addRow('growth', data, what, ratio(value), ...times);
}

/**
 * One connection to each server, in the same rounds. Each round continues in the list where the
 * previous one ended.
 */
async function measureAlone(plan: Plan, paths: Paths, status: 200 | 304): Promise<Outcome<'p50Ms'>[]> {
  // The first request of a kind may wait for structures that later ones use again.
  if (status === 200) {
    for (const [{ product }, [path = '']] of paths) await fetchAnswer(product, path, plan.signal);
  }
  const next = new Map<Bed, number>();
  const rounds = { count: plan.rounds, warm: plan.quick };
  return await measureRounds([...paths.keys()], rounds, async (bed) => {
    const first = next.get(bed) ?? 0;
    const { product } = bed;
    const tag =
      status === 304 ? { 'if-none-match': await readEntityTag(product, ALL_EVENTS, plan.signal) } : {};
    const { requests, p50Ms } = await plan.client.measure({
      ...{ port: product.port, paths: paths.get(bed)!, first, status, connections: 1, leastBytes: 0 },
      ...{ headers: { ...product.headers, ...tag }, seconds: plan.seconds },
    });
    next.set(bed, first + requests);
    return { p50Ms };
  });
}

function addLinear(report: Report, data: string, smaller: Ground, larger: Ground): void {
  const add = (what: string, name: string): void => {
    const [before, after] = [smaller, larger].map(({ title, community }) => {
      const total = report.figure(`${title}/${name}`);
      return total && (total * 1e6) / community.events;
    });
    if (before === undefined || after === undefined) return;
    report.addRow(
      'growth',
      data,
      `${what}, a million events`,
      ratio(after / before),
      duration(before),
      duration(after),
    );
  };
  add('start-up', 'start/ms');
  add('export, plain, for the first time', 'plain/first/ms');
  add('export, plain, again', 'plain/ms');
  add('export, gzip, for the first time', 'gzip/first/ms');
  add('export, gzip, again', 'gzip/ms');
}
