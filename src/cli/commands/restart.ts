// Replaces the pods of a deployment by pods of the same content, each when its successor is ready.

import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, tell, withFlags } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { needDeployment } from './build-log.ts';
import { newRevision, type Warned } from './deployment-change.ts';

export const restartCommand: Command = {
  name: 'restart',
  purpose: 'replace its pods without changing it; the old pods serve until the new ones are ready',
  words: [DEPLOYMENT],
  flags: [OUTPUT, ...API_FLAGS],
  about: `An image or an upload is deployed again as a new revision with the same values, so that a tag that was pushed again is
pulled and a migration runs again. For a repository, a new revision would build the newest commit. Instead,
the running image stays, and its Deployments are restarted as by kubectl rollout restart, which needs ClusterRole edit.
PostgreSQL and Redis are not restarted.`,
  changes: {
    nothing: 'Nothing was restarted.',
    sent: ([name = '']) => `The restart continues. To follow it: ${PROGRAM} wait ${name}`,
  },
  async run(context) {
    const [name = ''] = context.words;
    const api = await context.api();
    const before = await needDeployment(api, name);
    const after = await api.call<Warned>('POST', `/v2/deployments/${before.id}/restart?secrets=names`, {});
    for (const { msg } of after.warnings ?? []) context.warn(withFlags(msg, context.suggested));
    const revision = await newRevision(api, before, after);
    const how = revision === null ? 'with the running image' : `as ${revision}`;
    const follow = `To follow it: ${PROGRAM} ${revision === null ? 'status' : 'wait'} ${name}`;
    tell(context, {
      says: `${name} is being restarted ${how}; each pod is replaced when its successor is ready. ${follow}`,
      result: { name, revision },
    });
    return 0;
  },
};
