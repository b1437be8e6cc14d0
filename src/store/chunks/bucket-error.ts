/**
 * Translates errors of a bucket for operators: either the bucket is temporarily unavailable, or a
 * setting is wrong and waiting does not help.
 */
import { AppError } from '../../domain/app-error.ts';

/** An error of the SDK: `name` is the code of the service, `code` that of the system. */
export interface BucketTrouble {
  readonly name: string;
  readonly code: string;
  /** 0 without a response. */
  readonly status: number;
}

/** Codes by which a bucket asks for a retry with a status other than 5xx. */
const THROTTLED = /^(SlowDown|Throttl|RequestLimitExceeded|RequestTimeout$|TooManyRequests|InternalError)/;
const NETWORK = /^(E[A-Z_]+|HPE_[A-Z_]+|ERR_STREAM_PREMATURE_CLOSE)$/;
const OUT_OF_TIME = /^(AbortError|TimeoutError)$/;
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|^(EPROTO|ERR_TLS|ERR_SSL)/;

/** What to check, by the code of the service. The first match applies. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /ProviderError$/,
    'No credentials for the bucket were found. Put them into the environment (AWS_ACCESS_KEY_ID, ' +
      'AWS_SECRET_ACCESS_KEY), a shared credentials file or a role of the machine.',
  ],
  [
    /TooSkewed/,
    'The bucket refuses requests because the clocks of the machines differ. Correct the clock of this machine.',
  ],
  [
    /Token|InvalidAccessKeyId|SignatureDoesNotMatch/,
    'The bucket does not accept the credentials. Check the access key and its secret in the environment, ' +
      'in the shared credentials file or in the role of the machine.',
  ],
  [
    /PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint/,
    'The bucket is in a different region. Set region=… in the address of the bucket, or AWS_REGION.',
  ],
  [
    /^KMS/,
    'The bucket cannot encrypt with the key. Check kms-key in the address of the bucket, and the permissions for the key.',
  ],
  [
    /^NotImplemented$/,
    'The server of the bucket does not support the request. Check whether it supports the encryption that ' +
      'the address of the bucket names with sse.',
  ],
  [
    /NoSuchBucket|InvalidBucketName/,
    'The bucket does not exist. Check its name, the endpoint, and whether the address needs path-style=true.',
  ],
  [
    /AccessDenied|Forbidden|AllAccessDisabled|AccountProblem/,
    'The bucket denies access. Check its name, and that the credentials have the permissions to list it and ' +
      'to read, write and delete objects (s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject).',
  ],
];

/** Absent for errors that are neither from the SDK nor from the system. */
export function readTrouble(error: unknown): BucketTrouble | undefined {
  if (!(error instanceof Error) || error instanceof AppError) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  const status =
    numberIn(error, '$metadata', 'httpStatusCode') ?? numberIn(error, '$response', 'statusCode') ?? 0;
  return { name: error.name, code, status };
}

/**
 * Returns an `AppError` `chunks-away` or `data-unreadable`; returns unknown errors, which are bugs,
 * unchanged.
 */
export function bucketError(error: unknown): unknown {
  const trouble = readTrouble(error);
  if (!(error instanceof Error) || trouble === undefined) return error;
  const cause = withoutSecrets(error, trouble);
  if (CERTIFICATE.test(trouble.code))
    return new AppError(
      'data-unreadable',
      'The TLS certificate of the bucket endpoint is not trusted. Check whether the endpoint is http:// or ' +
        'https://, and set NODE_EXTRA_CA_CERTS to the certificate of its authority.',
      { cause },
    );
  if (isAway(trouble)) return new AppError('chunks-away', awayMessage(trouble), { cause });
  if (error.message === 'Region is missing')
    return new AppError(
      'data-unreadable',
      'The region of the bucket is not set. Set region=… in the address of the bucket, or AWS_REGION.',
      { cause },
    );
  const remedy = REMEDIES.find(([name]) => name.test(trouble.name))?.[1];
  if (remedy === undefined && trouble.status === 0) return error;
  return new AppError('data-unreadable', remedy ?? refusal(trouble), { cause });
}

function isAway({ name, code, status }: BucketTrouble): boolean {
  if (THROTTLED.test(name) || status === 429 || (status >= 500 && status !== 501)) return true;
  return status === 0 && (NETWORK.test(code) || OUT_OF_TIME.test(name));
}

function awayMessage({ code }: BucketTrouble): string {
  return code === 'ENOTFOUND'
    ? 'The host of the bucket is not known. Check the endpoint and the region, and whether the address of ' +
        'the bucket needs path-style=true.'
    : 'The bucket cannot be reached. Try again in a moment.';
}

function refusal({ name, status }: BucketTrouble): string {
  const code = /^[A-Za-z][A-Za-z0-9.]{0,63}$/.test(name) ? `${status}, ${name}` : String(status);
  return `The bucket refuses the request (${code}). Check its name, region and endpoint, and the rights to it.`;
}

/** An error for the log. SDK errors can have members with the access key and the signed content. */
function withoutSecrets({ message }: Error, { name, code, status }: BucketTrouble): Error {
  const words = [name, code, status || '', message.slice(0, 300)];
  return new Error(words.filter((word) => word !== '').join(' '));
}

function numberIn(error: Error, member: string, inner: string): number | undefined {
  const outer: unknown = Object.getOwnPropertyDescriptor(error, member)?.value;
  if (typeof outer !== 'object' || outer === null) return undefined;
  const value: unknown = Object.getOwnPropertyDescriptor(outer, inner)?.value;
  return typeof value === 'number' ? value : undefined;
}
