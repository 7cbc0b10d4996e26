// The type of a child that a maker returns: the kind's own fields, with metadata as the rest of Davit reads it.

import type { KubeObject } from '../kube/client.ts';

export type Manifest<Kind> = Omit<Kind, 'metadata'> & KubeObject;
