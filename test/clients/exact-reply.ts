/** Requests whose replies are seen as they are sent: unlike `fetch`, this does not decompress. */
import { get } from 'node:http';
import { buffer } from 'node:stream/consumers';

export type Fields = Readonly<Record<string, string>>;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Uses a connection of its own. Rejects if the response is cut short. */
export async function requestExactly(url: string, headers: Fields): Promise<Reply> {
  return await new Promise((resolve, reject) => {
    get(url, { agent: false, headers }, async (response) => {
      const fields = new Headers();
      for (const [name, values] of Object.entries(response.headersDistinct)) {
        fields.set(name, (values ?? []).join(', '));
      }
      try {
        resolve({ status: response.statusCode ?? 0, headers: fields, bytes: await buffer(response) });
      } catch (error) {
        reject(error);
      }
    }).once('error', reject);
  });
}
