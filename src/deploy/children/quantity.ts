// Quantities in Kubernetes' canonical form. The API server rewrites other forms, and the difference between the sent and the
// stored value would cause a write in steady state.

/** Cores as a quantity, rounded to millicores: 1 → "1", 0.25 → "250m". */
export function cpuQuantity(cores: number): string {
  const millicores = Math.round(cores * 1000);
  return millicores % 1000 === 0 ? String(millicores / 1000) : `${millicores}m`;
}

/** MiB as a quantity: 1536 → "1536Mi", 2048 → "2Gi". */
export function memoryQuantity(mebibytes: number): string {
  return binary(mebibytes, ['Mi', 'Gi', 'Ti', 'Pi']);
}

/** GiB as a quantity: 10 → "10Gi", 1024 → "1Ti". */
export function storageQuantity(gibibytes: number): string {
  return binary(gibibytes, ['Gi', 'Ti', 'Pi']);
}

function binary(amount: number, [unit = '', ...larger]: readonly string[]): string {
  return larger.length > 0 && amount >= 1024 && amount % 1024 === 0
    ? binary(amount / 1024, larger)
    : `${amount}${unit}`;
}
