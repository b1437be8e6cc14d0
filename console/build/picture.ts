/** Takes the screenshot in the README: the built console with the demo data. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openConsole } from '../../test/console/visit.ts';

const PICTURE = join(import.meta.dirname, '../../docs/console.webp');
const SIZE = { width: 1280, height: 860 };
const QUALITY = 94;
const SCALE = 1.5;
const MOST_BYTES = 200_000;

const stand = await openConsole();
try {
  const path = '/?from=2018-02-15&to=2018-09-10&zone=Europe/Vienna&interval=week';
  const visit = await stand.visit({ theme: 'light', ...SIZE, path });
  const debug = await visit.page.context().newCDPSession(visit.page);
  const { data } = await debug.send('Page.captureScreenshot', {
    ...{ format: 'webp', quality: QUALITY },
    clip: { x: 0, y: 0, ...SIZE, scale: SCALE },
  });
  await visit.end();
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > MOST_BYTES) throw new Error(`The picture has ${bytes.length} bytes.`);
  await writeFile(PICTURE, bytes);
  process.stdout.write(`${PICTURE}: ${bytes.length} bytes\n`);
} finally {
  await stand.close();
}
