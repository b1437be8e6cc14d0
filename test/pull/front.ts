/**
 * A proxy of a Corkboard that behaves like a different server: `original`, with the contract only,
 * or `tokens`, with the tokens of decision 19 and small pages. It can be busy, cut connections, and
 * invalidate tokens.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Manner = 'original' | 'tokens';

/** A fault instead of a response: an error status, or only the first bytes of the response. */
export type Trouble =
  | { readonly status: number; readonly headers?: Record<string, string> }
  | { readonly cutAfterBytes: number };

export interface Front {
  readonly url: string;
  /** Requested paths with their queries. */
  readonly asked: string[];
  /** Called before every response. */
  trouble: (path: string) => Trouble | undefined;
  /** Invalidates all tokens that were given. */
  loseTokens(): void;
  close(): Promise<void>;
}

const MOST_ON_A_PAGE = 3;
const EVENTS = /\/v1\/(events|board\/-?\d+$|pins|user\/-?\d+$)/;

export async function openFront(corkboard: string, manner: Manner): Promise<Front> {
  const given = new Set<string>();
  const lost = new Set<string>();
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', corkboard);
    front.asked.push(url.pathname + url.search);
    const trouble = front.trouble(url.pathname + url.search);
    if (trouble !== undefined && 'status' in trouble) {
      response.writeHead(trouble.status, trouble.headers).end('{}');
      return;
    }
    const headers = { apikey: String(request.headers['apikey']), 'accept-encoding': 'identity' };
    const isEvents = EVENTS.test(url.pathname);
    const known = request.headers['if-none-match'];
    const reply =
      manner === 'tokens' && isEvents && url.searchParams.has('since')
        ? await since(url, headers)
        : await plain(url, { ...headers, ...(manner === 'tokens' && known && { 'if-none-match': known }) });
    response.writeHead(reply.status, { ...reply.fields, 'content-length': Buffer.byteLength(reply.body) });
    if (trouble === undefined) response.end(reply.body);
    else response.write(Buffer.from(reply.body).subarray(0, trouble.cutAfterBytes), () => response.destroy());
  }

  /** The `original` server ignores unknown parameters and has no entity tags. */
  async function plain(url: URL, headers: Record<string, string>) {
    const query = manner === 'original' ? '' : url.search;
    const reply = await fetch(corkboard + url.pathname + query, { headers });
    const kept = manner === 'original' ? [] : ['etag', 'link', 'sync-token'];
    const fields: Record<string, string> = {};
    for (const name of kept) {
      const value = reply.headers.get(name);
      if (value !== null) fields[name] = value;
    }
    return { status: reply.status, fields, body: reply.status === 304 ? '' : await reply.text() };
  }

  /** Returns pages of a few events, which a server may do for any limit. */
  async function since(url: URL, headers: Record<string, string>) {
    if (lost.has(url.searchParams.get('since') ?? '')) {
      return { status: 400, fields: {}, body: '{"code":"since-invalid"}' };
    }
    url.searchParams.set('limit', String(MOST_ON_A_PAGE));
    const reply = await plain(url, { ...headers, accept: 'application/x-ndjson' });
    given.add(reply.fields['sync-token'] ?? '');
    return reply;
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: Front = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    trouble: () => undefined,
    loseTokens: () => {
      for (const token of given) lost.add(token);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return front;
}
