/** The smallest parts that run. */
export const SMALLEST = {
  cpu: 0.1,
  memoryMb: 128,
  dbCpu: 0.1,
  dbMemoryMb: 256,
  dbStorageGi: 1,
  redisCpu: 0.1,
  redisMemoryMb: 64,
};
