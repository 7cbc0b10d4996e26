// The credential of a pod: a projected token of its service account for the audience `davit`. The API server does not accept it as a
// caller's, so it is reviewed with the facade's own account. It says which pod sent it, and with that which deployment asks.

import { API_TOKEN_AUDIENCE, DEPLOYMENT_UID_LABEL } from '../kinds/meta.ts';
import type { Store } from '../runtime/controller/store.ts';
import { NotFound, Unauthorized } from '../runtime/errors.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { PODS, TOKEN_REVIEWS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../runtime/kube/client.ts';
import { synced } from './caches.ts';
import { type Credentials, claimsIn, namespaceOfToken } from './credentials.ts';
import { asOurs, throwAsOurs } from './organization-secrets.ts';

/** An account as a TokenReview describes it and a SubjectAccessReview takes it. */
export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface PodUser {
  /** The pod's service account. */
  readonly account: UserInfo & { readonly username: string };
  readonly namespace: string;
  /** The record whose pod it is. */
  readonly deployment: { readonly name: string; readonly uid: string };
}

interface TokenReview extends KubeObject {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: UserInfo;
    readonly audiences?: readonly string[];
  };
}

const POD_NAME = 'authentication.kubernetes.io/pod-name';
const POD_UID = 'authentication.kubernetes.io/pod-uid';
const ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/;

/**
 * Whether a token says that it is a service account's, for Davit alone. The audience alone says less: people who sign in may have
 * tokens of another issuer for a client named `davit`. Nothing is verified: this only selects who reviews the token.
 */
export function isForDavit(token: string): boolean {
  const { aud } = claimsIn(token);
  const isOnly =
    aud === API_TOKEN_AUDIENCE || (Array.isArray(aud) && aud.length === 1 && aud[0] === API_TOKEN_AUDIENCE);
  return isOnly && namespaceOfToken(token) !== undefined;
}

/** Throws Unauthorized for a token that is not valid, and HttpError 403 for a valid one of no pod of a deployment. */
export function makePodReview(kube: KubeClient, records: Store): (sender: Credentials) => Promise<PodUser> {
  /** Uid of the record that the pod's labels name. Their values are Davit's: records and tenants' editors cannot set them. */
  async function deploymentOf(namespace: string, name: string, uid: string): Promise<string | undefined> {
    try {
      const { metadata } = await kube.get<KubeObject>(PODS, { namespace, name }, { metadataOnly: true });
      if (metadata.uid !== uid) throw new Unauthorized('review the token of a pod: another pod has its name');
      return metadata.labels?.[DEPLOYMENT_UID_LABEL];
    } catch (error) {
      if (error instanceof NotFound) throw new Unauthorized('review the token of a pod: the pod no longer exists');
      throw error instanceof Unauthorized ? error : asOurs(error);
    }
  }

  return async ({ token }) => {
    const { status } = await reviewed(kube, token);
    const { username = '', extra, ...others } = status?.user ?? {};
    const namespace = ACCOUNT.exec(username)?.[1];
    if (status?.authenticated !== true || status.audiences?.includes(API_TOKEN_AUDIENCE) !== true || !namespace)
      throw new Unauthorized('review the token of a pod: it is not valid');
    const [pod, podUid] = [extra?.[POD_NAME]?.[0], extra?.[POD_UID]?.[0]];
    if (pod === undefined || podUid === undefined) throw ofNoDeployment('It is not bound to a pod');
    const uid = await deploymentOf(namespace, pod, podUid);
    const record = uid === undefined ? undefined : synced(records, 'deployments').byUid(uid);
    if (uid === undefined || record?.metadata.namespace !== namespace)
      throw ofNoDeployment(`Pod ${pod} does not belong to an existing deployment`);
    const account = { username, ...others, ...(extra && { extra }) };
    return { account, namespace, deployment: { name: record.metadata.name, uid } };
  };
}

function reviewed(kube: KubeClient, token: string): Promise<TokenReview> {
  const review = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: { name: '' },
    spec: { token, audiences: [API_TOKEN_AUDIENCE] },
  };
  return kube.create<TokenReview>(TOKEN_REVIEWS, review).catch(throwAsOurs);
}

function ofNoDeployment(why: string): HttpError {
  return new HttpError(
    403,
    `This token is for pods of deployments that have runtime.api_token. ${why}. Elsewhere, send a Kubernetes token of another audience.`,
  );
}

/** A pod's token gets people's tokens and nothing else: nothing can be sent to the API server with it. */
export function onlyForTokens(): HttpError {
  return new HttpError(
    403,
    "The token of a pod (audience davit) is only for people's tokens, /v2/auth. Send a Kubernetes token of the API server's own audience.",
  );
}
