/**
 * The plain reference, and the pages of problems. The server renders them from the route tables.
 * They need no script, no build and no other host, so only their style is allowed.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, PROBLEM_CODES, PROBLEMS, type ProblemCode } from '../../domain/app-error.ts';
import { addRoute } from '../http/methods.ts';
import type { ParameterName } from '../request/parameters.ts';
import { PARAMETERS } from '../request/parameters.ts';
import type { Route } from '../request/route.ts';
import type { PublishedBase } from '../routes/variants.ts';
import { FixedFile } from './fixed-file.ts';

const STYLE = `
:root{color-scheme:light dark;--line:#8886;--soft:#8882}
body{font:1rem/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
code,pre{font:.9em/1.5 ui-monospace,monospace}
pre{background:var(--soft);padding:.8rem 1rem;overflow:auto;border-radius:.4rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}
h3{margin-top:2.2rem;border-top:1px solid var(--line);padding-top:1rem}h3 code{font-weight:600}
nav a{margin-right:1rem}`;

const POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

/** The page at `/` when there is no console. */
export function addIndexRoute(app: FastifyInstance, published: readonly PublishedBase[]): void {
  const index = page('Corkboard', renderIndex(published));
  addRoute(app, '/', async (request, reply) => await sendPage(request, reply, index));
}

/** The plain reference at each of the paths, and a page for each problem. */
export function addPlainReferenceRoutes(
  app: FastifyInstance,
  published: readonly PublishedBase[],
  paths: readonly string[],
): void {
  const variants = published.filter(({ base }) => base !== '');
  const reference = page('Corkboard API', variants.map(renderVariant).join('') + renderProblems());
  const problems = new Map(PROBLEM_CODES.map((code) => [`/problems/${code}`, renderProblem(code)]));
  for (const path of paths) {
    addRoute(app, path, async (request, reply) => await sendPage(request, reply, reference));
  }
  addRoute(app, '/problems/:code', async (request, reply) => {
    const problem = problems.get(request.url);
    if (problem === undefined)
      throw new AppError('not-found', 'No problem has this code. See /docs/api/plain.');
    return await sendPage(request, reply, problem);
  });
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  html: FixedFile,
): Promise<FastifyReply> {
  reply.headers({
    'content-security-policy': POLICY,
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
  });
  return await html.send(request, reply);
}

function page(title: string, body: string): FixedFile {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>
<nav><a href="/">Home</a><a href="/docs">Documents</a><a href="/docs/api">API reference</a></nav>
<main><h1>${escapeHtml(title)}</h1>${body}</main></body></html>`;
  return new FixedFile(Buffer.from(html), 'text/html; charset=utf-8');
}

function renderIndex(published: readonly PublishedBase[]): string {
  const rows = published.map(({ base, table, document }) => {
    return `<tr><td><code>${base}/v1</code></td><td>${escapeHtml(table.title)}, version ${table.version}</td><td><a href="${document}">${document}</a></td></tr>`;
  });
  return `<p>Read-only data of a social-learning community. Every request requires an API key of the organization:</p>
<pre tabindex="0">curl -H 'apikey: &lt;API_KEY&gt;' ${'$'}BASE_URL/a/v1/boards</pre>
<table><tr><th>Base</th><th>Interface</th><th>OpenAPI document</th></tr>${rows.join('')}</table>
<p>For paths, parameters, responses and problems, see the <a href="/docs/api">reference</a>.</p>`;
}

function renderVariant({ base, table, document }: PublishedBase): string {
  const routes = table.routes.flatMap((route) => {
    const paths = [`/v1${route.path}`, ...(table.unversioned.includes(route.path) ? [route.path] : [])];
    return paths.map((path) => renderRoute(base + path, route));
  });
  return `<h2 id="${table.variant}">${escapeHtml(table.title)}, version ${table.version}</h2>
<p>As an OpenAPI document: <a href="${document}">${document}</a></p>${routes.join('')}`;
}

function renderRoute(path: string, route: Route): string {
  const example = route.names.reduce(
    (filled, { name, example }) => filled.replace(`{${name}}`, encodeURIComponent(example)),
    path,
  );
  const names = route.names.map(({ name, description }) => row(name, 'path', description));
  const parameters = route.parameters.map(renderParameter);
  const forms = route.representations.join(', ');
  return `<h3><code>GET ${escapeHtml(path)}</code></h3><p><strong>${escapeHtml(route.summary)}.</strong> ${markUp(route.description)}</p>
<table><tr><th>Name</th><th>In</th><th>Meaning</th></tr>${[...names, ...parameters].join('')}</table>
<p>Representations: ${forms}. For example:</p>
<pre tabindex="0">curl -H 'apikey: &lt;API_KEY&gt;' ${'$'}BASE_URL${escapeHtml(example)}

${escapeHtml(JSON.stringify(route.example, undefined, 2))}</pre>`;
}

function renderParameter(name: ParameterName): string {
  const { description, expected } = PARAMETERS[name];
  return row(name, 'query', `${description} Must be ${expected}.`);
}

function renderProblem(code: ProblemCode): FixedFile {
  const { status, title, remedy } = PROBLEMS[code];
  return page(title, `<p>Status ${status}, code <code>${code}</code>.</p><p>${markUp(remedy)}</p>`);
}

function renderProblems(): string {
  const rows = PROBLEM_CODES.map((code) => {
    const { status, title, remedy } = PROBLEMS[code];
    return `<tr><td>${status}</td><td><a href="/problems/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}. ${markUp(remedy)}</td></tr>`;
  });
  return `<h2 id="problems">Problems</h2><p>The response to a refused request is a problem document
(<code>application/problem+json</code>, RFC 9457) with a stable <code>code</code>.</p>
<table><tr><th>Status</th><th>Code</th><th>Meaning and remedy</th></tr>${rows.join('')}</table>`;
}

function row(name: string, where: string, description: string): string {
  return `<tr><td><code>${escapeHtml(name)}</code></td><td>${where}</td><td>${markUp(description)}</td></tr>`;
}

/** Escapes text, and marks up as code what is between backticks. */
function markUp(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
