/**
 * Small requests, new and repeated, and 304, compared with servers that send the same bytes from
 * memory or files.
 */
import { type Bed, isLarge, openBed, type Plan } from '../bed.ts';
import type { LoadFigures } from '../load.ts';
import { questionsOf, type SmallKind } from '../questions.ts';
import { measureRounds, type Outcome, ratioOf } from '../rounds.ts';
import { type KeptAnswer, readEntityTag, Site, sameAnswers, type Target } from '../site.ts';
import { bytes, duration, rate, ratio } from '../table.ts';
import type { TableName } from '../tables.ts';

const CONNECTIONS = 16;
/** Few enough to fit into any cache. */
const SAME_QUESTIONS = 16;
const SAMPLES = 5;

type Outcomes = readonly Outcome<keyof LoadFigures>[];

/** The requests to each server in one load. */
interface Asked {
  readonly paths: (target: Target) => readonly string[];
  readonly headers?: (target: Target) => Readonly<Record<string, string>>;
  readonly status: number;
  readonly leastBytes: number;
}

export async function measureSmall(bed: Bed, plan: Plan, kind: SmallKind): Promise<void> {
  const { report, signal } = plan;
  report.say(`${bed.title}: ${kind}, keeping the answers`);
  await using site = await Site.make(`${bed.folder}/${kind}`);
  const answers = await site.keepAnswers(
    bed.product,
    questionsOf(kind, bed.community),
    plan.differentBytes,
    signal,
  );
  const others = await site.open(signal);
  const same = await sameAnswers([bed.product, ...others], answers.slice(0, SAMPLES), signal);
  report.check(bed.title, `the same bytes from all servers (${kind})`, same);
  const differentBytes = meanBytes(answers) * answers.length;
  if (!plan.quick && differentBytes < plan.cachedBytes * 1.25) {
    report.remark(
      `${bed.title}, ${kind}: all different answers have only ${bytes(differentBytes)}, so some of those "rendered each time" were not.`,
    );
  }
  const states = { 'rendered each time': answers, 'given before': answers.slice(0, SAME_QUESTIONS) };
  for (const [state, list] of Object.entries(states)) {
    report.say(`${bed.title}: ${kind}, ${state} (${list.length} questions)`);
    const asked = askedOf(list);
    const outcomes = await measureLoads(bed, plan, others, asked, CONNECTIONS);
    const alone = await measureLoads(bed, plan, [], asked, 1);
    addRow(bed, plan, kind, state, outcomes, alone, meanBytes(list));
  }
  if (kind === 'board' && !isLarge(bed)) await measureLogged(bed, plan, answers.slice(0, SAME_QUESTIONS));
}

/** The same measurement with one log line per request, the default of the server. */
async function measureLogged(bed: Bed, plan: Plan, answers: readonly KeptAnswer[]): Promise<void> {
  plan.report.say(`${bed.title}: board, given before, with a log`);
  await using logged = await openBed(bed, plan.signal, '--log-level', 'info');
  const asked = askedOf(answers);
  const outcomes = await measureLoads(logged, plan, [], asked, CONNECTIONS);
  const alone = await measureLoads(logged, plan, [], asked, 1);
  addRow(bed, plan, 'board', 'given before, with a log', outcomes, alone, meanBytes(answers));
}

export async function measureUnchanged(bed: Bed, plan: Plan): Promise<void> {
  plan.report.say(`${bed.title}: 304`);
  await using site = await Site.make(`${bed.folder}/unchanged`);
  const [answer] = await site.keepAnswers(bed.product, [bed.firstPath], 1, plan.signal);
  const others = await site.open(plan.signal);
  const pathOf = (target: Target) => (target.name === 'corkboard' ? '/a/v1/events' : answer!.sitePath);
  const tags = new Map<Target, string>();
  for (const target of [bed.product, ...others]) {
    tags.set(target, await readEntityTag(target, pathOf(target), plan.signal));
  }
  const asked: Asked = {
    paths: (target) => [pathOf(target)],
    headers: (target) => ({ 'if-none-match': tags.get(target) ?? '' }),
    status: 304,
    leastBytes: 0,
  };
  const outcomes = await measureLoads(bed, plan, others, asked, CONNECTIONS);
  addRow(bed, plan, 'unchanged', 'all events', outcomes, await measureLoads(bed, plan, [], asked, 1), 0);
}

function askedOf(answers: readonly KeptAnswer[]): Asked {
  const own = answers.map((answer) => answer.path);
  const sites = answers.map((answer) => answer.sitePath);
  return {
    paths: (target) => (target.name === 'corkboard' ? own : sites),
    status: 200,
    leastBytes: Math.min(...answers.map((answer) => answer.byteLength)),
  };
}

/** Each round continues in the list where the previous one ended, so that repeats are far apart. */
function measureLoads(
  bed: Bed,
  plan: Plan,
  others: readonly Target[],
  asked: Asked,
  connections: number,
): Promise<Outcome<keyof LoadFigures>[]> {
  const next = new Map<Target, number>();
  const most = connections === 1 ? 1 : isLarge(bed) ? 3 : plan.rounds;
  const rounds = { count: Math.min(most, plan.rounds), warm: plan.quick };
  return measureRounds([bed.product, ...others], rounds, async (target) => {
    const first = next.get(target) ?? 0;
    const figures = await plan.client.measure({
      port: target.port,
      paths: asked.paths(target),
      first,
      headers: { ...target.headers, ...asked.headers?.(target) },
      status: asked.status,
      leastBytes: asked.leastBytes,
      connections,
      seconds: plan.seconds,
    });
    next.set(target, first + figures.requests);
    return { ...figures };
  });
}

function addRow(
  bed: Bed,
  plan: Plan,
  table: TableName,
  state: string,
  outcomes: Outcomes,
  [alone]: Outcomes,
  answerBytes: number,
): void {
  const [product, nginx, node] = outcomes.length === 2 ? [outcomes[0], undefined, outcomes[1]] : outcomes;
  const name = 'requestsPerSecond';
  const all = (field: 'p50Ms' | 'p99Ms') =>
    [product, nginx, node].map((one) => duration(one?.median[field])).join(' / ');
  const toNginx = ratioOf(product, nginx, name);
  plan.report.addRow(
    table,
    ...[bed.title, state, ratio(toNginx), ratio(ratioOf(product, node, name))],
    ...[product, nginx, node].map((one) => rate(one?.median[name])),
    ...[all('p50Ms'), all('p99Ms'), duration(alone?.median.p50Ms), bytes(answerBytes)],
  );
  plan.report.setFigure(`${bed.title}/${table}/${state}`, toNginx);
  plan.report.setFigure(`${bed.title}/${table}/${state}/node`, ratioOf(product, node, name));
  plan.report.setFigure(`${bed.title}/${table}/${state}/rate`, product?.median[name]);
  plan.report.setFigure(`${bed.title}/${table}/${state}/alone`, alone?.median.p50Ms);
}

function meanBytes(answers: readonly KeptAnswer[]): number {
  return answers.reduce((total, answer) => total + answer.byteLength, 0) / answers.length;
}
