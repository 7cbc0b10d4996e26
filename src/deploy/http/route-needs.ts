// What the routes of /v2/deployments share.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Tenant } from '../../api/authorization.ts';
import type { FacadeContext } from '../../api/collection.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { Deployment, ShownSecrets } from './payloads.ts';
import type { Deployments } from './repository.ts';
import type { Changed } from './update.ts';

export interface DeploymentNeeds extends Pick<FacadeContext, 'auth' | 'settings' | 'now' | 'caches'> {
  readonly deployments: Deployments;
}

export interface RouteNeeds extends DeploymentNeeds {
  readonly present: (record: AppDeployment, tenant: Tenant, values?: ReadonlyMap<string, string>) => Deployment;
  /** Presents a changed deployment to its caller, with its ETag and warnings. */
  readonly presentChanged: (
    request: FastifyRequest<{ Querystring: ShownSecrets }>,
    reply: FastifyReply,
    changed: Changed,
  ) => Promise<Deployment>;
}
