// Does the record keep the platform's rules? The same as admission says of a new record: a setting may be newer than the record.

import type { AppDeploymentSpec, SourceConfig } from '../../kinds/app-deployment.ts';
import { ONE_POD_MESSAGE } from '../../kinds/database.ts';
import { EXTERNAL_VARIABLES, STORE_FIELDS, TENANT_LABEL } from '../../kinds/meta.ts';
import { type PodPolicy, podPolicyBreaches } from '../../kinds/pod-policy.ts';
import { type ReachRules, reachBreaches } from '../../kinds/pod-reach.ts';
import { foreignImageMessage, foreignImages } from '../../kinds/registry-images.ts';
import { doesWithout, type Runtime } from '../../kinds/runtime.ts';
import type { Settings } from '../../kinds/settings.ts';
import { isSourceTaken, SOURCE_RULES, uses } from '../../kinds/source-rules.ts';
import type { SpecBreach } from '../../kinds/spec-rules.ts';
import { listed } from '../../kinds/text.ts';
import { ownValue } from '../../runtime/json-value.ts';
import { apiTokenProblem } from '../record/api-access.ts';
import { buildsAnew, type CodeHostProblem, codeHostProblem } from '../record/code-host.ts';
import { driverOfRevisions } from '../record/database-driver.ts';
import { limitViolations, missingExternal, placementBreaches } from '../record/limits.ts';
import { type ListenerProblem, listenerProblem, runsHere } from '../record/listener-assignment.ts';
import { ownImageProblem } from '../record/own-image.ts';
import { tenantRepositories } from '../record/registry-names.ts';
import { SCALE_FIELDS } from '../record/requested-scale.ts';
import { type NamesSecrets, namesExternalPostgres, referencesOf } from '../record/secret-references.ts';
import { notOffered, type Offered, templateFields } from '../record/template-catalogue.ts';
import { wantedRevisionId } from '../record/wanted-revision.ts';
import { driverThere } from './database-cluster.ts';
import { checkDriver, checkDriverInUse } from './database-move.ts';
import { type Entry, firstOf, pass, stalled } from './entry.ts';
import type { Observed } from './observed.ts';

interface Seen {
  readonly observed: Observed;
  readonly settings: Settings;
  /** The record asks for a revision that is not made: a setting that was narrowed leaves alone what runs. */
  readonly isNew: boolean;
}

const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  notATenant,
  sourceNotAllowed,
  templateNotFound,
  imageNotAllowed,
  listenerNotFound,
  integrationNotFound,
  databaseUnknown,
  ownDatabaseForbidden,
  checkDriver,
  instancesIgnored,
  apiTokenNotOffered,
  limitExceeded,
  placementNotAllowed,
  podPolicyViolated,
  foreignImageNamed,
  // Holds nothing up, so whatever does comes before.
  checkDriverInUse,
];

export function checkPolicy(observed: Observed, settings: Settings): Entry {
  const isNew = !wantedRevisionId(observed.record, observed.revisions)?.made;
  return (
    firstOf(CHECKS, { observed, settings, isNew }) ?? pass('Accepted', "The record complies with the platform's rules.")
  );
}

/** The first rule that a record breaks whose revision is made. */
export function checkDeployed(observed: Observed, settings: Settings): Entry | undefined {
  const rules = CHECKS.filter((check) => check !== checkDriver);
  return firstOf(rules, { observed, settings, isNew: false });
}

function notATenant({ observed: { tenantId, record } }: Seen): Entry | undefined {
  if (tenantId !== undefined) return undefined;
  const { namespace } = record.metadata;
  return stalled(
    'NotATenant',
    `Namespace ${namespace} is not a tenant, so Davit changes and starts nothing in it. To make it one: kubectl label namespace ${namespace} ${TENANT_LABEL}=true.`,
  );
}

function sourceNotAllowed({ observed: { record }, settings }: Seen): Entry | undefined {
  const { source } = record.spec;
  const { hosting } = SOURCE_RULES[source];
  if (isSourceTaken(source, settings.hosting, !runsHere(record))) return undefined;
  return stalled(
    'SourceNotAllowed',
    `Source ${source} is for hosting mode ${hosting}, but this platform's mode is ${settings.hosting}. Use another source.`,
  );
}

function templateNotFound({ observed, settings }: Seen): Entry | undefined {
  const missing = notInCatalogue(observed);
  if (missing.length === 0) return undefined;
  return stalled(
    'TemplateNotFound',
    `No template offers ${listed(missing)}. To list the templates: kubectl get apptemplates -n ${settings.organizationNamespace}. Choose one of them, or ask the platform team to add yours; the deployment then continues automatically.`,
  );
}

