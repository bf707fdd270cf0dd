// A service in a process of its own, so that its CPU time is measured apart from what asks it.
import { startAgent } from '@palaver/agent-service';
import { startUssd } from '@palaver/ussd';

const start = process.argv[2] === 'agent' ? startAgent : startUssd;
const { url } = await start(process.env);
process.on('message', () => process.send?.(process.cpuUsage()));
process.on('disconnect', () => process.exit(0));
process.send?.({ url });
