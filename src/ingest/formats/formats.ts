/** The formats of other software that an import understands. */
import { caliper } from './caliper.ts';
import type { FormatName } from './choices.ts';
import type { Format } from './format.ts';
import { moodleLog } from './moodle-log.ts';
import { xapi } from './xapi.ts';

export const FORMATS: Readonly<Record<FormatName, Format>> = { 'moodle-log': moodleLog, caliper, xapi };
