/** Insights: each operation over all events, not from a cache, with one request at a time. */
import type { Bed, Plan } from '../bed.ts';
import { timeSpan } from '../community.ts';
import { download } from '../curl.ts';
import { median } from '../statistics.ts';
import { bytes, duration } from '../table.ts';

const SAMPLES = 15;

/** By title: path and parameters. */
const FIGURES = {
  overview: 'overview?',
  'activity by day': 'activity?interval=day&',
  'activity by day and action': 'activity?interval=day&by=action&',
  'activity by day and role': 'activity?interval=day&by=role&',
  'activity by day and board': 'activity?interval=day&by=board&',
  'new and returning people by week': 'returning?interval=week&',
  'heat map of the week': 'heat-map?',
  'the 1,000 most active boards': 'boards?top=1000&',
  'the 1,000 most active people': 'users?top=1000&',
} as const;

export async function measureInsights(bed: Bed, plan: Plan): Promise<void> {
  plan.report.say(`${bed.title}: insights`);
  const { startMs } = timeSpan();
  const samples = plan.quick ? 3 : SAMPLES;
  for (const [title, question] of Object.entries(FIGURES)) {
    const taken = [];
    // The first one warms up. Each has a different range, so that no response is in a cache; all
    // ranges include every event.
    for (let sample = 0; sample <= samples; sample++) {
      const url = `http://127.0.0.1:${bed.product.port}/insights/v1/${question}start=${startMs - sample}`;
      taken.push(await download({ url, headers: bed.product.headers, signal: plan.signal }));
    }
    const times = taken.slice(1).map(({ totalMs }) => totalMs);
    plan.report.setFigure(`${bed.title}/insights/${title}/ms`, median(times));
    plan.report.addRow(
      'insights',
      ...[bed.title, title, duration(median(times)), duration(Math.max(...times)), bytes(taken[0]!.bytes)],
    );
  }
}
