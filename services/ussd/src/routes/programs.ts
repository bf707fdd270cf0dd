import { AppError } from '@palaver/contract';
import {
  boundedText,
  convertedFormSchema,
  listedProgramsSchema,
  phoneNumberSchema,
  programDraftSchema,
  programReportSchema,
  programVersionsSchema,
  triedCallSchema,
} from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { toAuditBy } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { adapterNames } from '../adapters/sample-exchange.ts';
import { convertXlsForm, XlsFormFault } from '../forms/convert-xlsform.ts';
import { programFilesSchema, programLimits } from '../programs/program-files.ts';
import type { Publishing } from '../programs/publishing.ts';

export const programNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'a name of small letters, digits and hyphens');
export const programVersionSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}@[0-9a-f]{12}$/, 'a version such as savings@1f0c2d3e4b5a');
const params = z.object({ name: programNameSchema });
const workbookSchema = z.object({ file: z.string().regex(/^[\w.-]{1,75}\.xlsx$/, 'a file such as household.xlsx') });
const inputsSchema = z.array(z.string().max(160)).max(100);
/** JSON writes a line break with two characters. */
const bodyLimit = 2 * programLimits.bytes;

/** Programs in the database: operators draft and check, admins publish, roll back and withdraw. */
export function addProgramRoutes(server: Server, publishing: Publishing): void {
  const admin = { onRequest: server.operatorGuardFor('admin'), config: { audited: true, refuses: [409] } };
  const path = '/api/ussd/programs/:name';

  server.get('/api/ussd/programs', { schema: { response: { 200: listedProgramsSchema } } }, async ({ operator }) => ({
    programs: await publishing.list(),
    readOnly: publishing.readOnly,
    role: operator?.role,
  }));

  server.get(
    `${path}/draft`,
    { schema: { params, response: { 200: programDraftSchema } } },
    async ({ params: { name } }) => ({
      name,
      ...(await publishing.draft(name)),
    }),
  );
  server.put(
    `${path}/draft`,
    {
      bodyLimit,
      config: { audited: true, refuses: [409] },
      schema: { params, body: z.strictObject({ files: programFilesSchema, revision: z.int().min(0) }) },
    },
    async (request) => publishing.saveDraft(request.params.name, request.body, toAuditBy(request)),
  );
  server.delete(
    `${path}/draft`,
    {
      schema: { params, querystring: z.object({ revision: z.coerce.number().int().min(0) }) },
      config: { audited: true, refuses: [409] },
    },
    async (request) => {
      await publishing.removeDraft(request.params.name, request.query.revision, toAuditBy(request));
      return { ok: true };
    },
  );
  server.post(
    `${path}/check`,
    {
      bodyLimit,
      schema: {
        params,
        body: z.strictObject({ files: programFilesSchema.optional() }).nullish(),
        response: { 200: programReportSchema },
      },
    },
    async ({ params: { name }, body }) => publishing.check(name, body?.files),
  );

  server.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  server.post(
    `${path}/convert-form`,
    {
      bodyLimit: programLimits.fileBytes,
      schema: { params, querystring: workbookSchema, response: { 200: convertedFormSchema } },
    },
    async ({ query: { file }, body }) => ({ xml: await toXml(file, body) }),
  );

  server.post(
    `${path}/try`,
    {
      schema: {
        params,
        body: z.strictObject({
          inputs: inputsSchema,
          language: z.string().max(35).optional(),
          outcomes: z.record(z.string().max(60), z.string().max(60)).optional(),
          timedOut: inputsSchema.optional(),
          phoneNumber: phoneNumberSchema.optional(),
          adapter: z.enum(adapterNames).optional(),
        }),
        response: { 200: triedCallSchema },
      },
    },
    async ({ params: { name }, body }) => publishing.try(name, body),
  );

  server.post(
    `${path}/publish`,
    {
      ...admin,
      schema: {
        params,
        body: z.strictObject({ revision: z.int().min(0).optional(), note: boundedText(0, 200).optional() }).nullish(),
      },
    },
    async (request) => publishing.publish(request.params.name, request.body ?? {}, toAuditBy(request)),
  );
  server.get(
    `${path}/versions`,
    { schema: { params, response: { 200: programVersionsSchema } } },
    async ({ params: { name } }) => ({
      versions: await publishing.versions(name),
    }),
  );
  server.get(
    `${path}/versions/:version`,
    { schema: { params: params.extend({ version: programVersionSchema }) } },
    async ({ params: { name, version } }) => ({ name, version, files: await publishing.files(name, version) }),
  );
  server.post(
    `${path}/rollback`,
    { ...admin, schema: { params, body: z.strictObject({ version: programVersionSchema }) } },
    async (request) => publishing.rollBack(request.params.name, request.body.version, toAuditBy(request)),
  );
  server.post(`${path}/withdraw`, { ...admin, schema: { params } }, async (request) => {
    await publishing.withdraw(request.params.name, toAuditBy(request));
    return { ok: true };
  });
}

/** Conversions that run or wait. Each takes seconds, and one runs at a time. */
let converting = 0;
const maxConverting = 4;

async function toXml(file: string, body: unknown): Promise<string> {
  if (!Buffer.isBuffer(body))
    throw new AppError('VALIDATION_FAILED', 'Send the XLSForm itself, as application/octet-stream.');
  if (converting >= maxConverting)
    throw new AppError('LIMIT_REACHED', 'Other XLSForms are being converted. Send this one again in a minute.');
  converting++;
  return convertXlsForm(file, body)
    .catch((error: unknown) => {
      throw error instanceof XlsFormFault ? new AppError('VALIDATION_FAILED', `${file}: ${error.message}`) : error;
    })
    .finally(() => converting--);
}
