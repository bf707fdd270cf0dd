import { createServer } from 'node:net';
import { StartError } from '@palaver/service-kit';

interface Place {
  host: string;
  port: number;
  portName: string;
}

/** Throws one line that names every port in use and its variable, before anything is started. */
export async function refuseBusyPorts(places: Place[]): Promise<void> {
  const faults = await Promise.all(places.map(isBusy));
  const busy = places.filter((_, index) => faults[index]);
  const [first] = busy;
  if (busy.length > 1) {
    const names = busy.map(({ port, portName }) => `${port} (${portName})`).join(', ');
    throw new StartError(
      `These ports are already in use: ${names}. Palaver may be running already; stop it, or set these variables to other ports.`,
    );
  }
  if (first) {
    throw new StartError(
      `Port ${first.port} is already in use; stop the other program or set ${first.portName} to another port.`,
    );
  }
}

async function isBusy({ host, port }: Place): Promise<boolean> {
  if (port === 0) return false;
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE'));
    server.listen({ host, port }, () => server.close(() => resolve(false)));
  });
}
