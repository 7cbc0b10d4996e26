import { expect, it } from 'vitest';
import { readSpans } from './collector.ts';

const TEXT = `2026-01-01T00:00:00.000Z	info	Traces
ResourceSpans #0
Resource SchemaURL: 
Resource attributes:
     -> service.name: Str(shop)
     -> davit.role: Str(server)
ScopeSpans #0
ScopeSpans SchemaURL: 
InstrumentationScope application 
Span #0
    Trace ID       : 4bf92f3577b34da6a3ce929d0e0e4736
    Parent ID      : 
    ID             : 00f067aa0ba902b7
    Name           : GET /
    Kind           : Server
    Start time     : 2026-01-01 00:00:00 +0000 UTC
    End time       : 2026-01-01 00:00:01 +0000 UTC
    Status code    : Unset
    Status message : 
Attributes:
     -> http.response.status_code: Int(200)
Span #1
    Trace ID       : 4bf92f3577b34da6a3ce929d0e0e4736
    Parent ID      : 00f067aa0ba902b7
    ID             : aaaaaaaaaaaaaaaa
    Name           : get secrets
    Kind           : Client
    Status code    : Error
ResourceSpans #1
Resource attributes:
     -> service.name: Str(davit-api)
ScopeSpans #0
Span #0
    Trace ID       : bbbb
    Name           : one
`;

it('spans have what the text of the collector says of them and of their resource', () => {
  const resource = { 'service.name': 'shop', 'davit.role': 'server' };
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  expect(readSpans(TEXT)).toEqual([
    {
      traceId,
      spanId: '00f067aa0ba902b7',
      parentId: '',
      name: 'GET /',
      kind: 'Server',
      status: 'Unset',
      attributes: { 'http.response.status_code': '200' },
      resource,
    },
    {
      traceId,
      spanId: 'aaaaaaaaaaaaaaaa',
      parentId: '00f067aa0ba902b7',
      name: 'get secrets',
      kind: 'Client',
      status: 'Error',
      attributes: {},
      resource,
    },
    expect.objectContaining({ traceId: 'bbbb', name: 'one', resource: { 'service.name': 'davit-api' } }),
  ]);
  expect(readSpans('nothing yet')).toEqual([]);
});
