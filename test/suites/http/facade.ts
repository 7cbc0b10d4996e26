// The facade over an in-memory API server, for tests: requests go in by inject, what reaches the API server is recorded.

import { PassThrough } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import type { AnswerReport } from '../../../src/api/request-log.ts';
import type { Account, CodeHosts } from '../../../src/build/codehost/code-hosts.ts';
import { makePlatformRegistry, type PlatformRegistry } from '../../../src/build/registry/platform-registry.ts';
import { names } from '../../../src/deploy/record/names.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../../../src/kinds/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { DEPLOYMENT_LABEL } from '../../../src/kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { defaultSettings, type Settings } from '../../../src/kinds/settings.ts';
import { type AppDeps, buildApp } from '../../../src/main/facade.ts';
import type { PageFiles } from '../../../src/main/page-routes.ts';
import { makeFairLimiter } from '../../../src/runtime/controller/fair-limiter.ts';
import type { Change, WatchedStore } from '../../../src/runtime/controller/store.ts';
import { NAMESPACES } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { makeOAuth } from '../../../src/tokens/oauth/oauth.ts';
import { type FakeKube, makeFakeKube, type Write } from '../../support/fake-kube/fake-kube.ts';

export const TENANT = { id: 'aaaaaaaa-0000-4000-8000-000000000001', namespace: 'team-a' } as const;
export const OTHER_TENANT = { id: 'bbbbbbbb-0000-4000-8000-000000000002', namespace: 'team-b' } as const;
export const ORGANIZATION = { id: 'dddddddd-0000-4000-8000-000000000004', namespace: 'davit-org' } as const;
export const TOKEN = 'token-of-somebody-canary';
/** Of one tenant; fewer than Davit's own, so that tests see it. */
export const WRITES_AT_ONCE = 4;

/** A cache that learns only what it is told. */
export interface TestStore<T extends KubeObject> extends WatchedStore<T> {
  put(object: T): void;
  drop(uid: string): void;
  /** Everything that the API server has, as a watch would bring it. */
  fill(): void;
  synced: boolean;
}

function makeStore<T extends KubeObject>(kube: FakeKube, resource: Resource): TestStore<T> {
  const objects = new Map<string, T>();
  const listeners = new Set<(change: Change<T>) => void>();
  const tell = (change: Change<T>): void => listeners.forEach((listener) => listener(change));
  const inNamespace = (namespace?: string): T[] =>
    [...objects.values()].filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
  const store: TestStore<T> = {
    synced: true,
    hasSynced: () => store.synced,
    get: (ref) => inNamespace(ref.namespace).find(({ metadata }) => metadata.name === ref.name),
    byUid: (uid) => objects.get(uid),
    list: inNamespace,
    byLabel: (namespace, label, value) =>
      inNamespace(namespace).filter(({ metadata }) => metadata.labels?.[label] === value),
    byIndex: () => [],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    put(object) {
      const type = objects.has(object.metadata.uid ?? '') ? 'modified' : 'added';
      objects.set(object.metadata.uid ?? '', object);
      tell({ type, object });
    },
    drop(uid) {
      const object = objects.get(uid);
      objects.delete(uid);
      if (object !== undefined) tell({ type: 'deleted', object });
    },
    fill() {
      for (const uid of objects.keys()) store.drop(uid);
      for (const object of kube.objects<T>(resource)) store.put(object);
    },
  };
  return store;
}

/** Headers of a request of somebody who may use the tenant. */
export const SOMEBODY = { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id } as const;

/** Lets a facade listen; resolves to its origin. */
export function listen({ app }: Pick<Facade, 'app'>): Promise<string> {
  return app.listen({ port: 0, host: '127.0.0.1' });
}

