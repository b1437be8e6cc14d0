/** The ratios of a run as a bar chart, an SVG that is readable on light and on dark pages. */
import { SMALL_KINDS } from './questions.ts';
import type { Report } from './report.ts';
import { ratio, size } from './table.ts';

const WIDTH = 760;
const LEFT = 290;
const BAR = 14;
const ROW = 22;
const GAP = 34;

interface Group {
  readonly title: string;
  readonly longest: number;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
}

export function renderPlot(report: Report, sizes: readonly number[]): string {
  const groups = [...sizes.map((events) => groupOfSize(report, size(events))), groupOfPeers(report)].filter(
    (group) => group.bars.length > 0,
  );
  let y = 10;
  const drawn = groups.map((group) => {
    const part = renderGroup(group, y);
    y += GAP + group.bars.length * ROW + 14;
    return part;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="Speed of corkboard as ratios to other servers">
<style>
text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.bar{fill:#0969da}.one{stroke:#57606a;stroke-dasharray:3 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#4493f8}.one{stroke:#9198a1}}
</style>
${drawn.join('\n')}
</svg>
`;
}

function groupOfSize(report: Report, title: string): Group {
  const entries: [string, string][] = [
    ['full export', 'plain'],
    ['full export, gzip, unchanged data', 'gzip'],
    ...SMALL_KINDS.flatMap((kind): [string, string][] => [
      [`${kind}, rendered each time`, `${kind}/rendered each time`],
      [`${kind}, given before`, `${kind}/given before`],
    ]),
    ['304', 'unchanged/all events'],
  ];
  const bars = entries.flatMap(([label, name]) => barOf(label, report.figure(`${title}/${name}`)));
  return {
    title: `As fast as nginx sending the same bytes from files, ${title} events`,
    longest: Math.max(1.2, ...bars.map((bar) => bar.value)),
    bars,
  };
}

function groupOfPeers(report: Report): Group {
  const bars = report
    .figureNames('peers/')
    .flatMap((name) => barOf(name.slice('peers/'.length), report.figure(name)));
  return {
    title: 'Times as fast as comparable servers, 200,000 events',
    longest: Math.max(1.2, ...bars.map((bar) => bar.value)),
    bars,
  };
}

function barOf(label: string, value: number | undefined) {
  return value === undefined ? [] : [{ label, value }];
}

function renderGroup({ title, longest, bars }: Group, top: number): string {
  const scale = (WIDTH - LEFT - 60) / longest;
  const rows = bars.map(({ label, value }, index) => {
    const y = top + GAP + index * ROW;
    const width = Math.max(1, value * scale);
    return [
      `<text x="${LEFT - 10}" y="${y + 11}" text-anchor="end">${escapeXml(label)}</text>`,
      `<rect class="bar" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>`,
      `<text x="${(LEFT + width + 6).toFixed(1)}" y="${y + 11}">${ratio(value)}</text>`,
    ].join('');
  });
  const x = (LEFT + scale).toFixed(1);
  const end = top + GAP + bars.length * ROW - 4;
  const line = `<line class="one" x1="${x}" x2="${x}" y1="${top + GAP - 6}" y2="${end}"/>`;
  return `<text class="title" x="10" y="${top + 16}">${escapeXml(title)}</text>${rows.join('\n')}${line}`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
