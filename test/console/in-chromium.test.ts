/** All suites that require Chromium, in one file, so that browser and server start only once. */
import { after, before, describe } from 'node:test';
import { NO_BROWSER } from './browser.ts';
import { describeCache } from './cache.ts';
import { describeDocuments } from './documents.ts';
import { describeFiles } from './files.ts';
import { describeFlows } from './flows.ts';
import { describePages } from './pages.ts';
import { describeScope } from './scope.ts';
import { closeStand, openStand } from './shared-stand.ts';

describe('the console in Chromium', { skip: NO_BROWSER }, () => {
  before(openStand);
  after(closeStand);
  describePages();
  describeFlows();
  describeFiles();
  describeScope();
  describeCache();
  describeDocuments();
});
