/** Checks the OpenAPI documents with two linters: errors fail, warnings are only printed. */
import { join } from 'node:path';
import type { Target } from './product.ts';
import type { Report } from './report.ts';
import { programOf, runTool } from './tool.ts';

const LINTERS = [
  {
    name: 'Redocly',
    command: [programOf('redocly'), 'lint', '--format=stylish', '--max-problems=1000'],
    config: ['--config', join(import.meta.dirname, 'redocly.yaml')],
    warns: /\bwarning\b/,
  },
  {
    name: 'Spectral',
    command: [programOf('spectral'), 'lint', '--fail-severity=error', '--fail-on-unmatched-globs'],
    config: ['--ruleset', join(import.meta.dirname, 'spectral.yaml')],
    warns: /\b(warning|info|hint) /,
  },
];

/** `folder` is for files that the tools write. */
export async function lintDocuments(
  targets: readonly Target[],
  folder: string,
  report: Report,
): Promise<void> {
  for (const { name, command, config, warns } of LINTERS) {
    for (const { title, documentPath } of targets) {
      const { code, output } = await runTool([...command, ...config, documentPath], folder);
      if (code === 0) report.pass(`${name}: the document of ${title}`);
      else report.fail(`${name}: the document of ${title}`, output);
      if (code === 0 && warns.test(output)) report.note(output);
    }
  }
}