/** What a revision was already made of stays: such an image is older than the rule. */
function imageNotAllowed({ observed: { record, tenantId = '', revisions }, settings, isNew }: Seen): Entry | undefined {
  const { name, namespace = '' } = record.metadata;
  const { imageUri } = record.spec.sourceRevisionConfig;
  const isMade = revisions.some(({ spec }) => spec.requested.sourceRevisionConfig.imageUri === imageUri);
  if (!isNew || isMade) return undefined;
  const problem = ownImageProblem(record.spec, name, { namespace, tenantId }, settings.builds.registry);
  return problem === undefined
    ? undefined
    : stalled('ImageNotAllowed', `imageUri ${imageUri} ${problem}. Push it there with a token from POST …/push-token.`);
}

function listenerNotFound({ observed: { record, listeners } }: Seen): Entry | undefined {
  const problem = listenerProblem(record.spec.sourceConfig, listeners);
  return problem && stalled('ListenerNotFound', listenerMessage(record, problem));
}

function integrationNotFound({ observed, settings }: Seen): Entry | undefined {
  const problem = codeHostProblemOf(observed);
  return (
    problem &&
    stalled('IntegrationNotFound', integrationMessage(observed.record, problem, settings.organizationNamespace))
  );
}

function ownDatabaseForbidden({ observed: { record }, settings }: Seen): Entry | undefined {
  if (settings.database.own) return undefined;
  const names = referencesOf(record.spec).map(({ name }) => name);
  const missing = missingExternal(names, record.spec.sourceConfig.runtime);
  if (missing.length === 0) return undefined;
  return stalled(
    'OwnDatabaseForbidden',
    `This platform provides no databases: set ${listed(missing.map((part) => EXTERNAL_VARIABLES[part]))}, or set ${listed(missing.map((part) => STORE_FIELDS[part]))} of runtime to none.`,
  );
}

/** The newest revision needs its own PostgreSQL and has none that this version knows: its pods would start without their database. */
function databaseUnknown({ observed: { record, revisions, names } }: Seen): Entry | undefined {
  const [newest] = revisions;
  if (newest === undefined || newest.spec.resolved.postgres !== undefined || !runsHere(record)) return undefined;
  const { requested } = newest.spec;
  if (!usesOwn(requested, requested.runtime) || !usesOwn(record.spec, record.spec.sourceConfig.runtime))
    return undefined;
  return stalled(
    'DatabaseDriverUnknown',
    `The database was created with a driver that this version of Davit does not have, so Davit does not change the deployment. To keep using that database as an external one, copy key uri of Secret ${names.postgresSecret} into a Secret of your own. Then name that Secret as ${EXTERNAL_VARIABLES.postgres} in secret_references and remove source_config.database.driver, in one change.`,
  );
}

function usesOwn(spec: NamesSecrets, runtime: Runtime | undefined): boolean {
  return !namesExternalPostgres(spec) && !doesWithout('postgres', runtime);
}

function instancesIgnored({ observed, settings, isNew }: Seen): Entry | undefined {
  const { driver, instances = 1 } = observed.record.spec.sourceConfig.database ?? {};
  const inForce = driver ?? driverThere(observed) ?? driverOfRevisions(observed.revisions) ?? settings.database.driver;
  if (!isNew || instances === 1 || inForce === 'cloudnative-pg') return undefined;
  return stalled('InstancesNotOffered', `database.instances: ${ONE_POD_MESSAGE}.`);
}

function apiTokenNotOffered({ observed: { record }, settings, isNew }: Seen): Entry | undefined {
  const isAsked = isNew && record.spec.sourceConfig.runtime?.apiToken === true;
  const problem = isAsked ? apiTokenProblem(!runsHere(record), settings) : undefined;
  return problem === undefined ? undefined : stalled('ApiTokenNotOffered', `runtime.api_token: ${problem}.`);
}

function limitExceeded({ observed: { record }, settings, isNew }: Seen): Entry | undefined {
  const { sourceConfig } = record.spec;
  const excesses = limitViolations(sourceConfig, settings.limits, isNew ? {} : inForce(record, sourceConfig));
  const own = excesses.filter(({ worker }) => worker === undefined);
  const [where, these] = own.length > 0 ? ['resource_spec', own] : ['runtime.workers', excesses];
  if (these.length === 0) return undefined;
  const words = these.map(
    ({ worker, field, of, most }) =>
      `${worker === undefined ? '' : `${worker}: `}${field}${of === undefined ? '' : `: ${of}`} at most ${most}`,
  );
  return stalled('LimitExceeded', `${where} exceeds the limits of this platform: ${listed(words)}.`);
}

function placementNotAllowed({ observed: { record }, settings, isNew }: Seen): Entry | undefined {
  const breaches = isNew ? Array.from(placementBreaches(record.spec.sourceConfig, settings), sentence) : [];
  return breaches.length === 0 ? undefined : stalled('PlacementNotAllowed', `${listed(breaches, '; ')}.`);
}

