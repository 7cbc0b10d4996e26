// The pages for browsers: `/` and `/docs`. Their files are in memory, and they are static: the first shows what it asks the HTTP
// API for, with a token that is typed into it, or that the browser gets from the cluster's issuer; the second the OpenAPI document.

import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SignInSetup } from '../kinds/sign-in.ts';
import { unlessKnown } from '../runtime/http/preconditions.ts';

/** The page's files by name, as src/tools/page.ts makes them. */
export type PageFiles = ReadonlyMap<string, string>;

/** The page's files come from this host, which its script may ask, and the issuer; nothing is inline, and no text becomes markup. */
function policyOf(signIn: SignInSetup | undefined): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    ['connect-src', "'self'", ...(signIn?.origins ?? [])].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** `GET /` under `prefix`, which `app` has: the page for who prefers HTML, otherwise where things are; and the page's files. */
export function registerPage(
  app: FastifyInstance,
  files: PageFiles | undefined,
  prefix: string,
  signIn: SignInSetup | undefined,
): void {
  const hidden = { schema: { hide: true } };
  const assets = [...(files ?? [])].map(([name, text]) => ({ name, bytes: Buffer.from(text), hash: hashOf(text) }));
  const page = files && asPage(pageOf(prefix, files, signIn), signIn);
  const docs = files && asPage(documentOf(prefix, files, 'docs.js', `<div id="page">${NEEDS_SCRIPTS}</div>`));
  const links = {
    service: 'Davit: deployments on a Kubernetes cluster of your own.',
    ...(files && { docs: `${prefix}/docs` }),
    openapi: `${prefix}/openapi.json`,
    deployments: `${prefix}/v2/deployments`,
    documents: 'docs/README.md, docs/start.md and docs/api.md of the installed version.',
  };

  app.get('/', hidden, async (request, reply) => {
    reply.header('vary', 'accept');
    return page !== undefined && prefersHtml(request) ? sendPage(request, reply, page) : links;
  });
  if (docs !== undefined) app.get('/docs', hidden, async (request, reply) => sendPage(request, reply, docs));

  // The address that published clients print.
  app.get('/o/:tenant/host/deployments/:id', hidden, async (request, reply) => {
    const { id } = request.params as { readonly id: string };
    return reply.redirect(`${prefix}/#/deployments/${encodeURIComponent(id)}`, 302);
  });
  for (const asset of assets) {
    app.get(`/assets/${asset.name}`, hidden, async (request, reply) => sendAsset(request, reply, asset));
  }
}

interface Page {
  readonly html: string;
  readonly etag: string;
  readonly headers: Readonly<Record<'content-security-policy' | 'cache-control', string>>;
}

function asPage(html: string, signIn?: SignInSetup): Page {
  const headers = { 'content-security-policy': policyOf(signIn), 'cache-control': 'no-cache' };
  return { html, etag: `"${hashOf(html)}"`, headers };
}

function sendPage(request: FastifyRequest, reply: FastifyReply, { html, etag, headers }: Page): FastifyReply {
  reply.headers(headers);
  return unlessKnown(request, reply, etag, () => reply.type('text/html; charset=utf-8').send(html));
}

interface Asset {
  readonly name: string;
  readonly bytes: Buffer;
  readonly hash: string;
}

/** A file under another version's hash is of a rollout: the browser gets the present one, and does not keep it. */
function sendAsset(request: FastifyRequest, reply: FastifyReply, { name, bytes, hash }: Asset): FastifyReply {
  const isNamed = request.url.endsWith(`?${hash}`);
  return reply
    .headers({
      'cache-control': isNamed ? 'public, max-age=31536000, immutable' : 'no-cache',
      'cross-origin-resource-policy': 'same-origin',
    })
    .type(TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream')
    .send(bytes);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A browser lists text/html; curl takes any type, and a client of the API lists JSON or nothing. */
function prefersHtml({ headers }: FastifyRequest): boolean {
  const ranges = (headers.accept ?? '').toLowerCase().split(',');
  const html = qualityOf('text/html', ranges);
  return html > 0 && html >= qualityOf('application/json', ranges);
}

/** RFC 9110, 12.5.1, of a type that is listed as such. */
function qualityOf(type: string, ranges: readonly string[]): number {
  const [, ...parameters] = ranges.map((range) => range.split(';')).find(([name]) => name?.trim() === type) ?? [];
  if (parameters.length === 0) return ranges.some((range) => range.trim() === type) ? 1 : 0;
  return Number(/^q=([\d.]+)$/.exec(parameters.at(-1)?.trim() ?? '')?.[1] ?? 1);
}

const NEEDS_SCRIPTS = '<noscript>This page needs JavaScript.</noscript>';

function pageOf(prefix: string, files: PageFiles, signIn: SignInSetup | undefined): string {
  const oidc = signIn && { ...signIn, script: addressOf(prefix, files, 'oidc.js') };
  const attributes = [
    `data-create="${addressOf(prefix, files, 'create.js')}"`,
    ...(oidc ? [`data-oidc="${attribute(JSON.stringify(oidc))}"`] : []),
  ];
  return documentOf(prefix, files, 'page.js', `<div id="page" ${attributes.join(' ')}>${NEEDS_SCRIPTS}</div>`);
}

function addressOf(prefix: string, files: PageFiles, name: string): string {
  return `${prefix}/assets/${name}?${hashOf(files.get(name) ?? '')}`;
}

function documentOf(prefix: string, files: PageFiles, script: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Davit</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${addressOf(prefix, files, 'icon.svg')}">
<link rel="stylesheet" href="${addressOf(prefix, files, 'page.css')}">
<script type="module" src="${addressOf(prefix, files, script)}"></script>
</head>
<body>
${body}
</body>
</html>
`;
}

function attribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
