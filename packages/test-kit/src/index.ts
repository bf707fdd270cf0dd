export { balancerCheckMs, startBalancer } from './balancer.ts';
export { launchBrowser } from './browser.ts';
export { createTestDatabase, type Engine, engines } from './database.ts';
export { freePort } from './free-port.ts';
export { startProcess, type TestProcess } from './process.ts';
export { testWithRedis } from './redis-fixture.ts';
export { createSelfSignedCertificate } from './self-signed-certificate.ts';
export { createTempDir } from './temp-dir.ts';
export { waitFor } from './wait-for.ts';
