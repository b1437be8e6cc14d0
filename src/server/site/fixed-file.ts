/**
 * Files that do not change while the server runs: the console, the reference, the OpenAPI
 * documents. Each is compressed once and has an entity tag for each encoding (decision 15).
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsNothingNew, namesTag } from '../request/conditional.ts';
import { chooseEncoding } from '../request/negotiation.ts';

const BEST_LEVEL = 9;
/** Characters of base64url: 132 of the 256 bits of the digest. */
const DIGEST_CHARACTERS = 22;

export class FixedFile {
  readonly #bytes: Buffer;
  readonly #type: string;
  readonly #digest: string;
  #gzipped: Promise<Buffer> | undefined;

  /** `type` is the value of `Content-Type`. */
  constructor(content: string | Buffer, type: string) {
    this.#bytes = typeof content === 'string' ? Buffer.from(content) : content;
    this.#type = type;
    this.#digest = createHash('sha256').update(this.#bytes).digest('base64url').slice(0, DIGEST_CHARACTERS);
  }

  /** Sends the file, or 304. Throws `not-acceptable`. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const encoding = chooseEncoding(request.raw, ['gzip', 'identity']);
    const etag = encoding === 'gzip' ? `"${this.#digest}-gzip"` : `"${this.#digest}"`;
    const vary = [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
    reply.headers({ etag, vary });
    const known = request.headers['if-none-match'];
    if (namesTag(known, etag) || acceptsNothingNew(known)) return reply.code(304).send();
    reply.header('content-type', this.#type);
    if (encoding !== 'gzip') return reply.send(this.#bytes);
    this.#gzipped ??= promisify(gzip)(this.#bytes, { level: BEST_LEVEL });
    return reply.header('content-encoding', 'gzip').send(await this.#gzipped);
  }
}
