import { z } from 'zod';
import { envBoolean, envInteger, envUrl } from './env-types.ts';

/** The variables every service shares; a service's schema is `z.object({ ...baseVariables({ port }), … })`. */
export function baseVariables(defaults: { port: number }) {
  return {
    NODE_ENV: z.string().prefault('development').meta({
      description: 'Name of the deployment environment. `production` refuses to start with development secrets.',
      example: 'production',
    }),
    HOST: z.string().prefault('127.0.0.1').meta({
      description: 'Address to listen on. The default is reachable from this machine only.',
      example: '0.0.0.0',
    }),
    PORT: envInteger({ min: 0, max: 65_535 })
      .prefault(String(defaults.port))
      .meta({
        description: "The service's own port when it runs alone.",
        example: String(defaults.port),
      }),
    DATA_DIR: z.string().prefault('./data').meta({
      description: 'Folder of the embedded databases and of keys made at the first start.',
      example: '/var/lib/palaver',
    }),
    DATABASE_URL: envUrl('file:', 'postgres:', 'postgresql:').optional().meta({
      description: 'Database to use instead of the embedded one in DATA_DIR.',
      example: 'postgres://palaver:secret@db.example:5432/palaver',
      secret: true,
    }),
    REDIS_URL: envUrl('redis:', 'rediss:').optional().meta({
      description: 'Redis or Valkey that joins several instances: shared rate limits, events and runs.',
      example: 'redis://cache.example:6379',
      secret: true,
    }),
    LOG_LEVEL: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
        error: 'expected trace, debug, info, warn, error, fatal or silent',
      })
      .prefault('info')
      .meta({ description: 'How much is logged, as JSON lines (pretty on a terminal).', example: 'debug' }),
    OPERATOR_TOKEN: z.string().optional().meta({
      description:
        "Bearer token of the operators' routes. Without it they answer only to direct connections from this machine.",
      example: 'a-long-random-text',
      secret: true,
    }),
    TRUST_PROXY_ENABLED: envBoolean().prefault('false').meta({
      description: 'Take the client address from X-Forwarded-For. Only behind a reverse proxy that sets it.',
      example: 'true',
    }),
  };
}

const baseSchema = z.object(baseVariables({ port: 0 }));

export type BaseConfig = Readonly<z.infer<typeof baseSchema>>;
