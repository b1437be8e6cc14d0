/** Changes to XML that respect tags, attributes and entities. */
import type { Random } from '../../../bench/random.ts';
import type { ChangeBytes } from './bytes.ts';
import { hostileText } from './values.ts';

const ENTITIES = [
  '&#0;',
  '&#x110000;',
  '&#xD800;',
  '&unknown;',
  '&',
  '&amp',
  '&#99999999999999999999;',
  '&#x;',
  '&lt;',
  '&#10;',
];
const MARKUP = [
  '<!-- -->',
  '<!-- -- >',
  '<![CDATA[x]]>',
  '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
  '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
  '<?xml version="1.0" encoding="utf-16"?>',
  '<?pi ?>',
  '<row />',
  '<row Id="1">',
  '</row>',
  '</posts>',
  '<row Id="1" Id="2" />',
  "<row Id='1' />",
  '<row Id=1 />',
  '<row\u2028Id="1" />',
  '<a:row xmlns:a="x" />',
  '<ROW Id="1" />',
  '<',
  '>',
];

type Change = (random: Random, text: string) => string;

function atRandom(random: Random, text: string, added: string): string {
  const at = random.below(text.length + 1);
  return `${text.slice(0, at)}${added}${text.slice(at)}`;
}

/** Replaces one occurrence, chosen at random. */
function replaceOne(random: Random, text: string, pattern: RegExp, by: (found: string) => string): string {
  const places = [...text.matchAll(pattern)];
  if (places.length === 0) return text;
  const { 0: found, index } = random.pick(places);
  return `${text.slice(0, index)}${by(found)}${text.slice(index + found.length)}`;
}

const ATTRIBUTE = /\w+="[^"]*"/g;
const VALUE = /"[^"]*"/g;
const ROW = /<row [^\n]*\n/g;

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const CHANGES: readonly Change[] = [
  (random, text) => replaceOne(random, text, VALUE, () => `"${escaped(hostileText(random))}"`),
  (random, text) => replaceOne(random, text, VALUE, () => `"${escaped(hostileText(random))}"`),
  (random, text) => replaceOne(random, text, VALUE, () => `"${hostileText(random)}"`),
  (random, text) =>
    replaceOne(random, text, VALUE, (found) => `${found.slice(0, -1)}${random.pick(ENTITIES)}"`),
  (random, text) => replaceOne(random, text, ATTRIBUTE, () => ''),
  (random, text) => replaceOne(random, text, ATTRIBUTE, (found) => `${found} ${found}`),
  (random, text) => replaceOne(random, text, ATTRIBUTE, (found) => `__proto__${found}`),
  (random, text) => replaceOne(random, text, ROW, (found) => found.repeat(random.pick([0, 2, 50]))),
  (random, text) => replaceOne(random, text, ROW, (found) => found.replace('/>', '>')),
  (random, text) => replaceOne(random, text, ROW, (found) => `<!--${found}-->`),
  (random, text) => replaceOne(random, text, ROW, () => random.pick(MARKUP)),
  (random, text) => atRandom(random, text, random.pick(MARKUP)),
  (random, text) => atRandom(random, text, random.pick(ENTITIES)),
  (_random, text) => text.replace(/<\?xml[^>]*>/, ''),
];

export const changeXml: ChangeBytes = (random, bytes) =>
  Buffer.from(random.pick(CHANGES)(random, bytes.toString('utf8')));
