// X.509 certificates of a throw-away cluster, written without openssl, which a machine may not have.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Certificate {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface Authority {
  /** PEM; what a client needs to verify everything this authority has signed. */
  readonly certificate: string;
  readonly serving: (commonName: string, hosts: readonly string[]) => Certificate;
  /** Kubernetes reads the common name as the user and each organization as a group. */
  readonly client: (user: string, groups: readonly string[]) => Certificate;
}

const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

const dayMs = 24 * 3600 * 1000;
const yes = Buffer.from([0xff]);

export function makeAuthority(commonName: string, now = new Date()): Authority {
  const keys = newKeys();
  const name = subject(commonName, []);
  const keyId = keyIdOf(keys.publicKey);
  const certificate = signed({
    issuer: name,
    subject: name,
    publicKey: keys.publicKey,
    signer: keys.privateKey,
    now,
    extensions: [
      extension(oids.basicConstraints, true, sequence(der(0x01, yes))),
      // keyCertSign and cRLSign.
      extension(oids.keyUsage, true, der(0x03, Buffer.from([1, 0x06]))),
      extension(oids.subjectKeyId, false, der(0x04, keyId)),
    ],
  });

  function issue(who: Buffer, usage: string, more: readonly Buffer[]): Certificate {
    const own = newKeys();
    return {
      key: own.privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
      certificate: signed({
        issuer: name,
        subject: who,
        publicKey: own.publicKey,
        signer: keys.privateKey,
        now,
        extensions: [
          extension(oids.basicConstraints, true, sequence()),
          // digitalSignature.
          extension(oids.keyUsage, true, der(0x03, Buffer.from([7, 0x80]))),
          extension(oids.extendedKeyUsage, false, sequence(oid(usage))),
          extension(oids.subjectKeyId, false, der(0x04, keyIdOf(own.publicKey))),
          extension(oids.authorityKeyId, false, sequence(der(0x80, keyId))),
          ...more,
        ],
      }),
    };
  }

  return {
    certificate,
    serving: (cn, hosts) =>
      issue(subject(cn, []), oids.serverAuth, [
        extension(oids.subjectAltName, false, sequence(...hosts.map(alternativeName))),
      ]),
    client: (user, groups) => issue(subject(user, groups), oids.clientAuth, []),
  };
}

/** The key pair that signs ServiceAccount tokens; both PEM. */
export function makeTokenKeys(): { readonly publicKey: string; readonly privateKey: string } {
  const keys = newKeys();
  return {
    publicKey: keys.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: keys.privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
  };
}

interface ToSign {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly now: Date;
  readonly extensions: readonly Buffer[];
}

function signed(what: ToSign): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256));
  const serial = randomBytes(16);
  // Positive and without a leading zero octet, whatever was drawn.
  serial[0] = (serial.readUInt8(0) & 0x7f) | 0x40;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    what.issuer,
    // From a day ago: clocks inside of virtual machines jump.
    sequence(utcTime(new Date(what.now.getTime() - dayMs)), utcTime(new Date(what.now.getTime() + 365 * dayMs))),
    what.subject,
    what.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...what.extensions)),
  );
  const signature = sign('sha256', body, what.signer);
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function newKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function keyIdOf(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function subject(commonName: string, organizations: readonly string[]): Buffer {
  const attributes = [
    ...organizations.map((o) => [oids.organization, o] as const),
    [oids.commonName, commonName] as const,
  ];
  return sequence(...attributes.map(([type, text]) => der(0x31, sequence(oid(type), der(0x0c, Buffer.from(text))))));
}

function alternativeName(host: string): Buffer {
  return isIPv4(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [der(0x01, yes)] : []), der(0x04, value));
}

function utcTime(date: Date): Buffer {
  return der(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

function der(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  return [0x82, length >> 8, length & 0xff];
}
