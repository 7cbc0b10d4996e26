// What a platform's settings do not allow, as the controller sees it: what is asked for anew, not what runs.

import { expect, it } from 'vitest';
import { anObserved, aRecord, aRevision } from '../../../test/support/builders.ts';
import { Settings } from '../../api/settings.ts';
import { checkPolicy } from './policy.ts';

const LIMITED = Settings.parse({ limits: { cpu: 2 } });
const large = aRecord({ sourceConfig: { resourceSpec: { cpu: 4, queueCpuLimit: 8 } } });

it('more than the platform allows is said, with every field and its limit', () => {
  expect(checkPolicy(anObserved(large), LIMITED)).toMatchObject({
    is: 'stalled',
    reason: 'LimitExceeded',
    message: 'This platform allows less: cpu at most 2, queueCpuLimit at most 2.',
  });
});

it('a revision that was made before the limit goes on', () => {
  expect(checkPolicy(anObserved(large, { revisions: [aRevision(large)] }), LIMITED).is).toBe('pass');
});

it('where the platform makes no databases, a record has to bring both', () => {
  const external = (name: string): object => ({ name, secretName: 'outside', secretKey: 'uri' });
  const reasonOf = (...names: string[]): string =>
    checkPolicy(
      anObserved(aRecord({ secretReferences: names.map(external) as never })),
      Settings.parse({ database: { own: false } }),
    ).reason;
  expect([reasonOf(), reasonOf('POSTGRES_URI_CUSTOM')]).toEqual(['OwnDatabaseForbidden', 'OwnDatabaseForbidden']);
  expect(reasonOf('POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM')).toBe('Accepted');
});
