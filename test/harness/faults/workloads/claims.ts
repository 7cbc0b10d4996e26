// Several people who change one record, one after the other. Some say who they are, one does not, and one says that he is another.

import { claimOfChange } from '../../../../src/deploy/record/requester.ts';
import type { AppDeployment } from '../../../../src/kinds/app-deployment.ts';
import { PAUSED_ANNOTATION } from '../../../../src/kinds/meta.ts';
import { type ApiClient, ApiError } from '../../../cluster/api-client.ts';
import { REALLY_BY, REALLY_SCALES } from '../author-invariants.ts';
import type { Seen } from '../object-history.ts';
import type { Acts } from './acts.ts';
import { hasCondition, IMAGES, MERGE, NotConverged, RECORD, recordIn, until } from './stage.ts';

interface Person {
  readonly name: string;
  readonly api: ApiClient;
}

const WRONGLY = 'claims: the API server took a write';

export async function claims(acts: Acts): Promise<void> {
  const { stage, untilReady } = acts;
  const [anna, bert, carl] = await Promise.all(['anna', 'bert', 'carl'].map((name) => personOf(acts, name)));
  if (!anna || !bert || !carl) throw new Error('somebody is missing');
  const says = async (what: string, by: string | undefined): Promise<void> => {
    await untilReady(`claims: ${what}`);
    await until(stage, `claims: ${what}, by ${by}`, () => recordIn(stage)?.status?.changedBy === by);
  };
  await changes(acts, bert, { sourceRevisionConfig: { imageUri: IMAGES[1] } });
  await says('another image', bert.name);
  await changes(acts, anna, TWO_PODS);
  await says('two pods', anna.name);
  await changes(acts, anna, THREE_PODS);
  // The third pod need not be ready, so that the record may not be.
  await until(stage, 'claims: three pods are seen', () => {
    const { metadata, spec, status } = recordIn(stage) ?? {};
    return spec?.sourceConfig.resourceSpec?.maxScale === 3 && status?.observedGeneration === metadata?.generation;
  });
  await changes(acts, bert, env('zeroth'));
  await says('a change while pods start', bert.name);
  await changes(acts, carl, { sourceRevisionConfig: { imageUri: IMAGES[2] } }, { claims: false });
  await says('an image without a claim', undefined);
  const stale = await readBy(acts, bert);
  await changes(acts, anna, env('first'));
  await says('the first of two', anna.name);
  await refused(acts, bert, claimOfChange(stale as AppDeployment, bert.name), env('second'), stale);
  await changes(acts, bert, env('second'));
  await says('the second of two', bert.name);
  await refused(acts, bert, claimOfChange((await readBy(acts, bert)) as AppDeployment, anna.name), env('third'));
  await pause(acts, 'true');
  await until(stage, 'claims: paused', () => hasCondition(stage, 'Stalled', 'Paused'));
  await changes(acts, carl, { sourceRevisionConfig: { imageUri: IMAGES[1] } }, { claims: false });
  await changes(acts, anna, env('fourth'));
  await pause(acts, null);
  // Of the record's last change she is the author, of the revision with the image of another nobody is.
  await says('two changes at once', anna.name);
  await deletes(acts, anna);
}

const TWO_PODS = { sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2 } } };
const THREE_PODS = { sourceConfig: { resourceSpec: { minScale: 3, maxScale: 3 } } };
const env = (value: string): object => ({ sourceConfig: { env: [{ name: 'STEP', value }] } });

async function personOf({ stage, namespace }: Acts, name: string): Promise<Person> {
  if (!stage.person) throw new Error('nobody can be asked for');
  return { name: `system:serviceaccount:${namespace}:${name}`, api: await stage.person(name) };
}

function readBy({ paths }: Acts, { api }: Person): Promise<Seen> {
  return api.call<Seen>('GET', `${paths.records}/${RECORD}`);
}

/** As the HTTP API and the plugin do: in the version that was read, and again where somebody else was quicker. */
async function changes(acts: Acts, person: Person, spec: object, { claims: says = true } = {}): Promise<void> {
  const read = await readBy(acts, person);
  const claim = says ? claimOfChange(read as AppDeployment, person.name) : {};
  const { resourceVersion } = read.metadata;
  const annotations = {
    ...claim,
    [REALLY_BY]: says ? person.name : 'nobody',
    [REALLY_SCALES]: String(spec === TWO_PODS || spec === THREE_PODS),
  };
  const patch = { metadata: { annotations, resourceVersion }, spec };
  try {
    acts.ask(await person.api.call<Seen>('PATCH', `${acts.paths.records}/${RECORD}`, patch, MERGE));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    await changes(acts, person, spec, { claims: says });
  }
}

/** Throws NotConverged if the API server takes it. */
async function refused(
  acts: Acts,
  { api, name }: Person,
  claim: object | undefined,
  spec: object,
  read?: Seen,
): Promise<void> {
  const { resourceVersion } = read?.metadata ?? {};
  const metadata = { annotations: { ...claim, [REALLY_BY]: name }, ...(read && { resourceVersion }) };
  const answer = await api.call('PATCH', `${acts.paths.records}/${RECORD}`, { metadata, spec }, MERGE).then(
    () => 200,
    (error: unknown) => (error instanceof ApiError ? error.status : 0),
  );
  if (![403, 409, 422].includes(answer)) throw new NotConverged(`${WRONGLY} with the claim of another: ${answer}`);
}

async function pause({ api, paths }: Acts, value: string | null): Promise<void> {
  const annotations = { [PAUSED_ANNOTATION]: value };
  await api.call('PATCH', `${paths.records}/${RECORD}`, { metadata: { annotations } }, MERGE);
}

async function deletes({ stage, paths }: Acts, person: Person): Promise<void> {
  await person.api.call('DELETE', `${paths.records}/${RECORD}`);
  await until(stage, 'claims: gone', () => recordIn(stage) === undefined);
}
