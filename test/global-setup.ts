/** Setup for a run of all test files: the servers that they share, which start on first use. */
import { lendServers } from './shared-servers.ts';

let takeBack: (() => Promise<void>) | undefined;

export async function globalSetup(): Promise<void> {
  takeBack = await lendServers();
}

/** Also called when the run is interrupted; then it may be called twice. */
export async function globalTeardown(): Promise<void> {
  await takeBack?.();
}