export interface Facade {
  readonly app: FastifyInstance;
  readonly kube: FakeKube;
  readonly registry: PlatformRegistry | undefined;
  readonly records: TestStore<AppDeployment>;
  readonly revisions: TestStore<AppRevision>;
  readonly tenants: TestStore<KubeObject>;
  readonly templates: TestStore<AppTemplate>;
  readonly listeners: TestStore<Listener>;
  readonly providers: TestStore<OAuthProvider>;
  readonly integrations: TestStore<CodeHostIntegration>;
  /** Accounts whose repositories were asked for, and what they have: nothing, unless a test says otherwise. */
  readonly accounts: Account[];
  repositories: CodeHosts['repositories'];
  readonly settings: Settings;
  readonly clock: { ms: number };
  /** How long it has waited, in order. */
  readonly waits: number[];
  /** Everything it logged. */
  log(): string;
  /** Each answer as it is counted. */
  readonly answers: AnswerReport[];
  /** Writes but for reviews of rights. */
  writes(): Write[];
  /** Those of them that were no dry runs. */
  kept(): Write[];
  call(
    method: 'GET' | 'POST' | 'DELETE' | 'PATCH' | 'PUT' | 'OPTIONS',
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Makes the revision that the only record wants, as the controller would. */
  snapshot(status?: AppRevision['status'], settings?: Settings): AppRevision;
  /** A record as the API server has it and the watch has brought it. */
  seed(record: Partial<AppDeployment> & { metadata: { name: string } }): AppDeployment;
}

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
  readonly body: any;
  readonly headers: Record<string, unknown>;
}

