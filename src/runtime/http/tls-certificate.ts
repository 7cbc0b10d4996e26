// The API's certificate and key, read from files that are renewed: cert-manager writes a new Secret, the kubelet replaces the
// mounted files, and new connections get the new certificate. The files are polled: the kubelet replaces a link in a folder above
// them, which a watch of the files does not report.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../logger.ts';

export interface CertificateFiles {
  /** PEM: the certificate, then its intermediate certificates. */
  readonly certFile: string;
  /** PEM. */
  readonly keyFile: string;
}

export interface CertificatePair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface LiveCertificate {
  readonly current: CertificatePair;
  /** Calls `use` with every renewed pair, until the returned function is called. */
  follow(use: (pair: CertificatePair) => void): () => void;
}

const LOOK_EVERY_MS = 10_000;

/**
 * Reads the files once. Throws an Error that names a file if they cannot be read or do not match. `servesUntil` is called with the
 * expiration of the first certificate and of every renewed one.
 */
export async function watchCertificate(
  files: CertificateFiles,
  log: Logger,
  servesUntil: (expires: Date) => void = () => undefined,
  lookEveryMs = LOOK_EVERY_MS,
): Promise<LiveCertificate> {
  let current = await readPair(files);
  servesUntil(new X509Certificate(current.cert).validToDate);
  let complaint: string | undefined;

  async function look(use: (pair: CertificatePair) => void): Promise<void> {
    try {
      const found = await readPair(files);
      complaint = undefined;
      if (found.cert.equals(current.cert) && found.key.equals(current.key)) return;
      current = found;
      use(found);
      const { validToDate } = new X509Certificate(found.cert);
      servesUntil(validToDate);
      log.info({ validTo: validToDate.toISOString() }, 'Certificate renewed');
    } catch (error) {
      // The current certificate stays. If the files are being replaced, the next poll finds both.
      const said = error instanceof Error ? error.message : String(error);
      if (said !== complaint) log.warn({ err: error }, 'Certificate cannot be read, the previous one is served');
      complaint = said;
    }
  }

  return {
    get current() {
      return current;
    },
    follow(use) {
      let looking = false;
      const timer = setInterval(() => {
        if (looking) return;
        looking = true;
        void look(use).finally(() => {
          looking = false;
        });
      }, lookEveryMs);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

async function readPair({ certFile, keyFile }: CertificateFiles): Promise<CertificatePair> {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
  if (!certificateIn(certFile, cert).checkPrivateKey(keyIn(keyFile, key)))
    throw new Error(`The key in ${keyFile} does not match the certificate in ${certFile}.`);
  return { cert, key };
}

function certificateIn(file: string, pem: Buffer): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${file} holds no PEM certificate.`, { cause });
  }
}

function keyIn(file: string, pem: Buffer): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch {
    // Without a cause: its message could contain the key.
    throw new Error(`${file} holds no PEM private key without a passphrase.`);
  }
}
