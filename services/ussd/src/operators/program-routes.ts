import { AppError } from '@palaver/contract';
import {
  boundedText,
  convertedFormSchema,
  listedProgramsSchema,
  programDraftSchema,
  programReportSchema,
  programVersionsSchema,
  triedCallSchema,
} from '@palaver/contract/internal';
import { convertXlsForm, XlsFormFault } from '@palaver/forms/internal';
import type { Server } from '@palaver/service-kit';
import { createLimiter, findEncodingFault, toAuditBy } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { programFilesSchema, programLimits } from '../catalog/program-files.ts';
import { trialSchema } from '../catalog/try-program.ts';
import { toSampleAdapters, toSampleExchange } from '../channel/adapter.ts';
import type { OperatorParts } from './start-operators.ts';

export const programNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'a name of small letters, digits and hyphens');
export const programVersionSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}@[0-9a-f]{12}$/, 'a version such as savings@1f0c2d3e4b5a');
const params = z.object({ name: programNameSchema });
const revision = z.int().min(0);
/** JSON needs two characters for a line break. */
const bodyLimit = 2 * programLimits.bytes;

const schemas = {
  list: { response: { 200: listedProgramsSchema } },
  draft: { params, response: { 200: programDraftSchema } },
  saving: { params, body: z.strictObject({ files: programFilesSchema, revision }) },
  removing: { params, querystring: z.object({ revision: z.coerce.number().int().min(0) }) },
  check: {
    params,
    body: z.strictObject({ files: programFilesSchema.optional() }).nullish(),
    response: { 200: programReportSchema },
  },
  converting: {
    params,
    querystring: z.object({ file: z.string().regex(/^[\w.-]{1,75}\.xlsx$/, 'a file such as household.xlsx') }),
    response: { 200: convertedFormSchema },
  },
  publishing: {
    params,
    body: z.strictObject({ revision: revision.optional(), note: boundedText(0, 200).optional() }).nullish(),
  },
  versions: { params, response: { 200: programVersionsSchema } },
  version: { params: params.extend({ version: programVersionSchema }) },
  rollback: { params, body: z.strictObject({ version: programVersionSchema }) },
};

/** Operators draft and check; admins publish, roll back and withdraw. */
export function addProgramRoutes(server: Server, { publishing, adapters }: OperatorParts): void {
  const samples = toSampleAdapters(adapters);
  const change = { config: { audited: true, refuses: [409] } };
  const admin = { ...change, onRequest: server.operatorGuardFor('admin') };
  const path = '/api/ussd/programs/:name';
  const sendFiles = createSendFiles();

  server.get('/api/ussd/programs', { schema: schemas.list }, async ({ operator }) => ({
    programs: await publishing.list(),
    readOnly: publishing.readOnly,
    role: operator?.role,
  }));

  server.get(`${path}/draft`, { schema: schemas.draft }, async ({ params: { name }, operator }, reply) =>
    sendFiles(reply, operator, async () => ({ name, ...(await publishing.draft(name)) })),
  );
  server.put(`${path}/draft`, { ...change, bodyLimit, schema: schemas.saving }, async (request) =>
    publishing.saveDraft(request.params.name, request.body, toAuditBy(request)),
  );
  server.delete(`${path}/draft`, { ...change, schema: schemas.removing }, async (request) => {
    await publishing.removeDraft(request.params.name, request.query.revision, toAuditBy(request));
    return { ok: true };
  });
  server.post(`${path}/check`, { bodyLimit, schema: schemas.check }, async ({ params: { name }, body }) =>
    publishing.check(name, body?.files),
  );

  server.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, ({ headers }, body, done) =>
    done(findEncodingFault(headers) ?? null, body),
  );
  const file = { bodyLimit: programLimits.fileBytes, config: { takesFile: 'application/octet-stream' } } as const;
  server.post(`${path}/convert-form`, { ...file, schema: schemas.converting }, async ({ query: { file }, body }) => ({
    xml: await toXml(file, body),
  }));

  const trial = {
    params,
    body: trialSchema.extend({ adapter: z.enum([...samples.keys()]).default('africas-talking') }),
    response: { 200: triedCallSchema },
  };
  server.post(`${path}/try`, { schema: trial }, async ({ params: { name }, body: { adapter, ...trial } }) => {
    const tried = await publishing.try(name, trial);
    const { inputs, timedOut, phoneNumber } = trial;
    const sessionId = timedOut ? 'trial-2' : 'trial-1';
    const call = { sessionId, phoneNumber, serviceCode: tried.serviceCode, inputs };
    const sample = samples.get(adapter);
    if (!sample) throw new AppError('VALIDATION_FAILED', `There is no adapter ${adapter}.`);
    return { ...tried, exchange: toSampleExchange(sample, call, `${tried.ended ? 'END' : 'CON'} ${tried.screen}`) };
  });

  server.post(`${path}/publish`, { ...admin, schema: schemas.publishing }, async (request) =>
    publishing.publish(request.params.name, request.body ?? {}, toAuditBy(request)),
  );
  server.get(`${path}/versions`, { schema: schemas.versions }, async ({ params: { name } }) => ({
    versions: await publishing.versions(name),
  }));
  server.get(`${path}/versions/:version`, { schema: schemas.version }, async ({ params, operator }, reply) => {
    const { name, version } = params;
    return sendFiles(reply, operator, async () => ({ ...params, files: await publishing.files(name, version) }));
  });
  server.post(`${path}/rollback`, { ...admin, schema: schemas.rollback }, async (request) =>
    publishing.rollBack(request.params.name, request.body.version, toAuditBy(request)),
  );
  server.post(`${path}/withdraw`, { ...admin, schema: { params } }, async (request) => {
    await publishing.withdraw(request.params.name, toAuditBy(request));
    return { ok: true };
  });
}

/** A reply may hold megabytes of files, so few are read at a time, until they are taken. */
function createSendFiles() {
  const toError = () => new AppError('LIMIT_REACHED', 'Files of programs are being read. Try again in a minute.');
  const [ofViewers, ofOthers] = [
    createLimiter({ ...readsAtOnce, toError }),
    createLimiter({ ...readsAtOnce, toError }),
  ];
  return (reply: FastifyReply, operator: FastifyRequest['operator'], read: () => Promise<object>): Promise<void> => {
    const limit = operator?.role === 'viewer' ? ofViewers : ofOthers;
    return limit(async () => {
      const text = JSON.stringify(await read());
      await reply.type('application/json; charset=utf-8').send(text);
    });
  };
}

const readsAtOnce = { concurrency: 2, maxWaiting: 8, maxWaitMs: 10_000 };

/** Conversions that run or wait. Each takes seconds, and one runs at a time. */
let converting = 0;
const maxConverting = 4;

async function toXml(file: string, body: unknown): Promise<string> {
  if (!Buffer.isBuffer(body))
    throw new AppError('VALIDATION_FAILED', 'Send the XLSForm itself, as application/octet-stream.');
  if (converting >= maxConverting)
    throw new AppError('LIMIT_REACHED', 'Other XLSForms are being converted. Send this one again in a minute.');
  converting++;
  return convertXlsForm(file, body, programLimits.fileBytes)
    .catch((error: unknown) => {
      throw error instanceof XlsFormFault ? new AppError('VALIDATION_FAILED', `${file}: ${error.message}`) : error;
    })
    .finally(() => converting--);
}
