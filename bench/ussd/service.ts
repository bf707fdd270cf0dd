// The service as it is started by `palaver ussd`, in a process of its own, with a way to ask how much memory it holds.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startUssd } from '@palaver/ussd';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const { url } = await startUssd(process.env);
process.send?.({ url });
process.on('message', (message) => {
  if (message === 'collect') collect();
  process.send?.({ memory: process.memoryUsage(), cpu: process.cpuUsage() });
});
