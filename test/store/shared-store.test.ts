/** The contract of stores, run over the shared store. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { describeMerging } from '../dataset/merging-contract.ts';
import { describePublication } from '../dataset/publication-contract.ts';
import { describeScopes } from '../dataset/scope-contract.ts';
import { describeStore } from '../dataset/store-contract.ts';
import { newMigratedDatabase, openCachedStore } from '../storage.ts';

const folder = await mkdtemp(join(tmpdir(), 'corkboard-shared-'));
after(() => rm(folder, { recursive: true, force: true }));
const openStore = async () => await openCachedStore(await newMigratedDatabase(), folder);

describeStore('the shared store', openStore);
describePublication('the shared store', openStore);
describeScopes('the shared store', openStore);
describeMerging('the shared store', openStore);
