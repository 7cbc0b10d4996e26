// The CronJob of backups of a deployment, as Davit makes it.

import { makeBackup } from '../../src/deployments/children/database/backup.ts';
import * as builders from './builders.ts';

const settings = {
  ...builders.SETTINGS,
  backups: {
    ...builders.SETTINGS.backups,
    image: 'davit:1',
    store: {
      endpoint: 'https://s3.example',
      bucket: 'backups',
      prefix: 'davit',
      region: 'us-east-1',
      pathStyle: true,
      insecure: false,
      credentialsSecret: 'davit-backup-store',
    },
  },
};
const owner = builders.aRecord({ sourceConfig: { database: { backup: {} } } });
export const CRON_JOB = makeBackup({ record: owner, revision: builders.aRevision(owner), tenantId: 't', settings });
