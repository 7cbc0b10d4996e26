// Faults of what the API server says rather than of whether it answers: lists that lack something, histories that are
// gone, events that come late, in another order than they happened, or by the thousand.

export type StreamFault =
  /**
   * The watch ends with 410 at the `event`th line, and the list that follows, once, has half of its items, none of them,
   * or an expired token for its second page.
   */
  | {
      readonly kind: 'relist-short' | 'relist-empty' | 'relist-410';
      readonly resource: string;
      readonly event: number;
      readonly ms?: number;
      /** Of `relist-empty`: so many lists one after another, 1 if absent. A reflector believes the second. */
      readonly times?: number;
    }
  /** Every line is late by 0.1 to 60 s, forty times quicker: in order within a kind, in any order among kinds. */
  | { readonly kind: 'shuffled'; readonly seed: number; readonly ms?: number }
  /** The history is gone again and again: every watch ends with 410, `times` times. */
  | {
      readonly kind: 'compactions';
      readonly phase: string;
      readonly every: number;
      readonly times: number;
      readonly ms?: number;
    }
  /** 429 with a Retry-After beyond what the client waits for on its own. */
  | { readonly kind: 'throttled-long'; readonly at: string; readonly ms?: number }
  /** Admission refuses to let one kind be made or changed, or a webhook fails (500), for `ms` from the first time on. */
  | { readonly kind: 'denied'; readonly resource: string; readonly status: 403 | 422 | 500; readonly ms?: number }
  /** The process ends after a write; to the one that follows it these kinds look empty for `ms`, but to who asks for one record. */
  | {
      readonly kind: 'blind-takeover';
      readonly at: string;
      readonly resources: readonly string[];
      readonly ms?: number;
    }
  /** Five thousand events a second of pods that change nothing. */
  | { readonly kind: 'event-storm'; readonly phase: string; readonly ms?: number };

/** A list answer with fewer items. */
export function cutList(body: Buffer, kind: 'relist-short' | 'relist-empty'): Buffer {
  const list = JSON.parse(body.toString()) as { items?: unknown[] };
  const items = list.items ?? [];
  const kept = kind === 'relist-empty' ? [] : items.slice(0, Math.floor(items.length / 2));
  return Buffer.from(JSON.stringify({ ...list, items: kept }));
}

const SHORTEST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 60_000;
const TIMES_QUICKER = 40;

/** Delay in milliseconds of one line, the same for the same seed: short ones are as frequent as long ones. */
export function delayOfLine(seed: number, resource: string, count: number): number {
  const factor = LONGEST_DELAY_MS / SHORTEST_DELAY_MS;
  return (SHORTEST_DELAY_MS * factor ** chance(`${seed}/${resource}/${count}`)) / TIMES_QUICKER;
}

/** Between 0 and 1, from a text: FNV-1a, whose last step is mixed once more because similar texts end alike. */
export function chance(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** A pod of the record's that comes and goes at once, as two lines of a watch. It has no part in anything. */
export function ghost(namespace: string, resourceVersion: string, serial: number): string {
  const labels = { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'ghost' };
  const uid = `00000000-0000-4000-9000-${String(serial).padStart(12, '0')}`;
  const metadata = { name: `ghost-${serial}`, namespace, uid, resourceVersion, labels };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata };
  return ['ADDED', 'DELETED'].map((type) => `${JSON.stringify({ type, object })}\n`).join('');
}

/** As the API server words it: k8s.io/apiserver/pkg/admission/plugin/policy/validating and plugin/resourcequota. */
export function deniedStatus(resource: string, name: string, code: 403 | 422 | 500): object {
  if (code === 500) return webhookStatus();
  const group = { deployments: '.apps', statefulsets: '.apps', networkpolicies: '.networking.k8s.io' }[resource] ?? '';
  const why =
    code === 422
      ? "ValidatingAdmissionPolicy 'not-today' with binding 'not-today' denied request: not today"
      : `exceeded quota: not-today, requested: count/${resource}${group}=1, used: count/${resource}${group}=0, limited: count/${resource}${group}=0`;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `${resource}${group} "${name}" is forbidden: ${why}`,
    reason: code === 422 ? 'Invalid' : 'Forbidden',
    details: { name, kind: resource },
    code,
  };
}

/** What a webhook says that has lost its mind: more than any status takes. */
function webhookStatus(): object {
  const words = 'failed calling webhook "not-today.example": the webhook says';
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${words} ${'not today, '.repeat(1000)}`,
    reason: 'InternalError',
    code: 500,
  };
}
