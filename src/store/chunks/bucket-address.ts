/**
 * The address of a bucket, as users write it: `s3://name/prefix?endpoint=https://…&region=…`. It
 * cannot contain credentials, because addresses appear in process lists and in logs.
 */
import { AppError } from '../../domain/app-error.ts';

export interface BucketAddress {
  readonly bucket: string;
  /** Empty, or the prefix of every key, with a slash at its end. */
  readonly prefix: string;
  /** Absent: the endpoint in the environment, or that of Amazon. */
  readonly endpoint?: string;
  /** Absent: the region in the environment or in a shared configuration file. */
  readonly region?: string;
  /** The bucket is part of the path, not of the host name. */
  readonly pathStyle: boolean;
  /** Absent: the default of the bucket. */
  readonly encryption?: { readonly algorithm: 'AES256' | 'aws:kms'; readonly kmsKey?: string };
}

const FORM = 's3://bucket/prefix?endpoint=https://…&region=…&path-style=true&sse=AES256';
const PARAMETERS = ['endpoint', 'region', 'path-style', 'sse', 'kms-key'] as const;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const PREFIX_LENGTH = 512;

/** Throws `option-malformed`. The message does not repeat the address: it may contain a secret. */
export function parseBucketAddress(address: string): BucketAddress {
  const url = URL.parse(address);
  if (url?.protocol !== 's3:') throw malformed(`The address of a bucket has the form ${FORM}.`);
  if (url.username !== '' || url.password !== '')
    throw malformed(
      'The address of a bucket contains no credentials. Put them into the environment ' +
        '(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), a shared credentials file or a role of the machine.',
    );
  if (url.port !== '' || url.hash !== '')
    throw malformed(`The address of a bucket has neither a port nor a fragment. Its form is ${FORM}.`);
  if (!BUCKET.test(url.hostname) || url.hostname.includes('..'))
    throw malformed('The name of a bucket has 3 to 63 lower-case letters, digits, hyphens and dots.');
  const parameters = readParameters(url.searchParams);
  const [endpoint, region] = [readEndpoint(parameters.get('endpoint')), readRegion(parameters.get('region'))];
  const encryption = readEncryption(parameters.get('sse'), parameters.get('kms-key'));
  return {
    bucket: url.hostname,
    prefix: readPrefix(url.pathname),
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    pathStyle: readPathStyle(parameters.get('path-style')),
    ...(encryption !== undefined && { encryption }),
  };
}

function readParameters(search: URLSearchParams): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of search) {
    if (!PARAMETERS.some((known) => known === name))
      throw malformed(
        `The address of a bucket has an unknown parameter. Known are: ${PARAMETERS.join(', ')}.`,
      );
    if (parameters.has(name))
      throw malformed(`Give the parameter "${name}" of the address of a bucket only once.`);
    parameters.set(name, value);
  }
  return parameters;
}

function readPrefix(pathname: string): string {
  const path = pathname.replace(/^\//, '').replace(/\/$/, '');
  if (path === '') return '';
  if (!PREFIX.test(path) || path.length > PREFIX_LENGTH)
    throw malformed(
      'The prefix in the address of a bucket consists of words of letters, digits, ".", "_" and "-", ' +
        `with "/" between them, and has at most ${PREFIX_LENGTH} characters.`,
    );
  return `${path}/`;
}

function readEndpoint(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined) return undefined;
  const url = URL.parse(endpoint);
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isPlain)
    throw malformed(
      'The endpoint in the address of a bucket is an https:// or http:// address, ' +
        'without credentials, "?" and "#".',
    );
  return endpoint;
}

function readRegion(region: string | undefined): string | undefined {
  if (region === undefined || /^[a-z0-9-]{1,63}$/.test(region)) return region;
  throw malformed('The region in the address of a bucket has lower-case letters, digits and hyphens.');
}

function readPathStyle(pathStyle: string | undefined): boolean {
  if (pathStyle === undefined || pathStyle === 'false') return false;
  if (pathStyle === 'true') return true;
  throw malformed('The parameter "path-style" in the address of a bucket is "true" or "false".');
}

function readEncryption(
  algorithm: string | undefined,
  kmsKey: string | undefined,
): BucketAddress['encryption'] {
  if (algorithm !== undefined && algorithm !== 'AES256' && algorithm !== 'aws:kms')
    throw malformed('The parameter "sse" in the address of a bucket is "AES256" or "aws:kms".');
  if (kmsKey === undefined) return algorithm && { algorithm };
  if (algorithm !== 'aws:kms' || !/^[\w:/.-]{1,512}$/.test(kmsKey))
    throw malformed('The parameter "kms-key" names a key of "sse=aws:kms" by its id, alias or ARN.');
  return { algorithm, kmsKey };
}

function malformed(message: string): AppError {
  return new AppError('option-malformed', message);
}
