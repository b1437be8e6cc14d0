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

interface Made {
  readonly bytes: Buffer;
  readonly digest: string;
}

export class FixedFile {
  readonly #content: Buffer | (() => string);
  readonly #type: string;
  #made: Made | undefined;
  #gzipped: Promise<Buffer> | undefined;

  /** A function is called at the first request. `type` is the value of `Content-Type`. */
  constructor(content: Buffer | (() => string), type: string) {
    this.#content = content;
    this.#type = type;
  }

  #make(): Made {
    const content = this.#content;
    const bytes = typeof content === 'function' ? Buffer.from(content()) : content;
    const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, DIGEST_CHARACTERS);
    return { bytes, digest };
  }

  /** Sends the file, or 304. Throws `not-acceptable`. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const encoding = chooseEncoding(request.raw, ['gzip', 'identity']);
    this.#made ??= this.#make();
    const { bytes, digest } = this.#made;
    const etag = encoding === 'gzip' ? `"${digest}-gzip"` : `"${digest}"`;
    const vary = [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
    reply.headers({ etag, vary });
    const known = request.headers['if-none-match'];
    if (namesTag(known, etag) || acceptsNothingNew(known)) return reply.code(304).send();
    reply.header('content-type', this.#type);
    if (encoding !== 'gzip') return reply.send(bytes);
    this.#gzipped ??= promisify(gzip)(bytes, { level: BEST_LEVEL });
    return reply.header('content-encoding', 'gzip').send(await this.#gzipped);
  }
}
