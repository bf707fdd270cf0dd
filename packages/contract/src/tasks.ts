import { z } from 'zod';
import { offsetPageFields } from './pagination.ts';
import { timestampSchema, timeZoneSchema } from './primitives.ts';

/** What a message begins with that a schedule has sent, not the user's own hand. */
export const scheduledMessagePrefix = '[Scheduled task]';

export const taskSchema = z
  .object({
    id: z.string(),
    sessionId: z.string().meta({ description: 'Where the answer lands.' }),
    prompt: z.string(),
    schedule: z.string().meta({ description: 'In words.', examples: ['every 2 hours', 'cron 0 9 * * 1'] }),
    timezone: timeZoneSchema,
    status: z.enum(['active', 'done', 'failed', 'cancelled']),
    nextRunAt: timestampSchema.nullable(),
    lastRunAt: timestampSchema.nullable(),
    createdAt: timestampSchema,
  })
  .meta({ id: 'Task', description: 'A prompt the agent will carry out at its time.' });

export type Task = z.infer<typeof taskSchema>;

export const taskListSchema = z
  .object({ tasks: z.array(taskSchema), ...offsetPageFields })
  .meta({ id: 'TaskList', description: 'The active tasks of this user, the next to run first.' });

export type TaskList = z.infer<typeof taskListSchema>;

export const taskParamsSchema = z.object({ id: z.string().min(1) }).meta({ description: 'The task a route is about.' });

export const taskCancelledSchema = z
  .object({ ok: z.literal(true) })
  .meta({ id: 'TaskCancelled', description: 'It will not run again.' });
