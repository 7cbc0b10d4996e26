// The type of a child that a maker returns: the kind's fields with Davit's type of metadata.

import type { KubeObject } from '../../lib/kube/client.ts';

export type Manifest<Kind> = Omit<Kind, 'metadata'> & KubeObject;
