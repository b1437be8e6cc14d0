/**
 * The reference of the API: the component of Scalar with the OpenAPI documents of this server. It
 * is set up so that it sends no request to another host and keeps no key.
 */
import { anchorOfOperation, type OpenApi, prepareDocument } from './prepared-document.ts';
import './reference.css';

/** Set by the script of the component, which runs before this one. */
declare const Scalar: {
  createApiReference(
    frame: HTMLElement,
    configurations: readonly object[],
  ): { updateConfiguration(configurations: readonly object[]): void };
};

const DARK = matchMedia('(prefers-color-scheme: dark)');

interface Source {
  readonly slug: string;
  readonly document: OpenApi;
}

async function loadSource(url: string, origin: string): Promise<Source> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} returned status ${response.status}.`);
  const document: OpenApi = await response.json();
  // The base of a document is `/a`, `/b` or `/insights`.
  const slug = document.servers[0]?.url.slice(1) ?? '';
  return { slug, document: prepareDocument(document, url, origin) };
}

/** `#getBoards` names an operation in any of the documents; the component has longer anchors. */
function resolveAnchor(sources: readonly Source[]): void {
  const id = location.hash.slice(1);
  for (const { slug, document } of sources) {
    const found = Object.values(document.paths).find(({ get }) => get.operationId === id);
    if (found !== undefined) history.replaceState(null, '', `#${anchorOfOperation(slug, found.get)}`);
  }
}

function isDark(): boolean {
  const theme = document.documentElement.dataset['theme'];
  return theme === undefined ? DARK.matches : theme === 'dark';
}

async function show(frame: HTMLElement): Promise<void> {
  const { documents = '', server } = frame.dataset;
  const origin = server ?? location.origin;
  const sources = await Promise.all(documents.split(' ').map((url) => loadSource(url, origin)));
  resolveAnchor(sources);
  const configurations = () =>
    sources.map(({ slug, document }) => ({
      ...{ slug, title: document.info.title.replace('Corkboard, ', ''), content: document },
      ...{ baseServerURL: origin, hideTestRequestButton: server !== undefined },
      ...{ telemetry: false, withDefaultFonts: false, hideClientButton: true, hideDarkModeToggle: true },
      ...{ agent: { disabled: true }, mcp: { disabled: true }, showDeveloperTools: 'never' as const },
      ...{ persistAuth: false, documentDownloadType: 'none' as const, showOperationId: true },
      forceDarkModeState: isDark() ? ('dark' as const) : ('light' as const),
      defaultHttpClient: { targetKey: 'shell' as const, clientKey: 'curl' as const },
      generateOperationSlug: ({ operationId = '' }) => operationId,
    }));
  const reference = Scalar.createApiReference(frame, configurations());
  const follow = () => reference.updateConfiguration(configurations());
  DARK.addEventListener('change', follow);
  new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ['data-theme'] });
}

const frame = document.getElementById('reference');
if (frame !== null) {
  show(frame).catch((error: unknown) => {
    frame.textContent = `The reference cannot be shown: ${error instanceof Error ? error.message : error}`;
  });
}
