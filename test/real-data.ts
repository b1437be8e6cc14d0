/**
 * Public data that is too large to ship, in folders beside the checkout. Tests that need a folder
 * are skipped if it is missing. The files are unpublished subsets and conversions, so they cannot
 * be made from their sources; their digests show whether they are the expected ones.
 *
 * - `oulad`: a subset of the Open University Learning Analytics Dataset as a bundle (Kuzilek,
 *   Hlosta, Zdrahal 2017, doi 10.1038/sdata.2017.171, CC BY 4.0). Ids, days and click sums are
 *   real; names, e-mail addresses and times of day are generated.
 * - `moodle-log`: course logs as Moodle exports them (Hasan et al., eDify, CC BY 4.0).
 * - `xapi`: statements about videos (France Université Numérique, openfun/potsie, MIT).
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** SHA-256 of the files of each folder, in order of their names. */
const DIGESTS = {
  oulad: {
    'boards.csv.gz': 'e300ef7c44a13677be63f606dd8a7077194136db1f395d1dfe821472f2e9e60d',
    'events.csv.gz': 'ba5696d558dc1c83c2f94e4c82bcdd57a20b3ad340e3e90fc0370b81bb0f56fa',
    'pins.csv.gz': 'a0b6eb3e3cbfd66b2ed78b52e6af964566658f8e89b9413caa8e5f86ebd41163',
    'points.csv.gz': 'e1d860db6da1f967a27ec5d6ed36b75b2ea788e11b8e89c4cf4131910bfd4b2b',
    'users.csv.gz': '1ec0600e5f510ac3eda30b9650ad47a89cbaedb1f98cb1143c03baf0dca3d39d',
  },
  'moodle-log': {
    'Moodle Module 1 F19.csv.gz': 'dcd30efd8df2367a74fb66cf3ae11826d3a51ee1c21efa75faf895a05f6f6d37',
    'Moodle Module 1 F20.csv.gz': '7c7fc86dec48aa7c2a4071fc252976804f4889868610c10e3e5b5dacb3b5addf',
    'Moodle Module 2 SP18.csv.gz': '95a8c4b3f10a93e5ac1ad251e5d62cd8beb90a12ef434b15402892c1819f10bf',
    'Moodle Module 3 F17.csv.gz': '1f66a1c623aeec1f732642aa2e12842ffbb1c2b7fb5b5cefa62399865ac28b6b',
    'Moodle Module 5 SP18.csv.gz': 'ac52360365918e1a6ab794c65e362eccce11c6d7f0d87125006e6fa52d8ae927',
  },
  xapi: {
    'video-statements.ndjson.gz': '97704439497c56b3a7c57496cc605ab977592ed7abeca0cf0c0689472f7cb2f4',
  },
} as const;

export type RealData = keyof typeof DIGESTS;

const DATA = process.env['CORKBOARD_TEST_DATA'] ?? join(import.meta.dirname, '../../shared/data');

export function folderOf(data: RealData): string {
  return join(DATA, data);
}

/**
 * The reason to skip tests of a folder; false if the folder exists. Throws if its files are not the
 * expected ones.
 */
export function whyWithout(data: RealData): string | false {
  const folder = folderOf(data);
  const expected = Object.entries(DIGESTS[data]);
  if (!expected.every(([name]) => existsSync(join(folder, name)))) {
    return `needs ../shared/data/${data}, or CORKBOARD_TEST_DATA`;
  }
  const wrong = expected.filter(([name, digest]) => digestOf(join(folder, name)) !== digest);
  if (wrong.length === 0) return false;
  throw new Error(
    `Not the expected data, by SHA-256: ${wrong.map(([name]) => name).join(', ')} in ${folder}.`,
  );
}

/** The paths of the files of an existing folder. */
export function filesOf(data: RealData): string[] {
  return Object.keys(DIGESTS[data]).map((name) => join(folderOf(data), name));
}

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
