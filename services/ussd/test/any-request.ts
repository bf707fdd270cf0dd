import fc from 'fast-check';
import { serviceCode } from './service-fixture.ts';

/** Any UTF-16, halves of pairs included. */
const anyText = fc.uint16Array({ maxLength: 200 }).map((units) => String.fromCharCode(...units));

/** Requests a telecom gateway could send, and bodies that nobody should. */
export function anyRequest(): fc.Arbitrary<{ path: string; type: string; body: string | Buffer<ArrayBuffer> }> {
  const json = 'application/json';
  const form = 'application/x-www-form-urlencoded';
  const text = fc.oneof(
    anyText,
    fc
      .array(fc.constantFrom('0', '1', '2', '3', '4', '5', '98', '', '*', 'Ana', '4071', '😀'), { maxLength: 30 })
      .map((parts) => parts.join('*')),
  );
  const phone = fc.constantFrom('254700000001', '254700000002');
  const dialled = fc.record({
    sessionId: fc.uuid(),
    serviceCode: fc.constant(serviceCode),
    phoneNumber: phone.map((digits) => `+${digits}`),
    text,
  });
  const newest = fc.record({
    sessionID: fc.constantFrom('a', 'b', 'c'),
    newSession: fc.boolean(),
    msisdn: phone,
    userData: fc.oneof(fc.constant(serviceCode), text),
  });
  const anyFields = fc.record(
    {
      sessionId: fc.oneof(fc.constantFrom('a', 'b'), fc.string()),
      serviceCode: fc.oneof(fc.constant(serviceCode), fc.string()),
      phoneNumber: fc.oneof(fc.constant('+254700000001'), fc.string()),
      text,
    },
    { requiredKeys: [] },
  );
  const toForm = (fields: object) => new URLSearchParams(fields as Record<string, string>).toString();
  const anyBody = fc.oneof(
    anyFields.map((fields) => JSON.stringify(fields)),
    anyFields.map(toForm),
    fc.json(),
    anyText,
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  return fc.oneof(
    {
      weight: 3,
      arbitrary: dialled.map((fields) => ({ path: '/api/ussd', type: json, body: JSON.stringify(fields) })),
    },
    { weight: 1, arbitrary: dialled.map((fields) => ({ path: '/api/ussd', type: form, body: toForm(fields) })) },
    {
      weight: 2,
      arbitrary: newest.map((fields) => ({ path: '/api/ussd/arkesel', type: json, body: JSON.stringify(fields) })),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        path: fc.constantFrom('/api/ussd', '/api/ussd/arkesel'),
        type: fc.constantFrom(json, `${json}; charset=utf-8`, form, 'text/plain', 'a/b', ''),
        body: anyBody,
      }),
    },
  );
}
