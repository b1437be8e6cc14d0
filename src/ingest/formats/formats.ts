/** The formats of other software that an import understands. */
import { caliper } from './caliper.ts';
import type { FormatName } from './choices.ts';
import { discourse } from './discourse.ts';
import type { Format } from './format.ts';
import { moodleLog } from './moodle-log.ts';
import { oneroster } from './oneroster.ts';
import { stackExchange } from './stack-exchange.ts';
import { xapi } from './xapi.ts';

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  'moodle-log': moodleLog,
  caliper,
  discourse,
  oneroster,
  'stack-exchange': stackExchange,
  xapi,
};
