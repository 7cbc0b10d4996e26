// Reading quantities of Kubernetes: `500m`, `1Gi`, `129e6`.

const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A quantity in its base unit, or NaN if invalid. Source: k8s.io/apimachinery/pkg/api/resource. */
export function quantity(value: unknown): number | string {
  const text = String(value);
  // `129e6` has an exponent, `129E` is a suffix.
  const match = /^([+-]?[0-9.]+)([eE][+-]?[0-9]{1,3}|[A-Za-z]{0,2})$/.exec(text);
  const [, , suffix = ''] = match ?? [];
  const factor = /^[eE][+-]?[0-9]/.test(suffix) ? Number(`1${suffix}`) : SUFFIXES[suffix];
  if (!match || factor === undefined) return text;
  // Rounded to nanos, Kubernetes' finest unit, so that 0.1 and 100m are equal.
  return Math.round(Number(match[1]) * factor * 1e9) / 1e9;
}
