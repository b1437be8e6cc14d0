/** A program for `image-file.test.ts` that writes a large memory image into the given folder. */
import { join } from 'node:path';
import { ImageFile } from '../../../src/store/version/read/image-file.ts';

const [folder = ''] = process.argv.slice(2);
const large = Float64Array.from({ length: 4_000_000 }, (_, at) => at);
const image = new Map(['one', 'two', 'three'].map((name) => [name, large]));
process.stdout.write('writing\n');
await new ImageFile(join(folder, '1.image'), 'one', join(folder, '1.duckdb')).write(image);
