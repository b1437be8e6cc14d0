import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { it } from 'node:test';
import { serialize } from 'node:v8';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import type { KeyEntry } from '../../../src/keys/keyring.ts';
import { RequestTarget } from '../../../src/server/http/target.ts';
import { BoundRequests, readRequest } from '../../../src/server/request/parsed-request.ts';
import { deriveSecrets } from '../../../src/server/request/secrets.ts';
import { VARIANT_A } from '../../../src/server/routes/variant-a.ts';
import { openStand } from '../stand.ts';

it('a request is resolved again for a different version, scope or redaction', async () => {
  const stand = await openStand({ records: undefined });
  const key = await stand.keyring.find(stand.key);
  await stand.close();
  const route = VARIANT_A.routes.find(({ path }) => path === '/boards');
  assert.ok(route);
  const question = readRequest(
    'a',
    route,
    new RequestTarget('/a/v1/boards'),
    new IncomingMessage(new Socket()),
  );
  const secrets = deriveSecrets(new Uint8Array(32));
  const [first, second] = [
    new BoundRequests({ version: '1', lastSequence: 1 }, secrets),
    new BoundRequests({ version: '2', lastSequence: 2 }, secrets),
  ];
  const [scope, narrow] = [FULL_SCOPE, { ...FULL_SCOPE, boards: [7n] }];
  const plain = { ...key, scope, redact: { email: false, name: false, id: false } };
  const bindings = [
    () => first.bind(question, plain),
    () => second.bind(question, plain),
    () => second.bind(question, { ...plain, scope: narrow }),
    () => second.bind(question, { ...plain, redact: { email: true, name: false, id: false } }),
    () => second.bind(question, { ...plain, redact: { email: true, name: true, id: false } }),
    () => second.bind(question, { ...plain, redact: { email: false, name: true, id: false } }),
    () => second.bind(question, { ...plain, redact: { email: false, name: false, id: true } }),
  ];
  const tags = bindings.map((bind) => bind().etag);
  assert.equal(new Set(tags).size, bindings.length);
  for (const bind of bindings) assert.equal(bind(), bind());
  assert.deepEqual(
    bindings.map((bind) => bind().etag),
    tags,
  );
});

it('a kept request does not contain the text of a large scope', () => {
  const route = VARIANT_A.routes.find(({ path }) => path === '/events');
  assert.ok(route);
  const boards = Array.from({ length: 10_000 }, (_, at) => BigInt(at));
  const key: KeyEntry = {
    ...{ organization: 'acme', label: 'wide', id: 'a', rotatedTo: undefined },
    ...{ createdMs: 0, expiresMs: undefined, revokedMs: undefined, lastUsedMs: undefined },
    ...{ scope: { ...FULL_SCOPE, boards }, redact: { email: true, name: false, id: false } },
  };
  const target = new RequestTarget('/a/v1/events?since=start&limit=5');
  const question = readRequest('a', route, target, new IncomingMessage(new Socket()));
  new BoundRequests({ version: '1', lastSequence: 1 }, deriveSecrets(new Uint8Array(32))).bind(question, key);
  const { lastBound } = question;
  assert.ok(lastBound);
  const { scope, by, ...ownValues } = lastBound;
  assert.equal(scope, key.scope);
  assert.ok(by instanceof BoundRequests);
  // Throws if there is a function, which could keep anything.
  assert.ok(serialize(ownValues).length < 1000);
});

it('an empty Accept counts as absent, an empty Accept-Encoding allows identity alone', () => {
  const route = VARIANT_A.routes.find(({ path }) => path === '/boards');
  assert.ok(route);
  const read = (headers: Record<string, string>) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { headers });
    return () => readRequest('a', route, new RequestTarget('/a/v1/boards'), request);
  };
  assert.equal(read({ 'accept-encoding': '' })().encoding, 'identity');
  assert.equal(read({ accept: '' })().representation, 'json');
});
