// What one record becomes, written down once with placeholders where records differ, so that an operator in another
// language can make the same objects byte for byte. The objects are Davit's own: made by the same pure functions.
// README.md describes the file.

import { requestedAddress, undecided } from '../../../src/deploy/assess/address.ts';
import { makeRevision } from '../../../src/deploy/children/app-revision.ts';
import { desiredChildren } from '../../../src/deploy/children/desired.ts';
import { postgresSecret, redisSecret } from '../../../src/deploy/children/secrets.ts';
import { makeTracingProject } from '../../../src/deploy/children/tracing-project.ts';
import { withAppliedDigest } from '../../../src/deploy/cluster/apply.ts';
import { rotationOf } from '../../../src/deploy/plan/rotation.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import { latestStatus } from '../../../src/deploy/revision-status.ts';
import { readyEntry, statusOf } from '../../../src/deploy/status.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { mergeConditions } from '../../../src/kinds/conditions.ts';
import { APPLIED_ANNOTATION, FIELD_MANAGER, FINALIZER } from '../../../src/kinds/meta.ts';
import type { Settings } from '../../../src/kinds/settings.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { anObserved, assessed } from '../../support/builders.ts';
import { recordIn } from './records.ts';

/** Everything that an operator writes for one new record, in the order in which Davit does. */
export interface Rendering {
  readonly format: 1;
  /** Of every server-side apply, with `force=true`. */
  readonly fieldManager: string;
  /** JSON merge patch of the record, sent before the first child is made. */
  readonly finalizer: object;
  /** POSTed. */
  readonly tracingProject: KubeObject;
  /** POSTed. */
  readonly revision: KubeObject;
  /** POSTed, with a `{{password}}` of its own for each. */
  readonly secrets: readonly KubeObject[];
  /** Applied server-side. */
  readonly children: readonly KubeObject[];
  /** Applied server-side to `/status`, at the end: whole objects but for their uid. */
  readonly statuses: readonly KubeObject[];
}

/** What is put in the place of `{{...}}`, wherever in a string that stands. */
export interface Filling {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** uid of the namespace. */
  readonly tenantId: string;
  readonly image: string;
  /** UUID version 5 of `s1` in the namespace `uid`. */
  readonly revisionId: string;
  /** Its first eight characters. */
  readonly revisionShort: string;
  /** RFC 3339 in UTC, to the second. */
  readonly now: string;
}

/** Stand where the filling goes while the makers run, in forms that pass every one of them. */
const FIXTURE = {
  name: 'fixture-record',
  namespace: 'fixture-namespace',
  uid: 'f1f1f1f1-f1f1-41f1-81f1-f1f1f1f1f1f1',
  tenantId: 'f2f2f2f2-f2f2-42f2-82f2-f2f2f2f2f2f2',
  image: 'fixture.example/image:1',
  password: 'fixturepassword',
  now: '2001-02-03T04:05:06Z',
} as const;

export function renderChildren(settings: Settings): Rendering {
  const record = fixtureRecord();
  const wanted = wantedRevision(record, [], settings, {});
  if (!('create' in wanted)) throw new Error('the fixture wants no revision');
  const revision = makeRevision(record, wanted.create);
  const project = makeTracingProject(record);
  const secrets = [
    postgresSecret(
      record,
      { password: FIXTURE.password, superuserPassword: FIXTURE.password },
      revision.spec.resolved.postgres ?? {},
    ),
    redisSecret(record, FIXTURE.password),
  ];
  const { digests } = rotationOf(anObserved(record, { revisions: [revision] }), revision);
  const children = desiredChildren({
    record,
    revision,
    tenantId: FIXTURE.tenantId,
    settings,
    secretDigests: digests,
    autoscaled: new Set(),
  }).map(withAppliedDigest);
  const rendering: Rendering = {
    format: 1,
    fieldManager: FIELD_MANAGER,
    finalizer: { metadata: { uid: FIXTURE.uid, finalizers: [FINALIZER] } },
    tracingProject: project,
    revision,
    secrets,
    children: children.map(withoutDigest),
    statuses: statusesOf(record, revision, [...secrets, ...children], settings),
  };
  return withPlaceholders(rendering, revision.spec.id);
}

