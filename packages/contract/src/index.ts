export {
  AppError,
  type ErrorBody,
  type ErrorCode,
  errorBodySchema,
  errorStatus,
  toErrorBody,
  toReasonPhrase,
} from './errors.ts';
