// ListenerLog: a request for log lines of a deployment that a listener's cluster runs, and the answer. It is in the hub's namespace
// of the Listener. The HTTP API creates it, and deletes it when it has read the answer; the listener's agent writes status.

import { z } from 'zod';
import { type OwnObject, ownKind } from './meta.ts';
import { passthrough, text, Uuid } from './primitives.ts';

/** Maximum length of an answer. An object of the API server has at most 1.5 MiB. */
export const LONGEST_LOG_PAGE = 1_200_000;

export const ListenerLogSpec = z.object({
  clusterId: text(64).describe(
    'uid of the namespace kube-system of the cluster that runs the deployment. No other cluster answers.',
  ),
  deployment: Uuid.describe('Id of the deployment.'),
  revision: Uuid.describe('Only pods of this revision.').optional(),
  query: passthrough('Body of the request to the HTTP API, which the agent validates.'),
});

export const ListenerLogStatus = z.object({
  page: text(LONGEST_LOG_PAGE).describe('Answer of the HTTP API, as JSON.').optional(),
  error: text(4096).describe('Why there is no answer, as text for people.').optional(),
});

export type ListenerLog = OwnObject<'ListenerLog', z.infer<typeof ListenerLogSpec>, z.infer<typeof ListenerLogStatus>>;

export const LISTENER_LOGS = ownKind('ListenerLog');
