/**
 * Limits the requests of a key in a period (decision 20). The header fields are those of the IETF
 * draft on rate limits.
 */
import cluster from 'node:cluster';
import type { FastifyReply } from 'fastify';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from '../../domain/app-error.ts';
import type { KeyEntry, RateLimit } from '../../keys/keyring.ts';

export type RateLimiter = (key: KeyEntry, reply: FastifyReply) => Promise<void>;

// With several workers, the primary counts for all of them, so that they share one limit.
const Counting = cluster.isWorker ? RateLimiterCluster : RateLimiterMemory;
type Counting = InstanceType<typeof Counting>;

/**
 * A key without its own limit has the server's limit; without either, there is none. Throws
 * `rate-limited`.
 */
export function createRateLimiter(serverLimit: RateLimit | undefined): RateLimiter {
  const limiters = new Map<string, Counting>();

  function limiterOf({ requests, perSeconds }: RateLimit): Counting {
    const name = `${requests}/${perSeconds}`;
    let limiter = limiters.get(name);
    if (limiter === undefined) {
      limiter = new Counting({ points: requests, duration: perSeconds, keyPrefix: name });
      limiters.set(name, limiter);
    }
    return limiter;
  }

  // Created in advance, because in a worker it takes a moment until the primary knows it.
  if (serverLimit !== undefined) limiterOf(serverLimit);

  return async (key, reply) => {
    const limit = key.rateLimit ?? serverLimit;
    if (limit === undefined) return;
    const { refused, remaining, resetSeconds } = await consume(limiterOf(limit), key.id);
    reply.header('ratelimit-policy', `"default";q=${limit.requests};w=${limit.perSeconds}`);
    reply.header('ratelimit', `"default";r=${remaining};t=${resetSeconds}`);
    if (!refused) return;
    reply.header('retry-after', resetSeconds);
    throw new AppError(
      'rate-limited',
      `This key may make ${limit.requests} requests in ${limit.perSeconds} seconds. Wait ${resetSeconds} seconds.`,
    );
  };
}

async function consume(limiter: Counting, keyId: string) {
  try {
    return told(await limiter.consume(keyId), false);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return told(refusal, true);
    throw refusal;
  }
}

function told(result: RateLimiterRes, refused: boolean) {
  return {
    refused,
    remaining: Math.max(0, result.remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  };
}
