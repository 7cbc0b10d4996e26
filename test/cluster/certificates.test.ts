import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeAuthority } from './certificates.ts';

describe('certificates', () => {
  const authority = makeAuthority('test-authority');
  const root = new X509Certificate(authority.certificate);

  it('makes an authority that has signed itself and may sign others', () => {
    expect(root.ca).toBe(true);
    expect(root.verify(root.publicKey)).toBe(true);
    expect(root.validToDate.getTime()).toBeGreaterThan(Date.now());
  });

  it('makes serving certificates for names and addresses', () => {
    const { certificate, key } = authority.serving('server', ['localhost', '127.0.0.1', '10.208.128.1']);
    const made = new X509Certificate(certificate);
    expect(made.checkIssued(root)).toBe(true);
    expect(made.verify(root.publicKey)).toBe(true);
    expect(made.checkHost('localhost')).toBe('localhost');
    expect(made.checkIP('10.208.128.1')).toBe('10.208.128.1');
    expect(made.checkIP('10.208.128.2')).toBeUndefined();
    expect(made.ca).toBe(false);
    expect(key).toContain('EC PRIVATE KEY');
  });

  it('puts user and groups where Kubernetes looks for them', () => {
    const made = new X509Certificate(authority.client('system:node:a', ['system:nodes', 'others']).certificate);
    expect(made.subject.split('\n').toSorted()).toEqual(['CN=system:node:a', 'O=others', 'O=system:nodes']);
  });

  it('gives every certificate a serial number of its own', () => {
    const serials = Array.from(
      { length: 50 },
      () => new X509Certificate(authority.client('u', []).certificate).serialNumber,
    );
    expect(new Set(serials).size).toBe(50);
  });
});
