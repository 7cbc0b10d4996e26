// The data of a deployment: its databases, their backups and their archive.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import { bytesText } from '../kinds/text.ts';
import { Age, Facts } from './parts.tsx';
import { plain } from './text.ts';

export function Data({ deployment }: { readonly deployment: Deployment }): VNode {
  const { database_archive: archive } = deployment;
  const verifiedAt = deployment.database_verification?.verified_at ?? null;
  return (
    <section class="card" aria-labelledby="databases">
      <h2 id="databases">Databases</h2>
      <Facts
        facts={[
          ['PostgreSQL', versionOf(deployment.datastores.postgres)],
          ['Redis', versionOf(deployment.datastores.redis)],
          ['On deletion', deployment.database_claim && deployment.database_deletion_policy],
          ['Last backup', deployment.database_backup && <LastBackup report={deployment.database_backup} />],
          ['Last verification', verifiedAt && <Age then={verifiedAt} after=" ago" />],
          ['Archive', archive && <Archive report={archive} />],
        ]}
      />
    </section>
  );
}

function versionOf(datastore: Deployment['datastores']['postgres']): string | null {
  if (!datastore) return null;
  const version = datastore.version ?? 'version not known';
  return datastore.available === null ? version : `${version}, and a patch is available`;
}

/** Whether the last failure came after the last success. Both RFC 3339. */
function failedLast(failedAt: string | null, succeededAt: string | null): failedAt is string {
  return failedAt !== null && (succeededAt === null || failedAt > succeededAt);
}

/** What is known of the backups of the database. */
function LastBackup({ report }: { readonly report: NonNullable<Deployment['database_backup']> }): VNode {
  const { name, last_success_at: at, size_bytes: size, last_failure_at: failedAt, last_failure: words } = report;
  const isFailing = failedLast(failedAt, at);
  return (
    <>
      {at === null ? 'none yet' : <Age then={at} after=" ago" />}
      {size !== null && `, ${bytesText(size)}`}
      {name !== null && (
        <>
          {', '}
          <code>{plain(name)}</code>
        </>
      )}
      {isFailing && (
        <div class="why">
          The last run failed <Age then={failedAt} after=" ago" />: {plain(words ?? '')}
        </div>
      )}
    </>
  );
}

/** From when on the database can be restored to any time, and the newest base backup. */
function Archive({ report }: { readonly report: NonNullable<Deployment['database_archive']> }): VNode {
  const { first_recoverable_at: first, last_backup_at: at, last_failure_at: failedAt } = report;
  const isFailing = failedLast(failedAt, at);
  return (
    <>
      {first === null ? 'none yet' : `any time since ${first}`}
      {at !== null && (
        <>
          , base backup <Age then={at} after=" ago" />
        </>
      )}
      {isFailing && (
        <div class="why">
          The last base backup failed <Age then={failedAt} after=" ago" />.
        </div>
      )}
    </>
  );
}
