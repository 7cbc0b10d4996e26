// What a process is told in its environment.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultSettings } from '../kinds/settings.ts';
import { loadConfig } from './config.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'davit-config-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

describe('DAVIT_CA_BUNDLE', () => {
  it('is read once, as it is', () => {
    expect(loadConfig({ DAVIT_CA_BUNDLE: file('ca.crt', CERTIFICATE) }).authorities).toBe(CERTIFICATE);
    expect(loadConfig({})).not.toHaveProperty('authorities');
  });
  it.each([
    ['no certificate', 'something else', 'contain no certificate in PEM'],
    ['more than fits the Secrets of builds', CERTIFICATE.repeat(10_000), 'are larger than 512 KiB'],
  ])('with %s is refused at the start', (_what, text, says) => {
    expect(() => loadConfig({ DAVIT_CA_BUNDLE: file('wrong.crt', text) })).toThrow(says);
  });
  it('that is not there is refused at the start', () => {
    expect(() => loadConfig({ DAVIT_CA_BUNDLE: join(folder, 'none') })).toThrow('ENOENT');
  });
});

describe('setting proxy', () => {
  const settings = (text: string): unknown => loadConfig({ DAVIT_SETTINGS: file('settings.yaml', text) }).settings;
  it('stays as it is where there is no proxy', () => {
    expect(settings('proxy: {noProxy: [.corp.example]}')).toEqual({
      ...defaultSettings(),
      proxy: { noProxy: ['.corp.example'], addresses: [] },
    });
  });
  it.each([
    ['proxy: {httpsProxy: "http://me:secret@proxy.example:3128"}', 'without a user name'],
    ['proxy: {httpsProxy: "https://proxy.example"}', 'proxy.httpsProxy'],
    ['proxy: {httpProxy: "http://[::"}', 'proxy.httpProxy'],
    ['proxy: {noProxy: [10.0.0.0/99]}', 'must be a range such as 10.0.0.0/8'],
    ['proxy: {noProxy: ["*"]}', 'proxy.noProxy'],
    ['proxy: {addresses: [proxy.example]}', 'proxy.addresses'],
  ])('%s is refused', (text, says) => {
    expect(() => settings(text)).toThrow(says);
  });
});
