// Work queue keys: `namespace/name`.

export function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

export function refOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
