// The gateway itself, started as in production but quiet.
import { startGateway } from '../../services/gateway/src/main.ts';

const gateway = await startGateway(process.env);
process.send?.({ url: gateway.url });
