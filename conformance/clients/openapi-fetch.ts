/** Reads real data through `openapi-fetch`, with the types of `openapi-typescript`. */
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-typescript';

type Schemas = components['schemas'];

async function main(): Promise<void> {
  const { CORKBOARD_URL, CORKBOARD_KEY, CORKBOARD_BOARD } = process.env;
  const client = createClient<paths, 'application/json' | 'application/problem+json'>({
    baseUrl: CORKBOARD_URL ?? '',
    headers: { apikey: CORKBOARD_KEY ?? '' },
  });
  const found = { events: 0, pins: 0, pages: 0, boards: 0, points: 0, code: '' };
  const actors = new Set<number>();
  let cursor: string | undefined;
  do {
    const query = { limit: 5000, start: '0', ...(cursor !== undefined && { cursor }) };
    const { data = [], response } = await client.GET('/v1/events', { params: { query } });
    found.pages += 1;
    for (const event of data) {
      const pin: Schemas['Pin'] | undefined = event.pin;
      found.events += 1;
      if (pin !== undefined) found.pins += 1;
      actors.add(event.actor.id);
    }
    cursor = /[?&]cursor=([^&>]+)/.exec(response.headers.get('link') ?? '')?.[1];
  } while (cursor !== undefined);
  const { data: boards = [] } = await client.GET('/v1/boards');
  found.boards = boards.filter(({ title }) => title !== '').length;
  const { data: points = {} } = await client.GET('/v1/board/{boardId}/points', {
    params: { path: { boardId: Number(CORKBOARD_BOARD) } },
  });
  for (const record of Object.values(points)) found.points += record.total_points;
  const { error } = await client.GET('/v1/events', { params: { query: { limit: 0 } } });
  const code: Schemas['Problem']['code'] | undefined = error?.code;
  if (code === 'parameter-malformed') found.code = code;
  process.stdout.write(JSON.stringify({ ...found, actors: actors.size }));
}

void main();
