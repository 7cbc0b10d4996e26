// What people do on a hub to a deployment that a listener's cluster runs, phase by phase.

import { pause } from '../../cluster/api-client.ts';
import type { ListenerWorkload } from './listener-plans.ts';
import {
  aRecord,
  copies,
  davitIn,
  enrol,
  has,
  type ListenerActs,
  type ListenerStage,
  listenerNow,
  makeListenerActs,
  record,
  works,
} from './listener-workloads/acts.ts';
import { IMAGES, RECORD } from './workloads/stage.ts';

/** API servers remember that a token is good. */
export const TOKEN_REMEMBERED_MS = 15_000;

/** Their record is Ready before. */
const READY: Readonly<Record<Exclude<ListenerWorkload, 'listener-taken'>, (acts: ListenerActs) => Promise<void>>> = {
  'listener-life': life,
  'listener-cut': cut,
  'listener-away': away,
  'listener-clone': clone,
  'listener-revoked': revoked,
  'listener-restored': restored,
};

export async function performListener(workload: ListenerWorkload, stage: ListenerStage): Promise<void> {
  const acts = makeListenerActs(stage, await enrol(stage));
  if (workload === 'listener-taken') return taken(acts);
  stage.enter('create');
  await acts.post();
  await acts.untilReady('create');
  await stage.ended('create');
  await READY[workload](acts);
}

async function taken(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  await stage.remote.call('POST', `${davitIn(stage.place)}/appdeployments`, {
    ...aRecord(RECORD),
    metadata: { name: RECORD, annotations: { 'davit.dev/paused': 'true', 'test/foreign': 'true' } },
  });
  stage.enter('create');
  await acts.post();
  await stage.until('create: NameConflict', () => has(record(stage), 'Stalled', 'True', 'NameConflict'));
}

async function life(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  stage.enter('change');
  await acts.change({ ...toImage(IMAGES[1]), secrets: [{ name: 'KEY', secretName: 'values-2', secretKey: 'key' }] });
  await acts.untilReady('change');
  await stage.ended('change');
  stage.enter('delete');
  await acts.remove();
  await stage.until('delete: gone on both sides', () => record(stage) === undefined && copies(stage).length === 0);
  await stage.until('delete: its work is gone', () => works(stage).length === 0);
  await stage.ended('delete');
  stage.enter('remade');
  await acts.post(IMAGES[1]);
  await acts.untilReady('remade');
  await stage.ended('remade');
}

async function cut(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  stage.enter('cut');
  const mend = stage.cut();
  await acts.change(toImage(IMAGES[1]));
  await stage.until('cut: UNKNOWN', () => record(stage)?.status?.state === 'UNKNOWN');
  await stage.until('cut: ListenerSilent', () => has(record(stage), 'Ready', 'Unknown', 'ListenerSilent'));
  // Longer than the deadline, so that what is said after it counts.
  await pause(6000);
  mend();
  await acts.untilReady('healed');
  await stage.ended('healed');
}

async function away(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  await stage.leave();
  stage.enter('away');
  const { uid = '' } = acts.asked()?.metadata ?? {};
  await acts.remove();
  await stage.until('away: AWAITING_DELETE', () => record(stage)?.status?.state === 'AWAITING_DELETE');
  await pause(1000);
  stage.abandoned(uid);
  await acts.annotate({ 'davit.dev/abandon-remote': uid });
  await stage.until('away: the name is free', () => record(stage) === undefined);
  await acts.post(IMAGES[1]);
  await pause(1000);
  await stage.comeBack();
  await acts.untilReady('away');
  await stage.until('away: the tombstone is gone', () => works(stage).length === 1);
  await stage.ended('away');
}

async function clone(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  stage.enter('clone');
  const end = await stage.clone(acts.listener);
  await stage.until('clone: reported', () => has(listenerNow(stage), 'Connected', 'False', 'AnotherCluster'));
  await acts.change(toImage(IMAGES[1]));
  await pause(2000);
  await end();
  await stage.until('clone: connected again', () => has(listenerNow(stage), 'Connected', 'True'));
  await acts.untilReady('clone');
  await stage.ended('clone');
}

async function revoked(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  stage.enter('revoked');
  await stage.revoke();
  await stage.until('revoked: silent', () => has(listenerNow(stage), 'Connected', 'False', 'Silent'));
  await stage.until('revoked: UNKNOWN', () => record(stage)?.status?.state === 'UNKNOWN');
  await acts.change(toImage(IMAGES[1]));
  // Longer than API servers remember a token; a Secret of the same name must not revive it.
  await pause(TOKEN_REMEMBERED_MS);
  await stage.join();
  await pause(5000);
}

async function restored(acts: ListenerActs): Promise<void> {
  const { stage } = acts;
  stage.enter('restored');
  await stage.restoreAfter(async () => {
    await acts.change(toImage(IMAGES[1]));
    await acts.untilReady('before the restore');
  });
  await stage.until('restored: HubChanged', () => has(record(stage), 'Stalled', 'True', 'HubChanged'));
}

function toImage(image: string): object {
  return { sourceRevisionConfig: { imageUri: image } };
}