/** What a record asks for whose revision is made: its own, but the scale, which may have changed since, as it was reported last. */
export function inForce({ status }: Observed['record'], asked: SourceConfig): SourceConfig {
  const numbers = Object.entries(asked.resourceSpec ?? {}).map(([field, value]) => [
    field,
    SCALE_FIELDS.includes(field) ? status?.resourceSpec?.[field] : (value as unknown),
  ]);
  const workers = Object.entries(asked.runtime?.workers ?? {}).map(([name, worker]) => {
    const { minScale, maxScale } = ownValue(status?.workers ?? {}, name) ?? {};
    return [name, { ...worker, minScale, maxScale }] as const;
  });
  const runtime = { ...asked.runtime, workers: Object.fromEntries(workers) };
  return { ...asked, resourceSpec: Object.fromEntries(numbers), runtime };
}

function podPolicyViolated({ observed: { record }, settings, isNew }: Seen): Entry | undefined {
  const reaches = isNew ? reachesOf(record.spec, settings.pods) : [];
  const breaches = [...breachesOf(record.spec, settings.pods.policy), ...reaches];
  if (breaches.length === 0) return undefined;
  return stalled(
    'PodPolicyViolated',
    `resource_spec violates the pod policy: ${listed(breaches, '; ')}. Remove these fields.`,
  );
}

function foreignImageNamed({ observed: { record, tenantId }, settings, isNew }: Seen): Entry | undefined {
  const { registry } = settings.builds;
  if (!isNew || registry === undefined || tenantId === undefined) return undefined;
  const own = tenantRepositories(registry, { namespace: record.metadata.namespace ?? '', tenantId });
  const foreign = Array.from(
    foreignImages(record.spec, registry, own),
    ({ at, image }) =>
      `${at.at(0) === 'sourceRevisionConfig' ? 'image_uri' : at.slice(2).join('.')}: ${foreignImageMessage(image, registry, own)}`,
  );
  return foreign.length === 0 ? undefined : stalled('ImageNotAllowed', `${listed(foreign, '; ')}.`);
}

function listenerMessage({ metadata, spec }: Observed['record'], problem: ListenerProblem): string {
  const { listenerId, listenerConfig } = spec.sourceConfig;
  if (problem.is === 'unknown')
    return `${listenerId} is not a Listener in namespace ${metadata.namespace}. kubectl get listeners -n ${metadata.namespace} -o wide lists them.`;
  return `The listener does not list namespace ${listenerConfig?.k8sNamespace}. It lists ${listed(problem.listed) || 'none'}.`;
}

/** What a revision was already made of stays, though the integration has left or lists the tenant no longer. */
function codeHostProblemOf({ record, revisions, integrations }: Observed): CodeHostProblem | undefined {
  const { spec, metadata } = record;
  const isMade = revisions.some(
    (made) => !buildsAnew(made.spec.requested.sourceRevisionConfig, spec.sourceRevisionConfig),
  );
  return isMade ? undefined : codeHostProblem(spec, metadata.namespace ?? '', integrations);
}

function integrationMessage(
  { metadata, spec }: Observed['record'],
  problem: CodeHostProblem,
  organizationNamespace: string,
): string {
  const { integrationId, repoUrl } = spec.sourceConfig;
  if (problem.is === 'unknown')
    return `Code host integration ${integrationId} does not exist or does not list namespace ${metadata.namespace}. kubectl get codehostintegrations -n ${organizationNamespace} lists them.`;
  return `${repoUrl} is not a repository on the integration's host, ${problem.host}. Create another deployment with a repository on that host.`;
}

/**
 * What the record asks for and no template offers, such as `imageUri templates/chat:2`. A template that has left the
 * catalogue takes nothing away from what was made of it.
 */
function notInCatalogue({ record, revisions, templates }: Observed): string[] {
  if (!uses(record.spec.source, 'catalogue')) return [];
  const wanted = templateFields(record.spec);
  const taken = (field: keyof Offered): boolean =>
    revisions.some(({ spec }) => field === 'repoUrl' || spec.requested.sourceRevisionConfig[field] === wanted[field]);
  return notOffered(wanted, templates)
    .filter((field) => !taken(field))
    .map((field) => `${field} ${wanted[field]}`);
}

/** Every breach, as sentences for people; empty where there is none. */
export function breachesOf(spec: Readonly<AppDeploymentSpec>, policy: PodPolicy): string[] {
  return Array.from(podPolicyBreaches(spec.sourceConfig.resourceSpec ?? {}, policy), sentence);
}

/** Everything that reaches beyond the pods and is not let through. */
function reachesOf(spec: Readonly<AppDeploymentSpec>, rules: ReachRules): string[] {
  return Array.from(reachBreaches(spec.sourceConfig.resourceSpec ?? {}, rules), sentence);
}

function sentence({ at, message }: SpecBreach): string {
  return `${at.join('.')}: ${message}`;
}
