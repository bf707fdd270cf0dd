import { ToolError, tool } from '@palaver/agent';
import { z } from 'zod';

const skies = new Map([
  ['kisumu', 'rain in the afternoon'],
  ['nairobi', 'sun, a little wind'],
]);

export const forecast = tool({
  description: 'The weather at a place',
  inputSchema: z.object({ place: z.string().min(1).max(80) }),
  execute({ place }) {
    const sky = skies.get(place.toLowerCase());
    if (sky === undefined) throw new ToolError('TOOL_FAILED', `there is no weather station at ${place}`);
    return { place, sky };
  },
});
