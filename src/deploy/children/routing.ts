// The address of a record: an Ingress, or an HTTPRoute of the platform's Gateway. It belongs to no revision.

import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { SERVICE_PORT } from '../../kinds/meta.ts';
import type { AddressSettings } from '../../kinds/settings.ts';
import type { KubeObject, Manifest, ObjectMeta } from '../../runtime/kube/client.ts';
import { names } from '../record/names.ts';
import { ownedMeta } from './owner.ts';

export type Ingress = Manifest<IIngress>;

/** The used part of gateway.networking.k8s.io/v1. */
export interface HttpRoute extends KubeObject {
  readonly spec: {
    readonly parentRefs: readonly {
      readonly name: string;
      readonly namespace: string;
      readonly sectionName?: string;
    }[];
    readonly hostnames: readonly string[];
    readonly rules: readonly { readonly backendRefs: readonly { readonly name: string; readonly port: number }[] }[];
  };
}

/** Undefined if the platform provides no addresses. */
export function makeAddress(
  record: AppDeployment,
  host: string,
  address: AddressSettings,
): Ingress | HttpRoute | undefined {
  if (address.kind === 'ingress') return makeIngress(record, host, address);
  if (address.kind === 'gateway') return makeRoute(record, host, address);
  return undefined;
}

function makeIngress(record: AppDeployment, host: string, address: AddressSettings): Ingress {
  const { ingressClassName } = address;
  const tls = tlsOf(record, host, address);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metaOf(record, address),
    spec: {
      ...(ingressClassName !== undefined && { ingressClassName }),
      rules: [
        {
          host,
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: {
                  service: { name: names(record.metadata.name).service, port: { number: SERVICE_PORT } },
                },
              },
            ],
          },
        },
      ],
      ...(tls && { tls }),
    },
  };
}

function tlsOf(
  { metadata }: AppDeployment,
  host: string,
  { tls, tlsSecretName }: AddressSettings,
): NonNullable<NonNullable<IIngress['spec']>['tls']> | undefined {
  if (tls === 'off') return undefined;
  const secretName = tls === 'issued' ? names(metadata.name).certificate : tlsSecretName;
  return [{ hosts: [host], ...(tls !== 'default' && secretName !== undefined && { secretName }) }];
}

/** The Gateway's listener configures TLS. */
function makeRoute(record: AppDeployment, host: string, address: AddressSettings): HttpRoute | undefined {
  if (address.gateway === undefined) return undefined;
  const { name, namespace, sectionName } = address.gateway;
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: metaOf(record, address),
    spec: {
      parentRefs: [{ name, namespace, ...(sectionName !== undefined && { sectionName }) }],
      hostnames: [host],
      rules: [{ backendRefs: [{ name: names(record.metadata.name).service, port: SERVICE_PORT }] }],
    },
  };
}

function metaOf(record: AppDeployment, { annotations }: AddressSettings): ObjectMeta {
  const meta = ownedMeta(record, names(record.metadata.name).address);
  return Object.keys(annotations).length > 0 ? { ...meta, annotations } : meta;
}
