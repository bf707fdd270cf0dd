import { freePort, startProcess, waitFor } from '@palaver/test-kit';
import { AccessToken, RoomServiceClient } from 'livekit-server-sdk';

const apiKey = 'devkey';
const apiSecret = 'a-secret-for-tests-on-loopback-only';

/** A LiveKit server on loopback. */
export async function startLiveKit(binary: string) {
  const [port, tcp, udp] = [await freePort(), await freePort(), await freePort()];
  const config = {
    port,
    bind_addresses: ['127.0.0.1'],
    rtc: { tcp_port: tcp, udp_port: udp, node_ip: '127.0.0.1', enable_loopback_candidate: true },
    keys: { [apiKey]: apiSecret },
  };
  // JSON is YAML.
  const start = () => startProcess(binary, ['--config-body', JSON.stringify(config)]);
  let server = start();
  const url = `http://127.0.0.1:${port}`;
  const isUp = async () => (await fetch(url).catch(() => undefined))?.ok;
  await waitFor('LiveKit', isUp);
  return {
    /** The agent's configuration for it. */
    env: { LIVEKIT_URL: `ws://127.0.0.1:${port}`, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret },
    createToken(identity: string, room: string): Promise<string> {
      const token = new AccessToken(apiKey, apiSecret, { identity, name: identity });
      token.addGrant({ room, roomJoin: true });
      return token.toJwt();
    },
    closeRoom: (room: string) => new RoomServiceClient(url, apiKey, apiSecret).deleteRoom(room),
    async restart(whileAway: () => Promise<void>) {
      server.kill();
      await server.exited;
      await whileAway();
      server = start();
      await waitFor('LiveKit', isUp);
    },
    async [Symbol.asyncDispose]() {
      server.kill();
      await server.exited;
    },
  };
}
