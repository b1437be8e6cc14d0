/** Checks of the form of every request, after the key has been checked. */
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../domain/app-error.ts';
import { ALLOWED_METHODS, isAllowedMethod } from './methods.ts';
import { hasUnexpectedBody } from './request-body.ts';
import { LONGEST_TARGET_BYTES } from './target.ts';

/** Throws `method-not-allowed`, `uri-too-long`, `request-malformed` or `body-not-expected`. */
export function checkRequest({ method, raw, visit: { target } }: FastifyRequest): void {
  if (!isAllowedMethod(method)) {
    throw new AppError('method-not-allowed', `The interface is read-only. Use one of ${ALLOWED_METHODS}.`);
  }
  if (target.text.length > LONGEST_TARGET_BYTES) {
    throw new AppError('uri-too-long', 'The URL is longer than 8 KiB. Shorten it.');
  }
  const { fault } = target;
  if (fault !== undefined) throw new AppError('request-malformed', fault);
  const hosts = countHosts(raw.rawHeaders);
  if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) {
    throw new AppError('request-malformed', 'Send exactly one header "Host".');
  }
  if (hasUnexpectedBody(raw)) {
    throw new AppError('body-not-expected', 'Send no body. Up to 64 KiB are ignored with GET and HEAD.');
  }
}

/** Node keeps only the first one in `headers`. Names are at the even indexes of `rawHeaders`. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
