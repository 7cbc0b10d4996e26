import { describe, expect, it } from 'vitest';
import { dockerConfig, loginIn } from './docker-config.ts';

const HOST = 'registry.example:5000';
const LOGIN = { username: 'davit', password: 'a:b' };
const encoded = Buffer.from('davit:a:b').toString('base64');

it('reads what it writes', () => expect(loginIn(dockerConfig(HOST, LOGIN), HOST)).toEqual(LOGIN));

describe('a file that a person wrote', () => {
  it.each([
    ['by the name', { auths: { [HOST]: LOGIN } }, LOGIN],
    ['with a scheme', { auths: { [`https://${HOST}`]: { auth: encoded } } }, LOGIN],
    ['with a path', { auths: { [`${HOST}/v1/`]: { auth: encoded } } }, LOGIN],
    ['of another registry', { auths: { 'registry.example': LOGIN } }, undefined],
    ['without a password', { auths: { [HOST]: { username: 'davit' } } }, undefined],
    ['by a helper program', { auths: {}, credHelpers: { [HOST]: 'desktop' } }, undefined],
    ['with a wrong type', { auths: { [HOST]: { auth: 7 } } }, undefined],
    ['without registries', {}, undefined],
  ])('%s', (_, config, want) => expect(loginIn(JSON.stringify(config), HOST)).toEqual(want));

  it.each(['', 'davit:secret', '{"auths":', 'null', '[]'])('%j is none', (text) =>
    expect(loginIn(text, HOST)).toBeUndefined(),
  );
});
