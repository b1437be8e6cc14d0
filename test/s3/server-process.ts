/** The process of the S3-compatible test server; it ends with the process that started it. */
import { createServer } from 'node:http';
// @ts-expect-error: the package has no types.
import S3rver from '@20minutes/s3rver';

const [directory, bucket] = process.argv.slice(2);
process.on('disconnect', () => process.exit());

const options = { directory, silent: true, vhostBuckets: false, configureBuckets: [{ name: bucket }] };
const strict = new S3rver(options);
// For the path `/bucket/`, s3rver computes the signature of `/bucket`. So requests about the bucket
// (listings, deletions of several objects) have their access key checked, but not their signature.
const lenient = new S3rver({ ...options, allowMismatchedSignatures: true });
await strict.configureBuckets();
const [answerStrictly, answerLeniently] = [strict.callback(), lenient.callback()];

const server = createServer((request, response) => {
  const isAboutBucket = request.url?.startsWith(`/${bucket}/?`) === true;
  (isAboutBucket ? answerLeniently : answerStrictly)(request, response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
