import { z } from 'zod';
import { boundedText } from './bounded-text.ts';
import { noControlCharactersPattern, uuidPattern } from './patterns.ts';

export const filenameSchema = boundedText(1, 255).regex(noControlCharactersPattern, {
  error: 'must not contain control characters',
});

export const fileIdSchema = z.string().regex(uuidPattern, { error: 'must be the id of an uploaded file' });

export const uploadQuerySchema = z
  .object({ filename: filenameSchema })
  .meta({ description: 'What the file is called.' });

export const fileParamsSchema = z.object({ fileId: fileIdSchema }).meta({ description: 'The file a route is about.' });

export const uploadedFileSchema = z
  .object({
    fileId: fileIdSchema,
    filename: filenameSchema,
    mimetype: z.string().meta({ description: 'What the file is by its content.' }),
    size: z.int().nonnegative(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'UploadedFile', description: 'A file that its owner can send as an attachment and read again.' });

export type UploadedFile = z.infer<typeof uploadedFileSchema>;
