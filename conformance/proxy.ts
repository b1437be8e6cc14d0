/**
 * Prism as a proxy in front of the server, twice. With `--errors` for requests that the document
 * allows, where Prism refuses everything that does not conform. Without checks of requests for
 * those that the document forbids, because Prism would respond to them itself instead of the
 * server.
 */
import type { Target } from './product.ts';
import type { Report } from './report.ts';
import { forbiddenRequests, type Request, validRequests } from './requests.ts';
import { programOf, type Running, startTool } from './tool.ts';

const ANNOUNCEMENT = /Prism is listening on (http:\/\/[\w.:]+)/;

interface Violation {
  readonly location: readonly string[];
  readonly severity: string;
  readonly message: string;
}

export async function checkThroughProxy(target: Target, folder: string, report: Report): Promise<void> {
  const strict = await startProxy(target, folder, ['--errors']);
  try {
    const proxyUrl = strict.announced[1] ?? '';
    for await (const request of validRequests(target)) {
      tell(report, target, request, await ask(proxyUrl, request, () => true));
    }
  } finally {
    await strict.stop();
  }
  const lenient = await startProxy(target, folder, ['--validate-request', 'false']);
  try {
    const proxyUrl = lenient.announced[1] ?? '';
    for (const request of forbiddenRequests(target)) {
      const isOfAnswer = ({ location }: Violation) => location[0] === 'response';
      tell(report, target, request, await ask(proxyUrl, request, isOfAnswer));
    }
  } finally {
    await lenient.stop();
  }
}

function startProxy({ closedPath, baseUrl }: Target, folder: string, options: string[]): Promise<Running> {
  const args = [programOf('prism'), 'proxy', closedPath, baseUrl, '--port', '0', ...options];
  return startTool(args, folder, ANNOUNCEMENT);
}

/** Describes what is wrong with the response; undefined if nothing is. */
async function ask(
  proxyUrl: string,
  { path, headers, status }: Request,
  counts: (violation: Violation) => boolean,
): Promise<string | undefined> {
  // The proxy cannot decode zstd or encodings that it does not expect.
  const response = await fetch(proxyUrl + path, { headers: { 'accept-encoding': 'identity', ...headers } });
  const text = await response.text();
  const shown = `${response.status} ${text.slice(0, 2_000)}`;
  // Only the server adds a request id: without one, Prism has responded itself.
  if (!response.headers.has('x-request-id')) return `Prism refuses: ${shown}`;
  const violations = readViolations(response.headers.get('sl-violations')).filter(counts);
  if (violations.length > 0) return `Prism finds: ${JSON.stringify(violations)}\n${shown}`;
  return response.status === status ? undefined : `The status should be ${status}: ${shown}`;
}

function readViolations(header: string | null): readonly Violation[] {
  return header === null ? [] : JSON.parse(header);
}

function tell(report: Report, { title }: Target, { name, path }: Request, fault: string | undefined): void {
  const line = `Prism, ${title}: ${name}, GET ${path.length > 160 ? `${path.slice(0, 160)}…` : path}`;
  if (fault === undefined) report.pass(line);
  else report.fail(line, fault);
}
