// A record's own PostgreSQL since version 3 of the pod contract: the application is the owner of one database, and no superuser.

import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { Resolved } from '../../../kinds/app-revision.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { OWNER, SUPERUSER, SUPERUSER_PASSWORD_KEY } from '../../record/database-driver.ts';
import { databaseNames } from '../../record/database-move.ts';
import { majorVersion } from '../../record/image.ts';
import { fromSecret } from '../env.ts';
import type { Inputs } from '../inputs.ts';
import { makePostgresStatefulSet } from './stateful-set.ts';

const SCRIPTS = '/docker-entrypoint-initdb.d';
/** PostgreSQL has a collation of its own since this version, which no release of the C library changes. */
const BUILTIN_SINCE = 17;

/**
 * One statement of SQL, in the new database. The extensions become the application's: a dump that it loads sets their comments, which only
 * their owner may. Nobody can connect meanwhile. It has no $$, which Kubernetes makes $ in a command.
 */
export function makeExtensions(extensions: readonly string[]): string {
  const { user } = OWNER;
  const made = extensions.map((name) => `create extension "${name}";`).join(' ');
  return `do 'begin alter role ${user} superuser; set role ${user}; ${made} reset role; alter role ${user} nosuperuser; end'`;
}

/** For psql as the superuser, in the new database. */
export function ownerSql(extensions: readonly string[]): string {
  return `\\getenv password APP_PASSWORD
create role ${OWNER.user} login password :'password';
alter database ${OWNER.database} owner to ${OWNER.user};
${extensions.length > 0 ? `${makeExtensions(extensions)};\n` : ''}`;
}

/** The image's entrypoint reads it in its own shell, while the server listens on its socket alone. */
const makeOwner = (
  extensions: readonly string[],
): string => `psql -X -q -v ON_ERROR_STOP=1 -U ${SUPERUSER.user} -d ${OWNER.database} << 'SQL'
${ownerSql(extensions)}SQL
pg_ctl -D "$PGDATA" -w -m fast stop
exit 0`;

/** Data that is complete gets its place by a rename, so that a pod that is lost on the way leaves nothing that counts as a database. */
const startWith = (makesOwner: string): string => `set -e
trap 'exit 143' TERM INT
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  rm -rf "$PGDATA.new"
  cat > ${SCRIPTS}/owner.sh << 'END'
${makesOwner}
END
  PGDATA=$PGDATA.new docker-entrypoint.sh postgres "$@"
  mv -T "$PGDATA.new" "$PGDATA"
fi
exec docker-entrypoint.sh postgres "$@"
`;

/** A database of an earlier version of the contract is what it was. */
export function makeOwnedPostgres(inputs: Inputs, postgres: NonNullable<Resolved['postgres']>): Manifest<IStatefulSet> {
  const made = makePostgresStatefulSet(inputs, postgres);
  const pod = made.spec?.template.spec;
  const [server] = pod?.containers ?? [];
  if (postgres.user === undefined || !made.spec || !pod || !server) return made;
  const { postgresSecret: secretName } = databaseNames(inputs.record, inputs.revision);
  const env = [
    { name: 'POSTGRES_USER', value: SUPERUSER.user },
    fromSecret('POSTGRES_PASSWORD', { secretName, secretKey: SUPERUSER_PASSWORD_KEY }),
    fromSecret('APP_PASSWORD', { secretName, secretKey: 'password' }),
    { name: 'POSTGRES_DB', value: OWNER.database },
    { name: 'POSTGRES_INITDB_ARGS', value: initdbArguments(postgres.image) },
    ...(server.env ?? []).filter(({ name }) => name === 'PGDATA'),
  ];
  const container: IContainer = {
    ...server,
    command: ['sh', '-c', startWith(makeOwner(postgres.extensions ?? [])), 'postgres'],
    env,
    volumeMounts: [...(server.volumeMounts ?? []), { name: 'scripts', mountPath: SCRIPTS }],
  };
  const volumes = [...(pod.volumes ?? []), { name: 'scripts', emptyDir: {} }];
  const template = { ...made.spec.template, spec: { ...pod, containers: [container], volumes } };
  return { ...made, spec: { ...made.spec, template } };
}

/** Within the pod the socket trusts, and nothing else does. */
function initdbArguments(image: string): string {
  return `--data-checksums --auth-host=scram-sha-256 ${localeArguments(image)}`;
}

/** For initdb: encoding and locale of new databases of this image. */
export function localeArguments(image: string): string {
  const hasBuiltin = (majorVersion(image) ?? 0) >= BUILTIN_SINCE;
  const provider = hasBuiltin ? ' --locale-provider=builtin --builtin-locale=C.UTF-8' : '';
  return `--encoding=UTF8 --locale=C.UTF-8${provider}`;
}