function fixtureRecord(): AppDeployment {
  const bare = recordIn(FIXTURE.namespace, 0);
  return {
    ...bare,
    metadata: {
      name: FIXTURE.name,
      namespace: FIXTURE.namespace,
      uid: FIXTURE.uid,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: FIXTURE.now,
      finalizers: [FINALIZER],
    },
    spec: { ...bare.spec, sourceRevisionConfig: { imageUri: FIXTURE.image } },
  };
}

/** As Davit leaves them where all children are there and no pod is. */
function statusesOf(
  record: AppDeployment,
  revision: AppRevision,
  children: readonly KubeObject[],
  settings: Settings,
): KubeObject[] {
  const now = new Date(FIXTURE.now);
  const observed = anObserved(record, { revisions: [revision], children, tenantId: FIXTURE.tenantId });
  const address = undecided(observed, requestedAddress(observed, settings.address));
  const inputs = assessed(observed, revision, { settings, address });
  return [
    statusObject(revision, latestStatus(revision, inputs.assessment.rollout, now, readyEntry(inputs))),
    statusObject(makeTracingProject(record), projectStatusOf(record, now)),
    statusObject(record, statusOf(inputs, now)),
  ];
}

function projectStatusOf(record: AppDeployment, now: Date): object {
  const message = `Used by deployment ${record.metadata.name}.`;
  const ready = { type: 'Ready', status: 'True', reason: 'Linked', message } as const;
  return { deploymentUid: FIXTURE.uid, observedGeneration: 1, conditions: mergeConditions([], [ready], 1, now) };
}

function statusObject(
  { apiVersion, kind, metadata: { name, namespace = '' } }: KubeObject,
  status: object,
): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace }, status } as KubeObject;
}

// A hash over the object as it is with its placeholders filled: nothing that another language should have to repeat.
function withoutDigest(child: KubeObject): KubeObject {
  const annotations = { ...child.metadata.annotations, [APPLIED_ANNOTATION]: '{{digest}}' };
  return { ...child, metadata: { ...child.metadata, annotations } };
}

function withPlaceholders(rendering: Rendering, revisionId: string): Rendering {
  const places: readonly (readonly [string, string])[] = [
    [revisionId, 'revisionId'],
    // In the revision's name alone.
    [`--${revisionId.slice(0, 8)}`, '--revisionShort'],
    ...Object.entries(FIXTURE).map(([place, text]) => [text, place] as const),
  ];
  let text = JSON.stringify(rendering);
  for (const [from, place] of places) {
    const to = place.startsWith('--') ? `--{{${place.slice(2)}}}` : `{{${place}}}`;
    text = text.replaceAll(from, to);
  }
  return JSON.parse(text) as Rendering;
}

/** `template` with every placeholder filled; `password` and `digest` are made for each object. Throws for an unknown one. */
export function filled<T>(
  template: T,
  filling: Filling,
  made: { readonly password?: string; readonly digest?: string } = {},
): T {
  const values: Readonly<Record<string, string | undefined>> = { ...filling, ...made };
  const text = JSON.stringify(template).replaceAll(/\{\{(\w+)\}\}/g, (whole, place: string) => {
    const value = values[place];
    if (value === undefined) throw new Error(`nothing is known to put into ${whole}`);
    return JSON.stringify(value).slice(1, -1);
  });
  return JSON.parse(text) as T;
}

/** How many objects of each kind a record becomes; the record itself is none of them. */
export function countsOf({ tracingProject, revision, secrets, children }: Rendering): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind } of [tracingProject, revision, ...secrets, ...children])
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
