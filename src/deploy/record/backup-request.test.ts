// Which backup a request by hand makes, and what it is answered where none can be made.

import { describe, expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { Database } from '../../kinds/database.ts';
import { backupToMake } from './backup-request.ts';

const asks = (database: Database, conditions: object[] = []): ReturnType<typeof aRecord> =>
  aRecord({ sourceConfig: { database } }, { status: { conditions: conditions as never } });
const said = (type: string, reason: string): object => ({ type, status: 'False', reason, message: `${reason} it is.` });

describe('a backup by hand', () => {
  it.each([
    ['backups are asked for', asks({ backup: {} }), false, 'dump'],
    ['both are asked for', asks({ backup: {}, archive: {} }), false, 'dump'],
    ['both are, and the archive is meant', asks({ backup: {}, archive: {} }), true, 'base'],
    ['only an archive is asked for', asks({ archive: {} }), false, 'base'],
    ['backups were given up for an archive', asks({ backup: { enabled: false }, archive: {} }), false, 'base'],
    ['the platform makes them', asks({}, [said('BackupReady', 'BackupPending')]), false, 'dump'],
    ['the last one failed', asks({ backup: {} }, [said('BackupReady', 'BackupFailing')]), false, 'dump'],
    [
      'the archive alone is in trouble',
      asks({ backup: {} }, [said('ArchiveReady', 'BackupStoreMissing')]),
      false,
      'dump',
    ],
  ] as const)('where %s', (_reason, record, isArchive, kind) => {
    expect(backupToMake(record, isArchive)).toEqual({ kind });
  });

  it.each([
    [
      'nothing protects it',
      asks({}, [said('BackupReady', 'NotConfigured')]),
      false,
      /^No backup of shop can be made now\. NotConfigured it is\.$/,
    ],
    ['Davit has not looked at it', asks({}), false, /^shop has no database yet, so there is nothing to back up\.$/],
    [
      'they were given up',
      asks({ backup: { enabled: false } }, [said('BackupReady', 'NotConfigured')]),
      false,
      /^No backup of shop can be made now\. NotConfigured it is\.$/,
    ],
    ['no archive is asked for', asks({ backup: {} }), true, /^shop has no archive .*Leave out --archive\.$/],
    [
      'the keys of the store are missing',
      asks({ backup: {} }, [said('BackupReady', 'BackupCredentialsMissing')]),
      false,
      /^No backup of shop can be made now\. BackupCredentialsMissing it is\.$/,
    ],
    [
      'the plugin of the archive is missing',
      asks({ archive: {} }, [said('ArchiveReady', 'ArchivePluginMissing')]),
      false,
      /^No backup of shop can be made now\. ArchivePluginMissing it is\.$/,
    ],
    [
      'there is no database',
      aRecord({ sourceConfig: { runtime: { database: 'none' }, database: { backup: {} } } }),
      false,
      /^shop has no database \(runtime\.database: none\)/,
    ],
    [
      'the database is external',
      aRecord({
        sourceConfig: { database: { backup: {} } },
        secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' }],
      }),
      false,
      /^shop uses an external database, which Davit does not back up\. Back it up where it runs\.$/,
    ],
    [
      'it runs elsewhere',
      aRecord({ sourceConfig: { listenerId: 'x', database: { backup: {} } } }),
      false,
      /^shop runs in the cluster of a listener, .*use the kubeconfig of that cluster\.$/,
    ],
  ] as const)('is refused where %s', (_reason, record, isArchive, words) => {
    expect(backupToMake(record, isArchive)).toEqual({ refused: expect.stringMatching(words) });
  });

  it('is refused of what is being deleted', () => {
    const record = asks({ backup: {} });
    const deleted = { ...record, metadata: { ...record.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
    expect(backupToMake(deleted, false)).toEqual({ refused: 'shop is being deleted.' });
  });
});
