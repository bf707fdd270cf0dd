import { envInteger } from '@palaver/service-kit';
import { z } from 'zod';

/** When a service processes its claims. */
export const claimsVariables = (route: string) => ({
  CLAIMS_INTERVAL_SECONDS: envInteger({ min: 0, max: 86_400 })
    .prefault('5')
    .meta({
      description: `How often claims are processed; 0 leaves it to \`POST ${route}\`.`,
      example: '60',
    }),
  CLAIMS_SCHEDULER_SECRET: z.string().min(16, 'expected at least 16 characters').optional().meta({
    description: 'Secret with which a scheduler may have claims processed, sent in X-Scheduler-Secret.',
    example: 'a-long-random-text',
    secret: true,
  }),
});

/** The id of a collection of claims. */
export const envCollection = () => z.string().regex(/^[\w-]{1,64}$/, 'expected the id of a collection');
