// What a person reads where a deployment, its namespace, Davit or the whole cluster is not there.

import { TENANT_LABEL } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { mostSimilar } from '../../runtime/similar.ts';
import { unusableSentence } from '../transport/http-api.ts';
import { Failure, ignoreFailure, type Kubectl } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';
import { API_FLAGS, type Command, type Context } from './command.ts';
import { PROGRAM } from './program.ts';

type Asking = Pick<Context, 'kubectl' | 'flags'>;

const NOT_FOUND = new RegExp(`Error from server \\(NotFound\\): ${RECORDS.replaceAll('.', '\\.')} "([^"]+)" not found`);

/** The message for a user who may not read deployments. A refused change reports no more than kubectl does. */
const MAY_NOT_READ = new RegExp(
  `Error from server \\(Forbidden\\): ${RECORDS.replaceAll('.', '\\.')}\\b.{0,300} cannot (?:get|list) resource "[^"]{1,99}" in API group "[^"]{1,99}" in the namespace "([^"]{1,99})".*`,
);

/** kubectl is missing, or it has no kubeconfig and takes its default address. */
const NO_CLUSTER = /kubectl could not be started: |(?:localhost|127\.0\.0\.1|\[::1\]):8080/;

const NO_DAVIT = /error: the server doesn't have a resource type "(?:app\w+|listeners)"/;

/** The message of a failure, in which kubectl's words for what is not there, or may not be read, are those of a person. */
export async function explained(
  message: string,
  command: Pick<Command, 'name' | 'flags'>,
  asking: Asking & Pick<Context, 'server'>,
): Promise<string> {
  if (NO_CLUSTER.test(message)) return needsCluster(command, asking.server);
  if (NO_DAVIT.test(message))
    return 'Davit is not installed in this cluster. If another cluster has Davit, select that cluster with --context or --kubeconfig.';
  const [words, name] = NOT_FOUND.exec(message) ?? [];
  if (words === undefined || name === undefined)
    return message.replace(MAY_NOT_READ, (_words, namespace: string) => unusableSentence(namespace));
  return message.replace(words, await absence(asking, name));
}

/** `server`: the address that was given, which did not suffice. */
function needsCluster({ name, flags }: Pick<Command, 'name' | 'flags'>, server: string | undefined): string {
  const needs = `${name} needs kubectl and a kubeconfig`;
  return server === undefined && API_FLAGS.some((flag) => flags.includes(flag))
    ? `${needs}, or the address of Davit's HTTP API and a token. Name the kubeconfig with --kubeconfig or KUBECONFIG, or the address with --server or DAVIT_SERVER and the token with --token or DAVIT_TOKEN.`
    : `${needs}: Davit's HTTP API cannot do this. Name the kubeconfig with --kubeconfig or KUBECONFIG.`;
}

async function absence({ kubectl, flags }: Asking, name: string): Promise<string> {
  const namespace = await namespaceOf(kubectl, flags.text('namespace'));
  const trouble = namespace === undefined ? undefined : await namespaceTrouble(kubectl, namespace);
  if (trouble !== undefined) return trouble;
  const names = (await kubectl(['get', RECORDS, '-o', 'name']).catch(ignoreFailure)) ?? '';
  return noDeployment(
    name,
    namespace,
    names.split(/\s+/).flatMap((one) => one.split('/').slice(1)),
  );
}

/** There is no deployment of the name that was given. */
export class NoDeployment extends Failure {}

/** `others`: the names of those that there are, as far as they are known. */
export function noDeployment(name: string, namespace: string | undefined, others: readonly string[]): string {
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const similar = mostSimilar(name, others);
  return `There is no deployment ${name}${where}.${similar === undefined ? '' : ` Did you mean ${similar}?`} To list all: ${PROGRAM} status`;
}

/** Undefined for a tenant, and where the caller may not look. */
async function namespaceTrouble(kubectl: Kubectl, namespace: string): Promise<string | undefined> {
  const text = await kubectl(['get', 'namespace', namespace, '--ignore-not-found', '-o', 'json']).catch(ignoreFailure);
  if (text === undefined) return undefined;
  if (text.trim() === '') return `There is no namespace ${namespace}. Name another one with --namespace.`;
  const { metadata } = JSON.parse(text) as KubeObject;
  if (metadata.labels?.[TENANT_LABEL] === 'true') return undefined;
  return `Namespace ${namespace} is not a tenant, so Davit runs nothing in it. A cluster administrator can make it one: kubectl label namespace ${namespace} ${TENANT_LABEL}=true`;
}

interface Contexts {
  readonly contexts?: readonly { readonly context?: { readonly namespace?: string } }[] | null;
}

/** That of --namespace or of the kubeconfig's context. Undefined where there is no kubeconfig, as in a pod. */
export async function namespaceOf(kubectl: Kubectl, given: string | undefined): Promise<string | undefined> {
  if (given !== undefined) return given;
  const text = await kubectl(['config', 'view', '--minify', '-o', 'json']).catch(ignoreFailure);
  const [chosen] = (text === undefined ? undefined : (JSON.parse(text) as Contexts).contexts) ?? [];
  return chosen === undefined ? undefined : (chosen.context?.namespace ?? 'default');
}
