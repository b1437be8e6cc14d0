/** Exported files. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { until } from '../server/stand.ts';
import { AT_ONCE } from './browser.ts';
import { ask, askBytes, number, stand } from './shared-stand.ts';
import { BOARD } from './visit.ts';

const MARCH = 'from=2018-03-01&to=2018-03-31&zone=Europe/Vienna';
const MARCH_ASKED = 'start=2018-02-28T23:00:00.000Z&end=2018-03-31T22:00:00.000Z';

export function describeFiles(): void {
  describe('the console', { concurrency: AT_ONCE }, () => {
    for (const [name, format, accept] of [
      ['JSON', 'json', 'application/json'],
      ['NDJSON', 'ndjson', 'application/x-ndjson'],
      ['CSV', 'csv', 'text/csv'],
      ['Parquet', 'parquet', 'application/vnd.apache.parquet'],
    ] as const) {
      it(`exports ${name} with the same bytes as the API, and CSV in the form for spreadsheets`, async () => {
        const visit = await stand().visit();
        const { page } = visit;
        for (const [view, asked, file] of [
          ['', '', `events.${format}`],
          [
            `?${MARCH}&action=created`,
            `?${MARCH_ASKED}&action=created`,
            `events-2018-03-01-2018-03-31-created.${format}`,
          ],
        ] as const) {
          await visit.go(`/console/events${view}`);
          const saving = page.waitForEvent('download');
          await page.getByRole('button', { name: `Export as ${name}`, exact: true }).click();
          const download = await saving;
          assert.equal(download.suggestedFilename(), file);
          const saved = await readFile(await download.path());
          const forExcel = format === 'csv' ? `${asked === '' ? '?' : `${asked}&`}excel=1` : asked;
          assert.ok(saved.equals(await askBytes(`/insights/v1/events${forExcel}`, accept)));
          const { events } = JSON.parse(await ask(`/insights/v1/overview${asked}`));
          const said = await page.locator('.export-state').textContent();
          // Events in Parquet cannot be counted on the way.
          const counted = format === 'parquet' ? '' : `${number(events)} events, `;
          assert.match(said ?? '', new RegExp(`^Saved ${file}: ${counted}[\\d.]+ (byte|[kM]B)$`));
        }
        await visit.end();
      });
    }

    it('saves the points of a board for a gradebook, with the same bytes as the API', async () => {
      const visit = await stand().visit({ path: `/console/boards/${BOARD}/standings?${MARCH}` });
      const { page } = visit;
      await page.getByRole('combobox', { name: 'System', exact: true }).selectOption('moodle');
      await page.getByRole('combobox', { name: 'Grade', exact: true }).selectOption('points');
      await page.getByRole('textbox', { name: 'Class role' }).fill('student');
      const saving = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download gradebook' }).click();
      const download = await saving;
      assert.equal(download.suggestedFilename(), `moodle-board-${BOARD}.csv`);
      const asked = `for=moodle&value=points&class_role=student&${MARCH_ASKED}`;
      const expected = await askBytes(`/insights/v1/boards/${BOARD}/gradebook?${asked}`, 'text/csv');
      assert.ok((await readFile(await download.path())).equals(expected));
      await page.getByText(`Saved moodle-board-${BOARD}.csv`, { exact: true }).waitFor();
      await page.getByRole('textbox', { name: 'LMS property with the id' }).fill('nothing');
      visit.forgive(/403/);
      await page.getByRole('button', { name: 'Download gradebook' }).click();
      await page.getByText(/^The file could not be saved: /).waitFor();
      await visit.end();
    });

    it('streams an export into a chosen file, and discards the file of a cancelled export', async () => {
      const visit = await stand().visit({ path: '/console/events' });
      const { page } = visit;
      await page.evaluate(`
        globalThis.saved = { bytes: 0, closed: 0, aborted: 0 };
        globalThis.showSaveFilePicker = async ({ suggestedName }) => ({
          createWritable: async () => ({
            write: async (bytes) => {
              saved.name = suggestedName;
              saved.bytes += bytes.length;
              if (saved.waits) await new Promise((resolve) => { saved.goOn = resolve; });
            },
            close: async () => { saved.closed += 1; },
            abort: async () => { saved.aborted += 1; },
          }),
        });`);
      await page.getByRole('button', { name: 'Export as CSV' }).click();
      await page.getByText(/^Saved events\.csv/).waitFor();
      const size = Buffer.byteLength(await ask('/insights/v1/events?excel=1', 'text/csv'));
      assert.deepEqual(await page.evaluate('saved'), {
        name: 'events.csv',
        bytes: size,
        closed: 1,
        aborted: 0,
      });
      await page.evaluate('saved.waits = true');
      await page.getByRole('button', { name: 'Export as JSON' }).click();
      await page.getByRole('progressbar', { name: 'Export' }).waitFor();
      await until(async () => (await page.evaluate("'goOn' in saved")) === true);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.evaluate('saved.goOn()');
      await until(async () => (await page.evaluate('saved.aborted')) === 1);
      assert.equal(await page.evaluate('saved.closed'), 1);
      await visit.end();
    });
  });
}
