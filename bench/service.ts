// A service as `palaver` starts it, in a process of its own: `ussd`, `agent` or `gateway`.
const services = {
  agent: async () => (await import('@palaver/agent-service')).startAgent,
  gateway: async () => (await import('@palaver/gateway')).startGateway,
  ussd: async () => (await import('@palaver/ussd')).startUssd,
};

const start = await services[process.argv[2] as keyof typeof services]();
const { url } = await start(process.env);
process.send?.({ url });
