/** The links of a document to other files of the repository. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorOf } from '../site/build/markdown.ts';

const ROOT = join(import.meta.dirname, '..');

/** The anchors of the headings of a document, and its explicit anchors. */
export function anchorsOf(document: string): ReadonlySet<string> {
  const headings = [...document.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  const names = headings.map(anchorOf);
  const explicit = [...document.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  return new Set([...names, ...explicit]);
}

/** The links of a document, named by its path from the root, to missing files and headings. */
export function brokenLinks(path: string): readonly string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [...text.matchAll(/\]\(([\w./-]*)(?:#([\w-]+))?\)/g)].flatMap(([link, file = '', anchor]) => {
    const target = file === '' ? path : join(dirname(path), file);
    if (!existsSync(join(ROOT, target))) return [link];
    if (anchor === undefined) return [];
    return anchorsOf(readFileSync(join(ROOT, target), 'utf8')).has(anchor) ? [] : [link];
  });
}
