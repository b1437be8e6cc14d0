/** Whether this is the long run, `npm run test:long`, which repeats more and leaves nothing out. */
export const IS_LONG = process.env['CORKBOARD_LONG'] === '1';
