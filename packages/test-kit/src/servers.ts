// What programs outside Vitest may use.
export { freePort } from './free-port.ts';
export { type RunningPostgres, startPostgres } from './postgres.ts';
export { startProcess, type TestProcess } from './process.ts';
export { type RunningRedis, startRedis } from './redis.ts';
export { startRedisCluster } from './redis-cluster.ts';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
export { createTempDir } from './temp-dir.ts';
export { waitFor } from './wait-for.ts';
