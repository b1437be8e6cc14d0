/** Reads real data through the client that `@hey-api/openapi-ts` generates. */
import { getPointsOfBoardA, listBoardsA, listEventsA, type Pin, type Problem } from './hey-api-client';
import { client } from './hey-api-client/client.gen';

async function main(): Promise<void> {
  const { CORKBOARD_URL = '', CORKBOARD_KEY = '', CORKBOARD_BOARD } = process.env;
  client.setConfig({ baseUrl: CORKBOARD_URL, auth: CORKBOARD_KEY });
  const found = { events: 0, pins: 0, pages: 0, boards: 0, points: 0, code: '' };
  const actors = new Set<number>();
  let cursor: string | undefined;
  do {
    const query = { limit: 5000, start: '0', ...(cursor !== undefined && { cursor }) };
    const { data, response } = await listEventsA({ query, throwOnError: true });
    found.pages += 1;
    for (const event of data) {
      const pin: Pin | undefined = event.pin;
      found.events += 1;
      if (pin !== undefined) found.pins += 1;
      actors.add(event.actor.id);
    }
    cursor = /[?&]cursor=([^&>]+)/.exec(response.headers.get('link') ?? '')?.[1];
  } while (cursor !== undefined);
  const { data: boards } = await listBoardsA({ throwOnError: true });
  found.boards = boards.filter(({ title }) => title !== '').length;
  const path = { boardId: Number(CORKBOARD_BOARD) };
  const { data: points } = await getPointsOfBoardA({ path, throwOnError: true });
  for (const record of Object.values(points)) found.points += record.total_points;
  const { error } = await listEventsA({ query: { limit: 0 } });
  const code: Problem['code'] | undefined = error?.code;
  if (code === 'parameter-malformed') found.code = code;
  process.stdout.write(JSON.stringify({ ...found, actors: actors.size }));
}

void main();