export async function makeFacade(
  settings: Partial<Settings> = {},
  limits: Pick<AppDeps, 'timeLimitMs' | 'unreadLimits' | 'signal'> = {},
  { withRegistry, page }: FacadeOptions = {},
): Promise<Facade> {
  const clock = { ms: Date.parse('2026-01-01T00:00:00Z') };
  const answers: AnswerReport[] = [];
  const kube = makeFakeKube({ now: () => clock.ms });
  for (const { id, namespace } of [TENANT, OTHER_TENANT]) {
    kube.seed(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, uid: id, labels: { 'davit.dev/tenant': 'true' } },
    });
  }
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'no-tenant', uid: 'cccccccc-0000-4000-8000-000000000003' },
  });
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: ORGANIZATION.namespace, uid: ORGANIZATION.id },
  });
  const records = makeStore<AppDeployment>(kube, APP_DEPLOYMENTS);
  const revisions = makeStore<AppRevision>(kube, APP_REVISIONS);
  const tenants = makeStore<KubeObject>(kube, NAMESPACES);
  const listeners = makeStore<Listener>(kube, LISTENERS);
  const templates = makeStore<AppTemplate>(kube, APP_TEMPLATES);
  const providers = makeStore<OAuthProvider>(kube, OAUTH_PROVIDERS);
  const integrations = makeStore<CodeHostIntegration>(kube, CODE_HOST_INTEGRATIONS);
  const accounts: Account[] = [];
  tenants.fill();
  const lines: string[] = [];
  const sink = new PassThrough();
  sink.on('data', (line: Buffer) => lines.push(line.toString()));
  const waits: number[] = [];
  let suffixes = 0;
  const log = pino({ level: 'debug', base: null }, sink);
  const now = (): Date => new Date(clock.ms);
  let ids = 0;
  const randomId = (): string => (ids++).toString(16).padStart(32, '0');
  const whole = { ...defaultSettings(), ...settings };
  const registry = withRegistry
    ? makePlatformRegistry({
        kube,
        builds: whole.builds,
        proxies: whole.proxy,
        namespace: 'davit-system',
        now,
        randomId,
        log,
      })
    : undefined;
  const caches = { records, revisions, templates, tenants, listeners, providers, integrations };
  const app = await buildApp({
    kube,
    registry,
    oauth: makeOAuth({ kube, settings: whole, caches, namespace: 'davit-system', now, log }),
    page,
    randomId,
    caches,
    codeHosts: {
      repositories(account) {
        accounts.push(account);
        return facade.repositories(account);
      },
    },
    gate: makeFairLimiter({ most: WRITES_AT_ONCE }),
    remember(object) {
      if (object.kind === OAUTH_PROVIDERS.kind) providers.put(object as OAuthProvider);
      else if (object.kind === LISTENERS.kind) listeners.put(object as Listener);
      else records.put(object as AppDeployment);
    },
    forget(uid) {
      records.drop(uid);
      providers.drop(uid);
      listeners.drop(uid);
    },
    settings: whole,
    ...limits,
    log,
    onAnswer: (answer) => void answers.push(answer),
    now,
    randomSuffix: () => `r4nd0m${suffixes++ || ''}`,
    sleep: async (ms) => {
      waits.push(ms);
      clock.ms += ms;
    },
  });
  const facade: Facade = {
    app,
    registry,
    kube,
    records,
    revisions,
    tenants,
    templates,
    listeners,
    providers,
    integrations,
    accounts,
    settings: whole,
    repositories: () => Promise.resolve([]),
    clock,
    waits,
    log: () => lines.join(''),
    answers,
    writes: () => kube.writes.filter(({ kind }) => !kind.endsWith('Review')),
    kept: () => kube.writes.filter(({ kind, dryRun }) => !kind.endsWith('Review') && dryRun !== true),
    async call(method, url, body, headers = {}) {
      const answer = await app.inject({
        method,
        url,
        headers: {
          'x-api-key': TOKEN,
          'x-tenant-id': TENANT.id,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && {
          payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
        }),
      });
      return {
        status: answer.statusCode,
        body: answer.body === '' ? undefined : (JSON.parse(answer.body) as unknown),
        headers: answer.headers,
      };
    },
    snapshot(status, snapshotSettings = defaultSettings()) {
      const [record] = kube.objects<AppDeployment>(APP_DEPLOYMENTS);
      const wanted = record && wantedRevision(record, revisions.list(), snapshotSettings);
      if (wanted === undefined || !('create' in wanted)) throw new Error('nothing to make a revision of');
      const { name, namespace = '' } = record?.metadata ?? { name: '' };
      const made = kube.seed<AppRevision>(APP_REVISIONS, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppRevision',
        metadata: { name: names(name).revision(wanted.create.id), namespace, labels: { [DEPLOYMENT_LABEL]: name } },
        spec: wanted.create,
        ...(status && { status }),
      });
      revisions.put(made);
      return made;
    },
    seed(record) {
      const { metadata, spec, status } = record;
      const stored = kube.seed<AppDeployment>(APP_DEPLOYMENTS, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { namespace: TENANT.namespace, ...metadata },
        spec: {
          source: 'external_docker',
          sourceConfig: {},
          sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
          secrets: [],
          revisionSerial: 1,
          tracingProjectDeletionPolicy: 'Retain',
          ...spec,
        },
        ...(status && { status }),
      });
      records.put(stored);
      return stored;
    },
  };
  return facade;
}

/** Makes an integration that the tenant may use, of the code host whose repositories are at https://host.example/. */
export function anIntegration(
  { kube, integrations }: Facade,
  uid: string,
  spec: Partial<CodeHostIntegration['spec']> = {},
): void {
  kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: `git-${uid.slice(0, 8)}`, namespace: ORGANIZATION.namespace, uid },
    spec: {
      kind: 'gitea',
      apiUrl: 'https://host.example/api/v1',
      credentialsRef: { name: 'git' },
      tenants: [TENANT.namespace],
      ...spec,
    },
  });
  integrations.fill();
}

interface FacadeOptions {
  /** Whether what the settings name is a registry that there is. */
  readonly withRegistry?: boolean;
  readonly page?: PageFiles;
}

/** The smallest body that POST takes. */
export function aBody(more: object = {}): Record<string, unknown> {
  return {
    name: 'shop',
    source: 'external_docker',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example/app:1' },
    secrets: [],
    ...more,
  };
}
