// What the cluster's DNS server answers: A records of Services, `NAME.NAMESPACE.svc.cluster.local`. No other name exists
// here; saying so at once is better than a resolver's timeout.
import packet, { type Packet } from 'dns-packet';

export const CLUSTER_DOMAIN = 'cluster.local';
const TTL_SECONDS = 2;
const NAME_ERROR = 3;
const NOT_IMPLEMENTED = 4;

export interface Names {
  set(service: string, namespace: string, address: string): void;
  delete(service: string, namespace: string): void;
  /** The answer to one message; undefined for what is no question. */
  answer(message: Buffer): Buffer | undefined;
}

export function clusterNames(): Names {
  const addresses = new Map<string, string>();
  const nameOf = (service: string, namespace: string): string => `${service}.${namespace}.svc.${CLUSTER_DOMAIN}`;

  return {
    set: (service, namespace, address) => void addresses.set(nameOf(service, namespace), address),
    delete: (service, namespace) => void addresses.delete(nameOf(service, namespace)),
    answer(message) {
      const query = decoded(message);
      const question = query?.questions?.[0];
      if (query === undefined || query.type !== 'query' || question === undefined) return undefined;
      const address = addresses.get(question.name.toLowerCase().replace(/\.$/, ''));
      const code = query.opcode !== 'QUERY' ? NOT_IMPLEMENTED : address === undefined ? NAME_ERROR : 0;
      return packet.encode({
        type: 'response',
        ...(query.id !== undefined && { id: query.id }),
        flags: packet.AUTHORITATIVE_ANSWER | ((query.flags ?? 0) & packet.RECURSION_DESIRED) | code,
        questions: [question],
        // A name that exists and has no record of the type that was asked for (AAAA) has an answer without records.
        answers:
          code === 0 && question.type === 'A' && address !== undefined
            ? [{ type: 'A', name: question.name, ttl: TTL_SECONDS, data: address }]
            : [],
      });
    },
  };
}

function decoded(message: Buffer): (Packet & { opcode?: string }) | undefined {
  try {
    return packet.decode(message);
  } catch {
    return undefined;
  }
}
