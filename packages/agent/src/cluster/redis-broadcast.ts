import type { Logger } from '@palaver/service-kit';
import type { Redis } from 'ioredis';
import { type Broadcast, createInbox } from './broadcast.ts';

const channel = 'palaver:agent:broadcast';

/** By Redis pub/sub. While Redis is unreachable messages are dropped. */
export function createRedisBroadcast(redis: Redis, instance: string, logger: Logger): Broadcast {
  const inbox = createInbox(instance);
  const subscriber = redis.duplicate({
    lazyConnect: true,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    // Its own way to subscribe again does not catch that the connection is closed meanwhile.
    autoResubscribe: false,
  });
  // The main connection logs that Redis is unreachable.
  subscriber.on('error', () => {});
  subscriber.on('message', (_channel, text) => {
    try {
      inbox.receive(text);
    } catch (error) {
      logger.warn({ err: error }, 'a broadcast could not be read');
    }
  });
  subscriber.on('ready', () => void subscriber.subscribe(channel).catch(() => {}));
  subscriber.connect().catch(() => {});
  return {
    publish(message) {
      if (redis.status === 'ready') redis.publish(channel, inbox.toText(message)).catch(() => {});
    },
    onMessage: inbox.onMessage,
    async close() {
      subscriber.disconnect();
    },
  };
}
