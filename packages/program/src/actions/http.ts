import { z } from 'zod';
import { placeholdersOf } from '../model/locales.ts';
import { defineAction, fieldsSchema } from './keyword.ts';
import { checkAddress, reply, replyDraft, replyFields, replyOffers } from './replies.ts';

/** At least two fixed names follow a value in the host name: a caller's answer must not choose the server that gets the secrets. */
const namesServer = /^https?:\/\/(?:[^/?#{}@]*|[^/?#@]*\}(?:\.[\w-]+){2,}(?::\d+)?)(?:[/?#]|$)/;

export const http = defineAction({
  about:
    'Asks a server over HTTPS and takes values from its JSON. `missing` is status 404. After a `post` neither Back nor a later call leads to it again.',
  schema: z.strictObject({
    http: z
      .strictObject({
        get: z.string().exactOptional(),
        post: z.string().exactOptional(),
        headers: z.record(z.string().regex(/^[\w-]+$/), z.string().max(500)).default({}),
        body: fieldsSchema.exactOptional(),
        timeout: z
          .string()
          .regex(/^[1-8]s$/, 'must be from 1s to 8s')
          .default('4s'),
      })
      .meta({
        description:
          '`get` or `post`: an address with `{values}`; `headers` with `{secrets.NAME}`; `body`: an expression for each field; `timeout`: `1s` to `8s`, `4s` by default',
      }),
    ...replyFields,
  }),
  ...reply,
  signature: (spec) => ({ ...reply.signature(spec), finishes: spec.http.post !== undefined }),
  check(spec, check) {
    const { say, secrets } = check;
    const { get, post, headers } = spec.http;
    if ((get === undefined) === (post === undefined))
      say(['http'], 'an `http` action needs exactly one of `get` and `post`');
    const address = get ?? post ?? '';
    checkAddress('http', address, check);
    const examples = 'as https://prices.example/v1/{market} or https://{market}.prices.example';
    if (address !== '' && !namesServer.test(address)) say(['http'], `the address must name its server, ${examples}`);
    for (const [header, template] of Object.entries(headers))
      for (const placeholder of placeholdersOf(template)) {
        const secret = placeholder.replace(/^secrets\./, '');
        const unknown = `{${placeholder}} is not among the secrets of program.yaml: add its name there`;
        if (secret === placeholder || !secrets.includes(secret)) say(['http', 'headers', header], unknown);
      }
  },
  editor: {
    title: 'Call a server',
    draft: { http: { get: 'https://example.org/' }, ...replyDraft },
    offers: { http: { headers: {}, body: {}, timeout: '' }, ...replyOffers },
  },
});
