// A server of the S3 protocol in memory: the requests that CNCF Distribution sends, for one bucket named in the path. Signatures are
// not verified; that a request has one of the access key is.

import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { close, listen } from './http-servers.ts';

export interface FakeS3 {
  /** http://HOST:PORT */
  readonly url: string;
  /** By key. */
  readonly objects: Map<string, Buffer>;
  /** Status with which a request, such as `PUT /bucket/key`, is refused; undefined lets it through. */
  fault?: ((request: string) => number | undefined) | undefined;
  /** Whether the answer to such a request is lost after its effect. */
  loses?: ((request: string) => boolean) | undefined;
  /** Of all objects. */
  bytes(): number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

interface Upload {
  readonly key: string;
  readonly parts: Map<number, Buffer>;
}

const etag = (content: Buffer): string => `"${createHash('md5').update(content).digest('hex')}"`;
const element = (name: string, content: string): string => `<${name}>${content}</${name}>`;
const NOW = '2026-01-01T00:00:00.000Z';

export async function startFakeS3(bucket: string, accessKey: string): Promise<FakeS3> {
  const objects = new Map<string, Buffer>();
  const fake: Pick<FakeS3, 'fault' | 'loses'> = {};
  const uploads = new Map<string, Upload>();

  const xml = (name: string, content: string): Answer => ({
    status: 200,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="UTF-8"?>${element(name, content)}`,
  });
  const refused = (status: number, code: string): Answer => ({
    status,
    headers: { 'content-type': 'application/xml' },
    body: element('Error', element('Code', code)),
  });

  function list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const delimiter = query.get('delimiter') ?? '';
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const most = Number(query.get('max-keys') ?? '1000');
    // A key, or all keys up to the delimiter.
    const nameOf = (key: string): string => {
      const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
      return end < 0 ? key : key.slice(0, end + delimiter.length);
    };
    const names = [...new Set([...objects.keys()].filter((key) => key.startsWith(prefix)).map(nameOf))]
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .filter((name) => name > after);
    const page = names.slice(0, most);
    const contents = page.map((name) => {
      const content = objects.get(name);
      if (content === undefined) return element('CommonPrefixes', element('Prefix', name));
      const fields = { Key: name, LastModified: NOW, ETag: etag(content), Size: String(content.length) };
      return element(
        'Contents',
        Object.entries(fields)
          .map(([field, value]) => element(field, value))
          .join(''),
      );
    });
    const isCut = names.length > page.length;
    return xml(
      'ListBucketResult',
      [
        element('KeyCount', String(page.length)),
        element('IsTruncated', String(isCut)),
        ...(isCut ? [element('NextContinuationToken', page.at(-1) ?? '')] : []),
        ...contents,
      ].join(''),
    );
  }

  function listUploads(prefix: string): Answer {
    const these = [...uploads].filter(([, { key }]) => key.startsWith(prefix));
    const shown = these.map(([id, { key }]) => element('Upload', element('Key', key) + element('UploadId', id)));
    return xml('ListMultipartUploadsResult', element('IsTruncated', 'false') + shown.join(''));
  }

  function deleteThose(body: string): Answer {
    for (const [, key = ''] of body.matchAll(/<Key>([^<]*)<\/Key>/g)) objects.delete(key);
    return xml('DeleteResult', '');
  }

  /** What a request with `x-amz-copy-source` copies. */
  function copied({ headers }: IncomingMessage): Buffer | undefined {
    const source = headers['x-amz-copy-source'];
    if (typeof source !== 'string') return undefined;
    const content = objects.get(
      decodeURIComponent(source)
        .replace(/^\//, '')
        .slice(bucket.length + 1),
    );
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-amz-copy-source-range'] ?? '')) ?? [];
    return from === undefined ? content : content?.subarray(Number(from), Number(to) + 1);
  }

  async function ofUpload(request: IncomingMessage, id: string, query: URLSearchParams): Promise<Answer> {
    const upload = uploads.get(id);
    if (upload === undefined) return refused(404, 'NoSuchUpload');
    const { key, parts } = upload;
    if (request.method === 'PUT') {
      const part = copied(request) ?? (await buffer(request));
      parts.set(Number(query.get('partNumber')), part);
      return request.headers['x-amz-copy-source'] === undefined
        ? { status: 200, headers: { etag: etag(part) } }
        : xml('CopyPartResult', element('ETag', etag(part)));
    }
    if (request.method === 'GET') {
      const shown = [...parts]
        .toSorted(([a], [b]) => a - b)
        .map(([number, part]) => {
          const fields = { PartNumber: String(number), ETag: etag(part), Size: String(part.length) };
          return element(
            'Part',
            Object.entries(fields)
              .map(([field, value]) => element(field, value))
              .join(''),
          );
        });
      return xml('ListPartsResult', element('IsTruncated', 'false') + shown.join(''));
    }
    uploads.delete(id);
    if (request.method === 'DELETE') return { status: 204 };
    const numbers = [...(await buffer(request)).toString().matchAll(/<PartNumber>(\d+)</g)].map(([, n]) => Number(n));
    const content = Buffer.concat(numbers.map((number) => parts.get(number) ?? Buffer.alloc(0)));
    objects.set(key, content);
    return xml('CompleteMultipartUploadResult', element('Key', key) + element('ETag', etag(content)));
  }

  function read({ headers }: IncomingMessage, key: string): Answer {
    const content = objects.get(key);
    if (content === undefined) return refused(404, 'NoSuchKey');
    const common = { etag: etag(content), 'last-modified': new Date(NOW).toUTCString() };
    const [, from, to = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
    if (from === undefined) return { status: 200, headers: common, body: content };
    if (Number(from) >= content.length) return refused(416, 'InvalidRange');
    const part = content.subarray(Number(from), to === '' ? content.length : Number(to) + 1);
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${content.length}`;
    return { status: 206, headers: { ...common, 'content-range': range }, body: part };
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const fault = fake.fault?.(`${request.method} ${request.url}`);
    if (fault !== undefined) return refused(fault, 'Fault');
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://s3');
    if (request.headers.authorization?.includes(`Credential=${accessKey}/`) !== true)
      return refused(403, 'AccessDenied');
    const [, name, ...rest] = decodeURIComponent(pathname).split('/');
    if (name !== bucket) return refused(404, 'NoSuchBucket');
    const key = rest.join('/');
    const uploadId = query.get('uploadId');
    if (uploadId !== null) return ofUpload(request, uploadId, query);
    if (key === '') {
      if (query.has('delete')) return deleteThose((await buffer(request)).toString());
      return query.has('uploads') ? listUploads(query.get('prefix') ?? '') : list(query);
    }
    if (query.has('uploads')) {
      const id = randomUUID();
      uploads.set(id, { key, parts: new Map() });
      return xml('InitiateMultipartUploadResult', element('Key', key) + element('UploadId', id));
    }
    if (request.method === 'DELETE') {
      objects.delete(key);
      return { status: 204 };
    }
    if (request.method !== 'PUT') return read(request, key);
    const isCopy = request.headers['x-amz-copy-source'] !== undefined;
    const content = isCopy ? copied(request) : await buffer(request);
    if (content === undefined) return refused(404, 'NoSuchKey');
    objects.set(key, content);
    return isCopy
      ? xml('CopyObjectResult', element('ETag', etag(content)))
      : { status: 200, headers: { etag: etag(content) } };
  }

  const server = createServer((request, response) => {
    void answer(request).then(({ status, headers, body = '' }) => {
      if (fake.loses?.(`${request.method} ${request.url}`) === true) return void request.socket.destroy();
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
  });
  await listen(server, 0, '127.0.0.1');
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    bytes: () => [...objects.values()].reduce((sum, { length }) => sum + length, 0),
    close: () => close(server),
  });
}
