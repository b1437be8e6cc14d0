/** The responses of a real Corkboard to a pull, recorded once: the material of hostile replies. */
import { get } from '../model/client.ts';
import { openWorld, WORLD_SETTINGS } from '../world.ts';

/**
 * Either like the original server, which implements only the contract, or with the tokens of
 * decision 19.
 */
export type Manner = 'original' | 'tokens';

export interface PlainReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Recording {
  readonly organizationId: bigint;
  /** By path, without a query. */
  readonly bodies: ReadonlyMap<string, string>;
  /** All events since the start, as NDJSON. */
  readonly events: readonly string[];
}

const EVENTS_ON_A_PAGE = 4;
const TOKEN = 'token-of-the-recording';

export async function recordWorld(): Promise<Recording> {
  const world = await openWorld();
  try {
    const key = world.keys.full;
    const bodies = new Map<string, string>();
    const record = async (path: string) => {
      const { text } = await get(world.url + path, key);
      bodies.set(path, text);
      return text;
    };
    for (const variant of ['a', 'b']) {
      for (const list of ['users', 'boards', 'events']) await record(`/${variant}/v1/${list}`);
    }
    for (const [, id] of (bodies.get('/a/v1/boards') ?? '').matchAll(/\{"id":(-?\d+)/g)) {
      await record(`/a/v1/board/${id}/points`);
    }
    const since = await get(`${world.url}/a/v1/events?since=start`, key, { accept: 'application/x-ndjson' });
    return { organizationId: WORLD_SETTINGS.id, bodies, events: since.text.trimEnd().split('\n') };
  } finally {
    await world.close();
  }
}

export function honestReply({ bodies, events }: Recording, manner: Manner, url: URL): PlainReply {
  const body = bodies.get(url.pathname);
  if (body === undefined) return { status: 404, headers: {}, body: '{"code":"not-found"}' };
  if (manner === 'original') return { status: 200, headers: {}, body };
  const since = url.searchParams.get('since');
  if (!url.pathname.endsWith('/events') || since === null) {
    const token = url.pathname.endsWith('/events') ? { 'sync-token': TOKEN } : {};
    return { status: 200, headers: { etag: `"${url.pathname}"`, ...token }, body };
  }
  if (since !== 'start' && since !== TOKEN)
    return { status: 400, headers: {}, body: '{"code":"since-invalid"}' };
  return pageOf(since === TOKEN ? [] : events, url);
}

function pageOf(events: readonly string[], url: URL): PlainReply {
  const first = Number(url.searchParams.get('cursor') ?? '0');
  if (!Number.isInteger(first)) return { status: 400, headers: {}, body: '{"code":"cursor-malformed"}' };
  const next = first + EVENTS_ON_A_PAGE;
  const link = `<${url.pathname}?since=start&limit=10000&cursor=${next}>; rel="next"`;
  const body = events
    .slice(first, next)
    .map((line) => `${line}\n`)
    .join('');
  return { status: 200, headers: next < events.length ? { link } : { 'sync-token': TOKEN }, body };
}
